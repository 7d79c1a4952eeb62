"""Writes index rows: compares what a source says now with what is stored, and changes only the difference."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.db import connection, transaction
from django.db.models import Count, F, QuerySet, Sum
from django.utils import timezone

from memory.index import fulltext, vectors
from memory.index.chunks import Chunk, searchable
from memory.index.terms import terms
from memory.models import IndexState, MemoryIndex

MOST_AT_ONCE = 500


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


def replace(owner_id: int, stored: QuerySet[MemoryIndex], drafts: Sequence[ChunkDraft]) -> bool:
    """Make `stored` what `drafts` say, in one short transaction; True if any text came or went.

    A row whose text is unchanged keeps its id and its vector.
    """
    keyed = [(draft.key, draft) for draft in drafts]
    with transaction.atomic():
        spare: dict[tuple[str, str], list[MemoryIndex]] = defaultdict(list)
        fields = (
            "id",
            "source_key",
            "text_hash",
            "position",
            "anchor",
            "speaker",
            "created_at",
            "source_date",
        )
        for row in stored.only(*fields).order_by("-position"):
            spare[row.source_key, row.text_hash].append(row)
        new, moved = list[MemoryIndex](), list[MemoryIndex]()
        for key, draft in keyed:
            if spare[key]:
                row = spare[key].pop()
                # What long-term memory said before this change was not written by it.
                made = draft.created_at if draft.source_date else row.created_at
                place = (draft.position, draft.chunk.anchor, draft.chunk.speaker, made)
                if (row.position, row.anchor, row.speaker, row.created_at) != place:
                    row.position, row.anchor, row.speaker, row.created_at = place
                    moved.append(row)
            else:
                new.append(_row(owner_id, key[1], draft))
        gone = [row.id for rows in spare.values() for row in rows]
        _delete(owner_id, gone)
        _move(moved)
        _insert(owner_id, new)
    return bool(new or gone)


def delete(owner_id: int, ids: list[int]) -> None:
    """Take rows out of the index, a few hundred a transaction."""
    for at in range(0, len(ids), MOST_AT_ONCE):
        with transaction.atomic():
            _delete(owner_id, ids[at : at + MOST_AT_ONCE])


def recount(owner_id: int) -> None:
    """Set the owner's counts from the rows themselves."""
    with transaction.atomic():
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
        terms=fulltext.marked(owner_id, found),
        term_count=len(found),
        created_at=draft.created_at,
        updated_at=timezone.now(),
    )


def _move(rows: list[MemoryIndex]) -> None:
    """Store where the rows stand now; bulk_update takes a millisecond a row to write its statement."""
    made = connection.ops.adapt_datetimefield_value
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE {MemoryIndex._meta.db_table} "  # noqa: S608
            "SET position = %s, anchor = %s, speaker = %s, created_at = %s WHERE id = %s",
            [(row.position, row.anchor, row.speaker, made(row.created_at), row.id) for row in rows],
        )


def _insert(owner_id: int, rows: list[MemoryIndex]) -> None:
    if not rows:
        return
    made = MemoryIndex.objects.bulk_create(rows, batch_size=MOST_AT_ONCE)
    fulltext.add([(row.id, row.terms) for row in made])
    _count(owner_id, len(made), sum(row.term_count for row in made))


def _delete(owner_id: int, ids: Iterable[int]) -> None:
    doomed = MemoryIndex.objects.filter(owner_id=owner_id, id__in=list(ids))
    found = list(doomed.values_list("id", "terms", "term_count"))
    if not found:
        return
    fulltext.remove([(id, terms) for id, terms, _ in found])
    if not vectors.remove([id for id, _, _ in found]):
        IndexState.objects.filter(owner_id=owner_id).update(vectors_listed=False)
    doomed.delete()
    _count(owner_id, -len(found), -sum(count for _, _, count in found))


def _count(owner_id: int, chunks: int, terms: int) -> None:
    IndexState.objects.filter(owner_id=owner_id).update(
        chunk_count=F("chunk_count") + chunks, term_total=F("term_total") + terms
    )
