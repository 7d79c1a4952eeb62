"""Which chunks are worth scoring: those with the question's rarest words, and those nearest in meaning."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db import DatabaseError, connection

from memory import embedding
from memory.embedding.second import listed_as
from memory.index import engines
from memory.index.index import Standing
from memory.index.sources.chats import STILL_SAID
from memory.models import IndexState, MemoryIndex, Source
from memory.search import fallback, lending, scoring
from oneclaw.sqlite.vectors import has_vectors
from people.models import User

if TYPE_CHECKING:
    import numpy as np

logger = logging.getLogger(__name__)

BY_TERMS = 80
# Of a time that is named, so many chunks: more than a block holds of a busy month.
BY_TIME = 1000
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
def read_as() -> dict[str, str]:
    return {"source_date": "CAST(m.source_date AS TEXT)", "created_at": engines.seconds("m.created_at")}


def by_terms(user: User, holding: dict[str, int], index: Standing, limits: Limits, top_k: int) -> list[int]:
    """Chunks with the rarest of the question's terms; `holding` says how many chunks have each."""
    worth, matches = dict[str, float](), 0
    for term, count in sorted(holding.items(), key=lambda item: item[1]):
        if not count:
            continue
        if worth and matches + count > MATCHES:
            break
        worth[term] = scoring.idf(index.chunk_count, count)
        matches += count
    average = max(index.term_total / max(index.chunk_count, 1), 1.0)
    return engines.fulltext().best(user.pk, worth, average, max(top_k, BY_TERMS), *limits.where())


def by_vector(user: User, vector: "np.ndarray", index: Standing, limits: Limits, top_k: int) -> list[int]:
    """Chunks near the question's vector, by sqlite-vec where it can be used."""
    level = max(LEAST_BY_VECTOR, VECTOR_WORK // index.chunk_count)
    k = min(MOST_BY_VECTOR, max(top_k // 2, level))
    if limits.leave_out:
        # vec0 can't leave a source out: it finds so many more, and they fall away when the rows are read.
        k += MemoryIndex.objects.filter(owner=user, source_key=limits.leave_out).count()
    k = min(k, engines.vectors().most)
    where = (limits.sources, limits.since, limits.until)
    if has_vectors() and index.vectors_listed:
        # What both models have read is listed by its parts, and found by those.
        if len(listed_as(vector, embedding.engine().dimension)) > 1:
            return []
        try:
            return engines.vectors().nearest(user.pk, vector, k, *where)
        except DatabaseError as error:
            logger.warning("The vector table can't be searched, its rows are compared one by one: %s", error)
            IndexState.objects.filter(owner=user).update(vectors_listed=False)
    return fallback.nearest(user, vector, index.model_name, k, *where)


def by_time(user: User, first: date, last: date, limits: Limits) -> list[int]:
    """Chunks of these days, the logs before the chats and the newest first, within the limits."""
    where, values = limits.where()
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT m.id FROM {MemoryIndex._meta.db_table} m "  # noqa: S608
            f"WHERE m.owner_id = %s AND m.source_date BETWEEN %s AND %s{where} "
            "ORDER BY m.source_type <> %s, m.source_date DESC, m.anchor, m.position LIMIT %s",
            [user.pk, first, last, *values, Source.DAILY_LOG, BY_TIME],
        )
        return [id for (id,) in cursor.fetchall()]


def last_day(user: User, limits: Limits) -> date | None:
    """The latest day, today at most, of which there is a log or a chat."""
    where, values = limits.where()
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT CAST(MAX(m.source_date) AS TEXT) FROM {MemoryIndex._meta.db_table} m "  # noqa: S608
            f"WHERE m.owner_id = %s AND m.source_date <= %s{where} "
            f"AND (m.source_type <> '{Source.TRANSCRIPT}' OR {STILL_SAID.format(anchor='m.anchor')})",
            [user.pk, user.today(), *values],
        )
        (day,) = cursor.fetchone()
    return date.fromisoformat(day) if day else None


def places(user: User, keys: Sequence[str] | None = None) -> list[tuple[int, str, int]]:
    """Each chunk of these sources or of all, with its source and its place there.

    What is no longer said keeps its place: others do not move together because of it.
    """
    where, values = "", list[str | list[str]]()
    if keys is not None:
        these, listed = engines.among(keys)
        where, values = f" AND m.source_key {these}", [listed]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT m.id, m.source_key, ROW_NUMBER() OVER "  # noqa: S608
            "(PARTITION BY m.source_key ORDER BY m.anchor, m.position) "
            f"FROM {MemoryIndex._meta.db_table} m WHERE m.owner_id = %s{where}",
            [user.pk, *values],
        )
        found: list[tuple[int, str, int]] = cursor.fetchall()
    return found


def beside(user: User, found: Columns, best: Sequence[int]) -> dict[int, int]:
    """The chunks within two places of the best in their sources, each with its place there."""
    rows = places(user, sorted({found.source_key[at] for at in best}))
    chosen = {found.id[at] for at in best}
    near = {
        (key, place + step)
        for id, key, place in rows
        if id in chosen
        for step in range(-lending.NEAR, lending.NEAR + 1)
    }
    return {id: place for id, key, place in rows if (key, place) in near}


def placed(found: Columns, near: dict[int, int]) -> "np.ndarray":
    """The places of chunks whose neighbours were read; the others stand beside nothing."""
    import numpy as np

    apart = -1 - (lending.NEAR + 1) * np.arange(len(found.id))
    return np.array([near.get(id, lonely) for id, lonely in zip(found.id, apart.tolist(), strict=True)])


def read(
    user: User, ids: Sequence[int] | None, limits: Limits, known: dict[str, str] | None = None
) -> Columns | None:
    """The chunks of these ids, or all of the user's, within the limits; None when there are none.

    `known` has what stands for columns that the caller has no need of.
    """
    where, values = limits.where()
    mine = "m.owner_id"
    if ids is not None:
        these, listed = engines.among(ids)
        where += f" AND m.id {these}"
        values.append(listed)
        # Found by their ids: an index of owners would only be read on the way.
        mine = "+m.owner_id"
    read = read_as() | (known or {})
    columns = ", ".join(read.get(name, f"m.{name}") for name in Columns._fields)
    found = engines.rows(
        f"SELECT {columns} FROM {MemoryIndex._meta.db_table} m WHERE {mine} = %s{where} "  # noqa: S608
        f"AND (m.source_type <> '{Source.TRANSCRIPT}' OR {STILL_SAID.format(anchor='m.anchor')})",
        [user.pk, *values],
    )
    return Columns(*zip(*found, strict=True)) if found else None


def read_more(user: User, found: Columns, ids: Iterable[int], limits: Limits) -> Columns:
    """What was read, and the chunks of these ids that were not among it."""
    more = read(user, sorted(set(ids).difference(found.id)), limits)
    if more is None:
        return found
    joined: list[Any] = [(*ours, *theirs) for ours, theirs in zip(found, more, strict=True)]
    return Columns(*joined)
