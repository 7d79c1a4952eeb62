"""A user's search index: follows files and chats, and can be made again from them at any time."""

import dataclasses
import hashlib
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, time
from pathlib import Path
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from memory import embedding, fulltext, rows, transcripts, vectors, waiting
from memory.chunks import file_chunks
from memory.disk import StorageError
from memory.models import IndexedSource, IndexState, MemoryIndex, Source
from memory.rows import Draft
from memory.storage import DAY, MEMORY_FILE, MemoryFileStorage
from people.models import User

logger = logging.getLogger(__name__)

# Part of every fingerprint: with other rules for chunks, all sources are read again.
RULES = "1"
MESSAGES_AT_ONCE = 200


class Index:
    """One source at a time in short transactions, text first and vectors after: searches keep answering."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.files = MemoryFileStorage(user)

    def sync(self) -> None:
        """Notice changed files and new messages. Cheap enough to run before every search."""
        present = dict(self._files())
        if self._is_fresh(digest(present)):
            return
        state = self.state()
        self._sync_files(state, present)
        self._sync_chats(state)
        if not waiting.embed(self.user, waiting.FEW):
            waiting.ask_worker(self.user)

    def _is_fresh(self, files: str) -> bool:
        """Whether there is nothing to do, by one query: this is asked before every search."""
        engine = embedding.engine()
        if not engine.is_available():
            return False
        tables = {
            "state": IndexState._meta.db_table,
            "source": IndexedSource._meta.db_table,
            "chunk": MemoryIndex._meta.db_table,
        }
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT 1 FROM {state} s WHERE s.owner_id = %s AND s.files_seen = %s AND s.model_name = %s "  # noqa: S608
                "AND s.vectors_listed >= %s "
                "AND NOT EXISTS (SELECT 1 FROM {source} WHERE owner_id = s.owner_id AND fingerprint = '') "
                "AND NOT EXISTS (SELECT 1 FROM {chunk} WHERE owner_id = s.owner_id AND embedded_by = '') "
                "AND NOT {newer}".format(
                    **tables, newer=transcripts.NEWER.format(owner="s.owner_id", mark="s.last_message")
                ),
                [self.user.pk, files, engine.name, vectors.has_vectors()],
            )
            return cursor.fetchone() is not None

    def rebuild(self, progress: waiting.Progress | None = None) -> None:
        """Read every source again and embed what has no vector. If it is killed, the next run goes on."""
        mend()
        self.state()
        present = dict(self._files())
        unread = [name for name in present if not self._try_file(name)]
        self._drop_files(set(present))
        self._read_chats(after=0)
        self._drop_unsaid()
        IndexedSource.objects.filter(owner=self.user, source_key__startswith="chat:").delete()
        seen = "" if unread else digest(present)
        IndexState.objects.filter(owner=self.user).update(files_seen=seen)
        self._forget_bad_vectors()
        rows.recount(self.user.pk)
        IndexState.objects.filter(owner=self.user).update(vectors_listed=False)
        waiting.embed(self.user, progress=progress)

    def index_file(self, name: str) -> None:
        """Index MEMORY.md or `daily/YYYY-MM-DD.md` as it is now; a file that is gone is taken out."""
        self.state()
        path = self.files.root / name
        try:
            seen = fingerprint(path.stat())
        except OSError:
            seen = ""
        text = self._read(name) if seen else None
        if text is None:
            self._drop(name)
            return
        rows.replace(self.user.pk, self._mine(name), list(self._file_drafts(name, path, text)))
        IndexedSource.objects.update_or_create(
            owner=self.user, source_key=name, defaults={"fingerprint": seen}
        )

    def index_session(self, session_id: UUID | str) -> None:
        """Index a chat as it is now: what left its page goes, what came is added. A message never changes."""
        self.state()
        key = transcripts.source_key(session_id)
        here = transcripts.finished(transcripts.remembered(self.user).filter(session_id=session_id))
        said = set(here.values_list("id", flat=True))
        known = dict(self._mine(key).values_list("id", "anchor"))
        rows.delete(self.user.pk, [id for id, anchor in known.items() if anchor not in said])
        new = sorted(said - set(known.values()))
        for at in range(0, len(new), MESSAGES_AT_ONCE):
            self._add(list(here.filter(id__in=new[at : at + MESSAGES_AT_ONCE])))
        IndexedSource.objects.filter(owner=self.user, source_key=key).delete()

    def look_again(self, session_id: UUID | str) -> None:
        """Have the next sync compare a chat's page with the index: versions were switched, or it is back."""
        key = transcripts.source_key(session_id)
        IndexedSource.objects.update_or_create(owner=self.user, source_key=key, defaults={"fingerprint": ""})

    def remove_session(self, session_id: UUID | str) -> None:
        """Take a chat out at once. The next sync looks whether any of it belongs in again."""
        rows.delete(self.user.pk, self._ids(transcripts.source_key(session_id)))
        self.look_again(session_id)

    def state(self) -> IndexState:
        return IndexState.objects.get_or_create(owner=self.user)[0]

    # Files

    def _sync_files(self, state: IndexState, present: dict[str, str]) -> None:
        seen = digest(present)
        if state.files_seen == seen:
            return
        known = dict(
            IndexedSource.objects.filter(owner=self.user)
            .exclude(source_key__startswith="chat:")
            .values_list("source_key", "fingerprint")
        )
        for name, mark in present.items():
            if known.get(name) != mark and not self._try_file(name):
                seen = ""
        self._drop_files(set(present))
        IndexState.objects.filter(owner=self.user).update(files_seen=seen)

    def _try_file(self, name: str) -> bool:
        """Index a file; one that can't be read keeps what the index has of it and is tried again."""
        try:
            self.index_file(name)
        except StorageError as error:
            logger.warning("%s of %s is not indexed: %s", name, self.user, error)
            return False
        return True

    def _files(self) -> Iterator[tuple[str, str]]:
        """Every indexed file with its fingerprint, by one look at each folder."""
        for folder, prefix in ((self.files.root, ""), (self.files.daily_folder, "daily/")):
            try:
                entries = list(os.scandir(folder))
            except OSError:
                continue
            for entry in entries:
                wanted = is_log(entry.name) if prefix else entry.name == MEMORY_FILE
                # A link to nowhere or in a circle is as good as no file.
                with suppress(OSError):
                    if wanted and entry.is_file():
                        yield prefix + entry.name, fingerprint(entry.stat())

    def _read(self, name: str) -> str | None:
        if name == MEMORY_FILE:
            return self.files.read_memory_file()
        return self.files.read_daily_log(day_of(name))

    def _file_drafts(self, name: str, path: Path, text: str) -> Iterator[Draft]:
        if name == MEMORY_FILE:
            source, day = Source.LONG_TERM, None
            # Long-term memory does not age; this is only shown. A rebuild must not change it.
            made = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        else:
            source, day = Source.DAILY_LOG, date.fromisoformat(day_of(name))
            made = datetime.combine(day, time.min, self.user.zone)
        for position, chunk in enumerate(file_chunks(text, embedding.engine().count_tokens)):
            yield Draft(source, name, day, made, position, chunk)

    def _drop_files(self, present: set[str]) -> None:
        known = IndexedSource.objects.filter(owner=self.user).exclude(source_key__startswith="chat:")
        for name in set(known.values_list("source_key", flat=True)) - present:
            self._drop(name)

    def _drop(self, name: str) -> None:
        rows.delete(self.user.pk, self._ids(name))
        IndexedSource.objects.filter(owner=self.user, source_key=name).delete()

    # Chats

    def _sync_chats(self, state: IndexState) -> None:
        for key in IndexedSource.objects.filter(owner=self.user, fingerprint="").values_list(
            "source_key", flat=True
        ):
            self.index_session(transcripts.session_of(key))
        self._read_chats(after=state.last_message)

    def _read_chats(self, after: int) -> None:
        """Index the messages after this one, and remember how far that went."""
        newest = transcripts.newest(self.user, after)
        if newest == after:
            return
        growing = transcripts.first_unfinished(self.user, after)
        while True:
            messages = list(
                transcripts.finished(transcripts.remembered(self.user).filter(id__gt=after, id__lte=newest))[
                    :MESSAGES_AT_ONCE
                ]
            )
            if not messages:
                break
            self._add(messages)
            after = messages[-1].id
        done = growing - 1 if growing else newest
        IndexState.objects.filter(owner=self.user).update(last_message=done)

    def _add(self, messages: list[transcripts.Message]) -> None:
        ids = [message.id for message in messages]
        stored = MemoryIndex.objects.filter(owner=self.user, source_type=Source.TRANSCRIPT, anchor__in=ids)
        rows.replace(self.user.pk, stored, list(self._said(messages)))

    def _said(self, messages: list[transcripts.Message]) -> Iterator[Draft]:
        for turn in transcripts.turns(messages, embedding.engine().count_tokens):
            key = transcripts.source_key(turn.session_id)
            day = self.user.local_date(turn.said_at)
            for position, chunk in enumerate(turn.chunks):
                yield Draft(
                    Source.TRANSCRIPT,
                    key,
                    day,
                    turn.said_at,
                    position,
                    dataclasses.replace(chunk, anchor=turn.message_id),
                )

    def _drop_unsaid(self) -> None:
        """Take out transcript rows whose message is gone, set aside, or in a chat that does not remember."""
        said = transcripts.STILL_SAID.format(anchor="m.anchor")
        unsaid = MemoryIndex.objects.raw(
            f"SELECT m.id FROM {MemoryIndex._meta.db_table} m "  # noqa: S608
            f"WHERE m.owner_id = %s AND m.source_type = '{Source.TRANSCRIPT}' AND NOT {said}",
            [self.user.pk],
        )
        rows.delete(self.user.pk, [row.id for row in unsaid])

    def _mine(self, key: str) -> QuerySet[MemoryIndex]:
        return MemoryIndex.objects.filter(owner=self.user, source_key=key)

    def _ids(self, key: str) -> list[int]:
        return list(self._mine(key).values_list("id", flat=True))

    def _forget_bad_vectors(self) -> None:
        """A stored vector that is no unit vector was damaged: its row waits for a new one."""
        import numpy as np

        stored = MemoryIndex.objects.filter(owner=self.user, embedding__isnull=False)
        for id, data in stored.values_list("id", "embedding").iterator(chunk_size=MESSAGES_AT_ONCE):
            with np.errstate(all="ignore"):
                length = np.linalg.norm(vectors.from_bytes(data)) if data and len(data) % 4 == 0 else 0
            if not abs(float(length) - 1) < 1e-3:
                MemoryIndex.objects.filter(id=id).update(embedding=None, embedded_by="")


def mend() -> None:
    """Make the search tables again if they are missing or damaged; rows of MemoryIndex are kept."""
    if MemoryIndex._meta.db_table not in connection.introspection.table_names():
        with connection.schema_editor() as editor:
            editor.create_model(MemoryIndex)
        IndexState.objects.update(chunk_count=0, term_total=0, files_seen="", last_message=0)
        IndexedSource.objects.all().delete()
        fulltext.make_again()
    elif not fulltext.is_sound():
        logger.warning("The full-text table was damaged and is made again.")
        fulltext.make_again()
    if vectors.has_vectors() and not vectors.are_sound():
        logger.warning("The vector table was damaged and is made again.")
        vectors.drop_all()
        IndexState.objects.update(vectors_listed=False)


def is_log(name: str) -> bool:
    """Only a real date names a log."""
    if not DAY.fullmatch(day_of(name)) or not name.endswith(".md"):
        return False
    try:
        return bool(date.fromisoformat(day_of(name)))
    except ValueError:
        return False


def day_of(name: str) -> str:
    return name.removeprefix("daily/").removesuffix(".md")


def fingerprint(stat: os.stat_result) -> str:
    """Changes whenever the file's content is likely to have changed."""
    return f"{RULES}:{stat.st_mtime_ns}:{stat.st_size}:{stat.st_ino}"


def digest(present: dict[str, str]) -> str:
    return hashlib.sha256(repr(sorted(present.items())).encode()).hexdigest()
