"""Writes index rows: compares what a source says now with what is stored, and changes only the difference."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import Count, F, QuerySet, Sum
from django.utils import timezone

from memory.index import changes, engines
from memory.index.chunks import Chunk, searchable
from memory.index.terms import marked, terms
from memory.models import IndexState, MemoryIndex

# Rows that one transaction changes: more make others wait.
MOST_AT_ONCE = 500
TRIES = 3


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """A row as it should be."""

    source_type: str
    source_key: str
    source_date: date | None
    created_at: datetime
    position: int
    chunk: Chunk

    @property
    def searchable(self) -> str:
        return searchable(self.chunk.text, self.chunk.context, self.source_date)

    @property
    def key(self) -> tuple[str, str]:
        return self.source_key, hashlib.sha256(self.searchable.encode("utf-8", "replace")).hexdigest()


class Place(NamedTuple):
    """Where a row stands, who says it and since when; the row's id last, as the statement has it."""

    position: int
    anchor: int | None
    speaker: str
    created_at: datetime
    id: int


class Difference(NamedTuple):
    """What must be done to a source's stored rows: drafts to put in, places to change, ids to take out."""

    new: list[tuple[str, ChunkDraft]]
    moved: list[Place]
    gone: list[int]

    @property
    def size(self) -> int:
        return len(self.new) + len(self.moved) + len(self.gone)


def replace(
    owner_id: int,
    stored: QuerySet[MemoryIndex],
    drafts: Sequence[ChunkDraft],
    together: Callable[[], object] | None = None,
) -> None:
    """Make `stored` what `drafts` say. A row whose text is unchanged keeps its id and its vector.

    A small change is one short transaction. A large one is made in slices, so that nobody waits long for the
    database; cut short, it goes on where it was. `together` is called in the transaction that makes it whole.
    """
    keyed = [(draft.key, draft) for draft in drafts]
    for _ in range(TRIES):
        with transaction.atomic():
            engines.write_alone(owner_id)
            found = difference(stored, keyed)
            if found.size <= MOST_AT_ONCE:
                _apply(owner_id, found)
                if together:
                    together()
                return
        _apply_in_slices(owner_id, found)
    # Somebody else writes the same source again and again: whoever comes last is right.
    with transaction.atomic():
        engines.write_alone(owner_id)
        _apply(owner_id, difference(stored, keyed))
        if together:
            together()


def difference(
    stored: QuerySet[MemoryIndex], keyed: Sequence[tuple[tuple[str, str], ChunkDraft]]
) -> Difference:
    spare: dict[tuple[str, str], list[tuple[int, int, int | None, str, datetime]]] = defaultdict(list)
    fields = ("source_key", "text_hash", "id", "position", "anchor", "speaker", "created_at")
    for source_key, text_hash, *row in stored.order_by("-position").values_list(*fields):
        spare[source_key, text_hash].append((row[0], row[1], row[2], row[3], row[4]))
    new, moved = list[tuple[str, ChunkDraft]](), list[Place]()
    for key, draft in keyed:
        if not spare[key]:
            new.append((key[1], draft))
            continue
        id, *place, made = spare[key].pop()
        # What long-term memory said before this change was not written by it.
        at = draft.created_at if draft.source_date else made
        now = Place(draft.position, draft.chunk.anchor, draft.chunk.speaker, at, id)
        if (*place, made) != now[:4]:
            moved.append(now)
    return Difference(new, moved, [row[0] for rows in spare.values() for row in rows])


def _apply(owner_id: int, found: Difference) -> None:
    _delete(owner_id, found.gone)
    _move(owner_id, found.moved)
    _insert(owner_id, [_row(owner_id, *drafted) for drafted in found.new])


def _apply_in_slices(owner_id: int, found: Difference) -> None:
    delete(owner_id, found.gone)
    for at in range(0, len(found.moved), MOST_AT_ONCE):
        with transaction.atomic():
            _move(owner_id, found.moved[at : at + MOST_AT_ONCE])
    for at in range(0, len(found.new), MOST_AT_ONCE):
        # Their terms take longer to find than to store: nobody need wait for that.
        rows = [_row(owner_id, *drafted) for drafted in found.new[at : at + MOST_AT_ONCE]]
        with transaction.atomic():
            _insert(owner_id, rows)


def delete(owner_id: int, ids: list[int]) -> None:
    """Take rows out of the index, a few hundred a transaction."""
    for at in range(0, len(ids), MOST_AT_ONCE):
        with transaction.atomic():
            _delete(owner_id, ids[at : at + MOST_AT_ONCE])


def recount(owner_id: int) -> None:
    """Set the owner's counts from the rows themselves."""
    with transaction.atomic():
        engines.write_alone(owner_id)
        found = MemoryIndex.objects.filter(owner_id=owner_id).aggregate(
            chunk_count=Count("id"), term_total=Sum("term_count", default=0)
        )
        IndexState.objects.filter(owner_id=owner_id).update(**found)


def _row(owner_id: int, text_hash: str, draft: ChunkDraft) -> MemoryIndex:
    found = terms(draft.searchable)
    return MemoryIndex(
        owner_id=owner_id,
        source_type=draft.source_type,
        source_key=draft.source_key,
        source_date=draft.source_date,
        position=draft.position,
        anchor=draft.chunk.anchor,
        context=draft.chunk.context,
        chunk_text=draft.chunk.text,
        speaker=draft.chunk.speaker,
        text_hash=text_hash,
        terms=marked(owner_id, found),
        term_count=len(found),
        created_at=draft.created_at,
        updated_at=timezone.now(),
    )


def _move(owner_id: int, places: Sequence[Place]) -> None:
    """Store where rows stand now; bulk_update takes a millisecond a row to write its statement."""
    changes.note(owner_id, [place.id for place in places])
    made = connection.ops.adapt_datetimefield_value
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE {MemoryIndex._meta.db_table} "  # noqa: S608
            "SET position = %s, anchor = %s, speaker = %s, created_at = %s WHERE id = %s",
            [(*place[:3], made(place.created_at), place.id) for place in places],
        )


def _insert(owner_id: int, rows: list[MemoryIndex]) -> None:
    if not rows:
        return
    made = MemoryIndex.objects.bulk_create(rows, batch_size=MOST_AT_ONCE)
    engines.fulltext().add([(row.id, row.terms) for row in made])
    _count(owner_id, len(made), sum(row.term_count for row in made))
    changes.note(owner_id, [row.id for row in made])


def _delete(owner_id: int, ids: Iterable[int]) -> None:
    engines.write_alone(owner_id)
    doomed = MemoryIndex.objects.filter(owner_id=owner_id, id__in=list(ids))
    found = list(doomed.values_list("id", "terms", "term_count"))
    if not found:
        return
    engines.fulltext().remove([(id, terms) for id, terms, _ in found])
    if not engines.vectors().remove([id for id, _, _ in found]):
        IndexState.objects.filter(owner_id=owner_id).update(vectors_listed=False)
    doomed.delete()
    _count(owner_id, -len(found), -sum(count for _, _, count in found))
    changes.note(owner_id, [id for id, _, _ in found])


def _count(owner_id: int, chunks: int, terms: int) -> None:
    IndexState.objects.filter(owner_id=owner_id).update(
        chunk_count=F("chunk_count") + chunks, term_total=F("term_total") + terms
    )
