"""A user's search index: follows files and chats, and can be made again from them at any time."""

import logging
from typing import NamedTuple

from django.db import connection

from memory import embedding
from memory.index import backfill, changes, engines, vectors, writer
from memory.index.portions import Portion
from memory.index.sources.chats import NEWER, ChatSource, as_stored
from memory.index.sources.files import FileSource, Present
from memory.models import IndexedSource, IndexState, MemoryIndex
from oneclaw.sqlite.vectors import has_vectors
from people.models import User

logger = logging.getLogger(__name__)

VECTORS_AT_ONCE = 200


class Standing(NamedTuple):
    """What a search must know of an index: a few columns of IndexState, as they were when it began."""

    owner_id: int
    model_name: str
    chunk_count: int
    term_total: int
    vectors_listed: bool
    other_languages: bool
    asked_abroad: bool
    stamp: int

    @property
    def average_length(self) -> float:
        """Terms a chunk."""
        return self.term_total / max(self.chunk_count, 1)


class Index:
    """One source at a time in short transactions, text first and vectors after: searches keep answering."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.files = FileSource(user)
        self.chats = ChatSource(user)

    def sync(self, portion: Portion | None = None, aside: str = "") -> Standing:
        """Notice changed files and new messages. Cheap enough to run before every search.

        With a portion, what is over is left to the worker. `aside` is the key of a chat that nobody asks for
        now: what is new in it is not read, and not waited for.
        """
        portion = portion or Portion()
        present = self.files.present()
        if fresh := self._if_fresh(present.digest, aside):
            return fresh
        with portion.turn(self.user.pk, wait=self.state().files_seen != present.digest) as mine:
            if mine:
                self._follow(present, portion, aside)
        return self.standing()

    def _follow(self, present: Present, portion: Portion, aside: str) -> None:
        state = self.state()
        self.files.sync(state, present, portion)
        self.chats.sync(state, portion, aside)
        embedded = backfill.embed(self.user, portion.rows)
        if portion.left:
            backfill.ask_worker(self.user, "memory.tasks.refresh")
        elif not embedded:
            backfill.ask_worker(self.user)

    def standing(self) -> Standing:
        """How the index is, made first if there is none."""
        found = self._standing("")
        if found is None:
            self.state()
            found = self._standing("")
        assert found
        return found

    def _if_fresh(self, files: str, aside: str) -> Standing | None:
        """How the index is, if there is nothing to do. One statement: it is asked before every search."""
        engine = embedding.engine()
        if not engine.is_available():
            return None
        sources, chunks = IndexedSource._meta.db_table, MemoryIndex._meta.db_table
        return self._standing(
            "AND s.files_seen = %s AND s.model_name = %s AND s.vectors_listed >= %s "  # noqa: S608
            f"AND NOT EXISTS (SELECT 1 FROM {sources} "
            "WHERE owner_id = s.owner_id AND fingerprint = '' AND source_key <> %s) "
            f"AND NOT EXISTS (SELECT 1 FROM {chunks} WHERE owner_id = s.owner_id AND embedded_by = '') "
            f"AND NOT {NEWER.format(owner='s.owner_id', mark='s.last_message', aside='%s')}",
            files,
            backfill.kind(),
            has_vectors(),
            aside,
            as_stored(aside),
        )

    def _standing(self, where: str, *values: str | bool) -> Standing | None:
        # Plain SQL: putting the same question together by the ORM takes longer than asking it.
        columns = ", ".join(f"s.{name}" for name in Standing._fields)
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT {columns} FROM {IndexState._meta.db_table} s WHERE s.owner_id = %s {where}",  # noqa: S608
                [self.user.pk, *values],
            )
            found = cursor.fetchone()
        return Standing(*found) if found else None

    def rebuild(self, progress: backfill.Progress | None = None) -> None:
        """Read every source again and embed what has no vector. If it is killed, the next run goes on."""
        mend()
        self.state()
        self.files.read_all()
        self.chats.read_all()
        self._forget_bad_vectors()
        writer.recount(self.user.pk)
        IndexState.objects.filter(owner=self.user).update(vectors_listed=False)
        backfill.embed(self.user, progress=progress)

    def index_file(self, name: str) -> None:
        """Index MEMORY.md or `daily/YYYY-MM-DD.md` as it is now."""
        self.state()
        self.files.index(name)

    def state(self) -> IndexState:
        return IndexState.objects.get_or_create(owner=self.user)[0]

    def _forget_bad_vectors(self) -> None:
        """A stored vector that is no unit vector was damaged: its row waits for a new one."""
        import numpy as np

        stored = MemoryIndex.objects.filter(owner=self.user, embedding__isnull=False)
        for id, data in stored.values_list("id", "embedding").iterator(chunk_size=VECTORS_AT_ONCE):
            with np.errstate(all="ignore"):
                length = np.linalg.norm(vectors.from_bytes(data)) if data and len(data) % 4 == 0 else 0
            if not abs(float(length) - 1) < 1e-3:
                MemoryIndex.objects.filter(id=id).update(embedding=None, embedded_by="")
                changes.note(self.user.pk, [id])


def mend() -> None:
    """Make the search tables again if they are missing or damaged; rows of MemoryIndex are kept."""
    if MemoryIndex._meta.db_table not in connection.introspection.table_names():
        with connection.schema_editor() as editor:
            editor.create_model(MemoryIndex)
        IndexState.objects.update(chunk_count=0, term_total=0, files_seen="", last_message=0)
        changes.forget_all()
        IndexedSource.objects.all().delete()
        engines.fulltext().make_again()
    elif not engines.fulltext().is_sound():
        logger.warning("The full-text table was damaged and is being rebuilt.")
        engines.fulltext().make_again()
    if has_vectors() and not engines.vectors().are_sound():
        logger.warning("The vector table was damaged and is being rebuilt.")
        engines.vectors().drop_all()
        IndexState.objects.update(vectors_listed=False)


def make_tables_again(progress: backfill.Progress) -> None:
    """Fill the tables of words and vectors from rows that came from another database."""
    engines.fulltext().make_again()
    engines.vectors().drop_all()
    engines.vectors().create()
    IndexState.objects.update(vectors_listed=False)
    people = User.objects.filter(pk__in=IndexState.objects.values("owner")).order_by("pk")
    total = people.count()
    for done, user in enumerate(people.iterator(), 1):
        backfill.list_vectors(user)
        progress(done, total)
