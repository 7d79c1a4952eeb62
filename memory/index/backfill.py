"""Backfill of vectors: for new rows, and for all rows when the model has changed."""

import logging
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django_q.tasks import async_task

from memory import embedding
from memory.index import vectors
from memory.index.chunks import searchable
from memory.models import IndexState, MemoryIndex
from oneclaw.sqlite.vectors import has_vectors
from people.models import User

logger = logging.getLogger(__name__)

BATCH = 256
# So many texts are embedded while a search waits; more are left to the worker.
FEW = 32
# The worker is asked again after this long, in case it never came to it.
PATIENCE = timedelta(minutes=10)

Progress = Callable[[int, int], None]

# Which texts of a chunk are embedded. Others make another kind of vector, as another model does.
RECIPE = 2


def kind() -> str:
    """What vectors are made by now: the model, and the texts it is given."""
    return f"{embedding.engine().name}/{RECIPE}"


def waiting(user: User) -> QuerySet[MemoryIndex]:
    """Rows without a vector of the present model. The model was loaded before this is asked."""
    name = kind()
    mine = MemoryIndex.objects.filter(owner=user)
    if IndexState.objects.filter(owner=user, model_name=name).exists():
        return mine.filter(embedded_by="")
    # Two ranges, because "not equal" can't use the index.
    return mine.filter(Q(embedded_by__lt=name) | Q(embedded_by__gt=name))


def embed(user: User, most: int | None = None, progress: Progress | None = None) -> bool:
    """Embed up to `most` waiting rows, the newest first; True when none is left. Never in a transaction."""
    engine = embedding.engine()
    if not engine.is_available():
        return True
    list_vectors(user)
    left = waiting(user).count()
    _search_by_words_meanwhile(user, left)
    # Taken once: whatever the settings say meanwhile, these vectors are this model's.
    name = kind()
    with engine.in_bulk() if left > BATCH else nullcontext():
        _embed_waiting(user, engine, name, left, most, progress)
    return _settle(user, name)


def _embed_waiting(
    user: User,
    engine: embedding.EmbeddingEngine,
    name: str,
    left: int,
    most: int | None,
    progress: Progress | None,
) -> None:
    done = 0
    while most is None or done < most:
        size = BATCH if most is None else min(BATCH, most - done)
        rows = list(
            waiting(user)
            .order_by("-id")
            .only("id", "chunk_text", "context", "source_date", "source_type")[:size]
        )
        if not rows:
            break
        found = [
            engine.completed(row.chunk_text, vector)
            for row, vector in zip(rows, _vectors(engine, rows), strict=True)
        ]
        with transaction.atomic():
            _store(user, name, rows, found)
        done += len(rows)
        if progress:
            progress(done, max(left, done))


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
    listed = [
        (row.id, row.source_type, row.source_date, vector) for row, vector in kept if vector is not None
    ]
    if any(vector.size != embedding.engine().dimension for *_, vector in listed):
        IndexState.objects.filter(owner=user, other_languages=False).update(other_languages=True)
    if not vectors.put(user.pk, listed):
        IndexState.objects.filter(owner=user).update(vectors_listed=False)


def _settle(user: User, name: str) -> bool:
    """Whether no row waits any more; then the vectors of this model are the ones searched."""
    if waiting(user).exists():
        return False
    IndexState.objects.filter(owner=user).exclude(model_name=name).update(model_name=name)
    return True


def _search_by_words_meanwhile(user: User, left: int) -> None:
    """With a tenth of the rows waiting, the rows that have a vector would push all others aside."""
    states = IndexState.objects.filter(owner=user, chunk_count__lt=left * 10)
    if left > FEW:
        states.update(model_name="")


def list_vectors(user: User) -> None:
    """Fill the vector table from the rows, after times when sqlite-vec could not be loaded."""
    if IndexState.objects.filter(owner=user, vectors_listed=True).exists() or not has_vectors():
        return
    if not vectors.are_sound():
        vectors.drop_all()
        IndexState.objects.update(vectors_listed=False)
    vectors.remove_owner(user.pk)
    ids = list(MemoryIndex.objects.filter(owner=user, embedding__isnull=False).values_list("id", flat=True))
    for at in range(0, len(ids), BATCH):
        with transaction.atomic():
            rows = MemoryIndex.objects.filter(id__in=ids[at : at + BATCH]).values_list(
                "id", "source_type", "source_date", "embedding"
            )
            vectors.put(
                user.pk,
                [(id, source, day, vectors.from_bytes(data)) for id, source, day, data in rows if data],
            )
    IndexState.objects.filter(owner=user).update(vectors_listed=True)


def ask_worker(user: User) -> None:
    """Have the worker embed what waits, unless it was asked a moment ago."""
    now = timezone.now()
    free = IndexState.objects.filter(owner=user).exclude(asked_at__gt=now - PATIENCE)
    if free.update(asked_at=now):
        async_task("memory.index.backfill.embed_for", user.pk)


def embed_for(user_id: int) -> None:
    """The worker's task: embed a user's waiting rows. It may run twice."""
    user = User.objects.filter(pk=user_id).first()
    if user is None:
        return
    try:
        embed(user)
    finally:
        IndexState.objects.filter(owner=user).update(asked_at=None)
