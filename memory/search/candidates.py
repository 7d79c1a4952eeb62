"""Which chunks are worth scoring: those with the question's rarest words, and those nearest in meaning."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from django.db import DatabaseError, connection

from memory.index import fulltext, vectors
from memory.index.index import Standing
from memory.index.sources.chats import STILL_SAID
from memory.models import IndexState, MemoryIndex, Source
from memory.search import fallback
from oneclaw.sqlite.vectors import has_vectors
from people.models import User

if TYPE_CHECKING:
    import numpy as np

logger = logging.getLogger(__name__)

BY_TERMS = 80
# Ranking costs time per matching chunk, so only the rarest terms choose candidates, up to this many matches.
MATCHES = 600
# vec0's time grows with k and with the number of vectors: their product is held about level, unless more
# results are wanted than that would give.
MOST_BY_VECTOR, LEAST_BY_VECTOR, VECTOR_WORK = 200, 50, 500_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Where to look. Long-term memory has no date, so a search between dates leaves it out."""

    sources: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    leave_out: str = ""

    def where(self) -> tuple[str, list[str | date]]:
        """The limits as SQL on a MemoryIndex row `m`."""
        parts, values = list[str](), list[str | date]()
        if self.sources:
            parts.append(f"m.source_type IN ({', '.join(['%s'] * len(self.sources))})")
            values += self.sources
        for sign, day in ((">=", self.since), ("<=", self.until)):
            if day:
                parts.append(f"m.source_date {sign} %s")
                values.append(day)
        if self.leave_out:
            parts.append("m.source_key <> %s")
            values.append(self.leave_out)
        return "".join(f" AND {part}" for part in parts), values


class Columns(NamedTuple):
    """Candidates as SQLite gives them, a sequence a column: numpy takes those at once."""

    id: Sequence[int]
    chunk_text: Sequence[str]
    source_type: Sequence[str]
    source_date: Sequence[str | None]
    source_key: Sequence[str]
    anchor: Sequence[int | None]
    context: Sequence[str]
    speaker: Sequence[str]
    position: Sequence[int]
    terms: Sequence[str]
    term_count: Sequence[int]
    embedding: Sequence[bytes | None]
    embedded_by: Sequence[str]
    created_at: Sequence[int]


# Times as plain numbers and text: converting every candidate's would take longer than scoring it.
READ = {
    "source_date": "CAST(m.source_date AS TEXT)",
    "created_at": "CAST(strftime('%%s', m.created_at) AS INTEGER)",
}


def by_terms(user: User, holding: dict[str, int], limits: Limits, top_k: int) -> list[int]:
    """Chunks with the rarest of the question's terms; `holding` says how many chunks have each."""
    rare, matches = list[str](), 0
    for term, count in sorted(holding.items(), key=lambda item: item[1]):
        if not count:
            continue
        if rare and matches + count > MATCHES:
            break
        rare.append(term)
        matches += count
    return fulltext.best(user.pk, rare, max(top_k, BY_TERMS), *limits.where())


def by_vector(user: User, vector: "np.ndarray", index: Standing, limits: Limits, top_k: int) -> list[int]:
    """Chunks near the question's vector, by sqlite-vec where it can be used."""
    level = max(LEAST_BY_VECTOR, VECTOR_WORK // index.chunk_count)
    k = min(MOST_BY_VECTOR, max(top_k // 2, level))
    if limits.leave_out:
        # vec0 can't leave a source out: it finds so many more, and they fall away when the rows are read.
        k += MemoryIndex.objects.filter(owner=user, source_key=limits.leave_out).count()
    k = min(k, vectors.MOST)
    where = (limits.sources, limits.since, limits.until)
    if has_vectors() and index.vectors_listed:
        try:
            return vectors.nearest(user.pk, vector, k, *where)
        except DatabaseError as error:
            logger.warning("The vector table can't be searched, its rows are compared one by one: %s", error)
            IndexState.objects.filter(owner=user).update(vectors_listed=False)
    return fallback.nearest(user, vector, index.model_name, k, *where)


def read(user: User, ids: Sequence[int] | None, limits: Limits) -> Columns | None:
    """The chunks of these ids, or all of the user's, within the limits; None when there are none."""
    where, values = limits.where()
    if ids is not None:
        where += " AND m.id IN (SELECT value FROM json_each(%s))"
        values.append(json.dumps(ids))
    columns = ", ".join(READ.get(name, f"m.{name}") for name in Columns._fields)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {columns} FROM {MemoryIndex._meta.db_table} m WHERE m.owner_id = %s{where} "  # noqa: S608
            f"AND (m.source_type <> '{Source.TRANSCRIPT}' OR {STILL_SAID.format(anchor='m.anchor')})",
            [user.pk, *values],
        )
        found = cursor.fetchall()
    return Columns(*zip(*found, strict=True)) if found else None
