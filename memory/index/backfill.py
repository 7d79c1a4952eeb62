"""Backfill of vectors: for new rows, and for all rows when the model has changed."""

import logging
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django_q.tasks import async_task

from memory import embedding
from memory.embedding.second import listed_as
from memory.index import changes, engines, vectors
from memory.index.chunks import searchable
from memory.jobs.progress import shown
from memory.models import IndexState, MemoryIndex
from oneclaw.sqlite.vectors import has_vectors
from people.models import User

logger = logging.getLogger(__name__)

BATCH = 128
# With more rows than this waiting, it is asked whether they are too many to search by meaning.
FEW = 32
# The worker embeds for so many seconds, and then lets others have a turn.
TURN = 60.0
# The worker is asked again after this long, in case it never came to it.
PATIENCE = timedelta(minutes=10)

Progress = Callable[[int, int], None]

# Which texts of a chunk are embedded. Others make another kind of vector, as another model does.
RECIPE = 2


def kind() -> str:
    """What vectors are made by now: the model, and the texts it is given."""
    return f"{embedding.engine().name}/{RECIPE}"


def waiting(user: User, state: IndexState | None = None) -> QuerySet[MemoryIndex]:
    """Rows without a vector of the present model. The model was loaded before this is asked."""
    name = kind()
    mine = MemoryIndex.objects.filter(owner=user)
    if state is None:
        state = IndexState.objects.filter(owner=user).first()
    if state and state.model_name == name:
        return mine.filter(embedded_by="")
    # Two ranges, because "not equal" can't use the index.
    return mine.filter(Q(embedded_by__lt=name) | Q(embedded_by__gt=name))


def embed(
    user: User, most: int | None = None, progress: Progress | None = None, seconds: float = math.inf
) -> bool:
    """Embed waiting rows, the newest first, up to `most` or for so long; True when none is left.

    Never in a transaction.
    """
    engine = embedding.engine()
    if not engine.is_available():
        return True
    state = IndexState.objects.filter(owner=user).first()
    if state is None:
        return True
    if not state.vectors_listed:
        list_vectors(user)
    # Taken once: whatever the settings say meanwhile, these vectors are this model's.
    work = _Work(user, engine, kind(), state, most, monotonic() + seconds)
    wanted = work.size
    rows = work.following()
    left = len(rows) if len(rows) < wanted else waiting(user, state).count()
    if _search_by_words_meanwhile(user, left):
        state.model_name = ""
    if len(rows) < BATCH:
        work.store(rows, work.made(rows))
        if progress and rows:
            progress(len(rows), max(left, len(rows)))
    else:
        with engine.in_bulk():
            _embed_in_batches(work, rows, left, progress)
    return _settle(work)


@dataclass(slots=True)
class _Work:
    """Rows of one user that wait for vectors, up to `most` and until then."""

    user: User
    engine: embedding.EmbeddingEngine
    name: str
    state: IndexState
    most: int | None
    until: float
    taken: int = 0

    @property
    def size(self) -> int:
        """How many are taken at once."""
        return BATCH if self.most is None else min(BATCH, self.most - self.taken)

    def following(self, last: int | None = None) -> list[MemoryIndex]:
        """The next rows, the newest first; with `last`, those before it."""
        if (size := self.size) < 1 or monotonic() >= self.until:
            return []
        rows = waiting(self.user, self.state)
        if last is not None:
            rows = rows.filter(id__lt=last)
        fields = ("id", "chunk_text", "context", "source_date", "source_type")
        found = list(rows.order_by("-id").only(*fields)[:size])
        self.taken += len(found)
        return found

    def made(self, rows: list[MemoryIndex]) -> "list[embedding.Vector | None]":
        return [
            self.engine.completed(row.chunk_text, vector, asked_abroad=self.state.asked_abroad)
            for row, vector in zip(rows, _vectors(self.engine, rows), strict=True)
        ]

    def store(self, rows: list[MemoryIndex], found: "list[embedding.Vector | None]") -> None:
        if rows:
            _store(self.user, self.name, rows, found)


def _embed_in_batches(work: _Work, rows: list[MemoryIndex], left: int, progress: Progress | None) -> None:
    """A batch is stored while the next is embedded: the model works without the interpreter."""
    done = 0
    with ThreadPoolExecutor(1) as beside:
        coming = beside.submit(work.made, rows)
        while rows:
            found, stored = coming.result(), rows
            rows = work.following(stored[-1].id)
            if rows:
                coming = beside.submit(work.made, rows)
            work.store(stored, found)
            done += len(stored)
            if progress:
                progress(done, max(left, done))
            # What came meanwhile stands before all of these, and is looked for when they are done.
            if not rows and work.name == kind() and (rows := work.following()):
                coming = beside.submit(work.made, rows)


def _vectors(engine: embedding.EmbeddingEngine, rows: list[MemoryIndex]) -> "list[embedding.Vector | None]":
    """One vector a row: half of it the text with its date and context, half the text alone.

    Date and context find what a text leaves unsaid; alone it is not drowned out by them. On the development
    conversations that is worth half a point of recall at five and three points of the block.
    """
    import numpy as np

    within = [searchable(row.chunk_text, row.context, row.source_date) for row in rows]
    found = engine.embed_many([*within, *(row.chunk_text for row in rows)])
    sums = list["embedding.Vector | None"]()
    for one, other in zip(found[: len(rows)], found[len(rows) :], strict=True):
        total = one if other is None else other if one is None else one + other
        length = 0.0 if total is None else float(np.linalg.norm(total))
        sums.append(total / length if total is not None and length else total)
    return sums


@transaction.atomic
def _store(user: User, name: str, rows: list[MemoryIndex], found: "list[embedding.Vector | None]") -> None:
    # Rows that went meanwhile get nothing; a row's text never changes under its id.
    there = set(MemoryIndex.objects.filter(id__in=[row.id for row in rows]).values_list("id", flat=True))
    kept = [(row, vector) for row, vector in zip(rows, found, strict=True) if row.id in there]
    with connection.cursor() as cursor:
        # A text that can't be embedded is marked too, or it would wait for ever.
        cursor.executemany(
            f"UPDATE {MemoryIndex._meta.db_table} SET embedding = %s, embedded_by = %s WHERE id = %s",  # noqa: S608
            [(None if vector is None else vectors.to_bytes(vector), name, row.id) for row, vector in kept],
        )
    dimension = embedding.engine().dimension
    listed = [
        (row.id, row.source_type, row.source_date, part)
        for row, vector in kept
        if vector is not None
        for part in listed_as(vector, dimension)
    ]
    if any(vector.size != dimension for *_, vector in listed):
        IndexState.objects.filter(owner=user, other_languages=False).update(other_languages=True)
    if not engines.vectors().put(user.pk, listed):
        IndexState.objects.filter(owner=user).update(vectors_listed=False)
    changes.note(user.pk, [row.id for row, _ in kept])


def _settle(work: _Work) -> bool:
    """Whether no row waits any more; then the vectors of this model are the ones searched."""
    if waiting(work.user, work.state).exists():
        return False
    if work.state.model_name != work.name:
        IndexState.objects.filter(owner=work.user).update(model_name=work.name)
    return True


def _search_by_words_meanwhile(user: User, left: int) -> bool:
    """With a tenth of the rows waiting, the rows that have a vector would push all others aside."""
    states = IndexState.objects.filter(owner=user, chunk_count__lt=left * 10)
    return left > FEW and bool(states.update(model_name=""))


def list_vectors(user: User) -> None:
    """Fill the vector table from the rows, after times when sqlite-vec could not be loaded."""
    if IndexState.objects.filter(owner=user, vectors_listed=True).exists() or not has_vectors():
        return
    if not engines.vectors().are_sound():
        engines.vectors().drop_all()
        IndexState.objects.update(vectors_listed=False)
    engines.vectors().remove_owner(user.pk)
    ids = list(MemoryIndex.objects.filter(owner=user, embedding__isnull=False).values_list("id", flat=True))
    for at in range(0, len(ids), BATCH):
        with transaction.atomic():
            rows = MemoryIndex.objects.filter(id__in=ids[at : at + BATCH]).values_list(
                "id", "source_type", "source_date", "embedding"
            )
            engines.vectors().put(
                user.pk,
                [
                    (id, source, day, part)
                    for id, source, day, data in rows
                    if data
                    for part in listed_as(vectors.from_bytes(data), embedding.engine().dimension)
                ],
            )
    IndexState.objects.filter(owner=user).update(vectors_listed=True)


def read_abroad(user: User) -> None:
    """Somebody asked in another language: from now on English chunks are read by the second model too."""
    if embedding.engine().second.name:
        IndexState.objects.filter(owner=user).update(asked_abroad=True)
        ask_worker(user)


def complete(user: User, seconds: float = math.inf) -> bool:
    """Give English rows the second model's vector where that is wanted; True when none is left.

    The first model has read them: what is stored stays a part of what is stored now.
    """
    engine, until = embedding.engine(), monotonic() + seconds
    if not IndexState.objects.filter(owner=user, asked_abroad=True).exists() or not engine.is_available():
        return True
    name, last = kind(), 0
    rows = MemoryIndex.objects.filter(owner=user, embedded_by=name, embedding__isnull=False).order_by("id")
    while batch := list(
        rows.filter(id__gt=last).only("id", "chunk_text", "source_date", "source_type", "embedding")[:BATCH]
    ):
        last = batch[-1].id
        plain = [row for row in batch if len(row.embedding or b"") == 4 * engine.dimension]
        found = list["embedding.Vector | None"]()
        for row in plain:
            found.append(engine.completed(row.chunk_text, stored_vector(row), asked_abroad=True))
        if engine.second.reason:
            return True
        if plain:
            _store(user, name, plain, found)
        if monotonic() > until:
            return False
    return True


def stored_vector(row: MemoryIndex) -> "embedding.Vector":
    return vectors.from_bytes(row.embedding or b"")


def ask_worker(user: User, task: str = "memory.index.backfill.embed_for") -> None:
    """Have the worker embed what waits, or do more, unless it was asked a moment ago."""
    now = timezone.now()
    IndexState.objects.get_or_create(owner=user)
    free = IndexState.objects.filter(owner=user).exclude(asked_at__gt=now - PATIENCE)
    if free.update(asked_at=now):
        async_task(task, user.pk)


def came(user: User) -> None:
    """The worker is there: it may be asked again."""
    IndexState.objects.filter(owner=user, asked_at__isnull=False).update(asked_at=None)


def embed_for(user_id: int) -> None:
    """The worker's task: embed a user's waiting rows for a while. It may run twice."""
    user = User.objects.filter(pk=user_id).first()
    if user is None:
        return
    whole = True
    try:
        with _shown_if_long(user) as note:
            whole = embed(user, progress=note, seconds=TURN)
            whole = whole and complete(user, seconds=TURN)
    finally:
        came(user)
    if not whole:
        # Behind what others wait for.
        ask_worker(user)


def _shown_if_long(user: User) -> AbstractContextManager[Progress | None]:
    """A handful of new rows is nothing to tell of; another model's turn at all of them is."""
    if not embedding.engine().is_available() or waiting(user).count() <= BATCH:
        return nullcontext()
    return shown(user, "embedding", "Preparing memory for search", page="memory:stats")
