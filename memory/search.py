"""The hybrid search of RFC-013: SQLite finds candidates, the RFC's score is computed on them exactly."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, NamedTuple

from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone

from memory import embedding, fulltext, scan, scoring, vectors
from memory.index import Index, mend
from memory.models import IndexState, MemoryIndex, Source
from memory.results import MemorySearchResult
from memory.terms import query_terms
from memory.transcripts import STILL_SAID
from people.models import User

if TYPE_CHECKING:
    import numpy as np

logger = logging.getLogger(__name__)

DEFAULT_TOP_K = 5  # RFC-013
DAY = 24 * 60 * 60
# A memory of this many chunks is scored whole; in a larger one, candidates are chosen first.
WHOLE = 1200
BY_TERMS = 100
# Ranking costs time per matching chunk, so only the rarest terms choose candidates, up to this many matches.
MATCHES = 2000
# vec0's time grows with k and with the number of vectors: their product is held about level.
MOST_BY_VECTOR, LEAST_BY_VECTOR, VECTOR_WORK = 200, 50, 600_000


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


class HybridSearchEngine:
    """One user's search. Term statistics are those of all the user's chunks, whatever the limits."""

    def __init__(self, user: User) -> None:
        self.user = user

    def search(
        self,
        query: str,
        top_k: int = DEFAULT_TOP_K,
        sources: Sequence[str] | None = None,
        since: date | None = None,
        until: date | None = None,
        leave_out: str = "",
    ) -> list[MemorySearchResult]:
        """The best chunks for a question, best first. `leave_out` is the key of a source not to look in."""
        if not query.strip() or top_k < 1:
            return []
        limits = Limits(tuple(Source(source) for source in sources or ()), since, until, leave_out)
        self._sync()
        try:
            return self._search(query, top_k, limits)
        except DatabaseError as error:
            logger.warning("The index of %s can't be read: %s", self.user, error)
            self._mend(error)
        try:
            return self._search(query, top_k, limits)
        except DatabaseError:
            logger.warning("The index of %s can't be mended: its files are searched instead.", self.user)
            return scan.search(self.user, query, top_k, limits.sources, since, until)

    def _sync(self) -> None:
        """Bring the index up to date. Whatever goes wrong here, the search goes on by what there is."""
        try:
            Index(self.user).sync()
        except DatabaseError as error:
            logger.warning("The index of %s could not be brought up to date: %s", self.user, error)
            self._mend(error)
        except Exception:
            logger.exception("What is new for %s could not be indexed.", self.user)

    def _mend(self, error: DatabaseError) -> None:
        """Make damaged tables again. One that is busy or may not be written is not damaged."""
        if "locked" in str(error) or "readonly" in str(error):
            return
        try:
            mend()
            Index(self.user).sync()
        except Exception:
            logger.exception("The index of %s could not be mended.", self.user)

    def _search(self, query: str, top_k: int, limits: Limits) -> list[MemorySearchResult]:
        state = IndexState.objects.filter(owner=self.user).first()
        if state is None or not state.chunk_count:
            return []
        holding = fulltext.frequencies(self.user.pk, query_terms(query))
        vector = self._vector(query, state)
        ids = None
        if state.chunk_count > WHOLE:
            ids = self._by_terms(holding, limits) + self._by_vector(vector, state, limits)
        rows = self._rows(ids, limits)
        return ranked(rows, state, holding, vector, timezone.now(), top_k)

    def _vector(self, query: str, state: IndexState) -> "np.ndarray | None":
        """The question's vector; None where the rows have none to compare it with."""
        engine = embedding.engine()
        return engine.embed(query) if engine.is_available() and engine.name == state.model_name else None

    def _by_terms(self, holding: dict[str, int], limits: Limits) -> list[int]:
        rare, matches = list[str](), 0
        for term, count in sorted(holding.items(), key=lambda item: item[1]):
            if not count:
                continue
            if rare and matches + count > MATCHES:
                break
            rare.append(term)
            matches += count
        return fulltext.best(self.user.pk, rare, BY_TERMS, *limits.where())

    def _by_vector(self, vector: "np.ndarray | None", state: IndexState, limits: Limits) -> list[int]:
        if vector is None:
            return []
        k = max(LEAST_BY_VECTOR, min(MOST_BY_VECTOR, VECTOR_WORK // state.chunk_count))
        if vectors.has_vectors() and state.vectors_listed:
            try:
                return vectors.nearest(self.user.pk, vector, k, limits.sources, limits.since, limits.until)
            except DatabaseError as error:
                logger.warning(
                    "The vector table can't be searched, its rows are compared one by one: %s", error
                )
                IndexState.objects.filter(owner=self.user).update(vectors_listed=False)
        return scan.nearest(
            self.user, vector, state.model_name, k, limits.sources, limits.since, limits.until
        )

    def _rows(self, ids: list[int] | None, limits: Limits) -> list["Row"]:
        where, values = limits.where()
        if ids is not None:
            where += " AND m.id IN (SELECT value FROM json_each(%s))"
            values.append(json.dumps(ids))
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT {COLUMNS} "  # noqa: S608
                f"FROM {MemoryIndex._meta.db_table} m WHERE m.owner_id = %s{where} "
                f"AND (m.source_type <> '{Source.TRANSCRIPT}' OR {STILL_SAID.format(anchor='m.anchor')})",
                [self.user.pk, *values],
            )
            return [Row(*row) for row in cursor.fetchall()]


# Times as plain numbers and text: converting every candidate's would take longer than scoring it.
COLUMNS = (
    "m.id, m.chunk_text, m.source_type, CAST(m.source_date AS TEXT), m.source_key, m.anchor, m.context, "
    "m.position, m.terms, m.term_count, m.embedding, m.embedded_by, "
    "CAST(strftime('%%s', m.created_at) AS INTEGER)"
)


class Row(NamedTuple):
    """A candidate as SQLite gives it."""

    id: int
    chunk_text: str
    source_type: str
    source_date: str | None
    source_key: str
    anchor: int | None
    context: str
    position: int
    terms: str
    term_count: int
    embedding: bytes | None
    embedded_by: str
    created_at: int


def ranked(
    rows: list[Row],
    state: IndexState,
    holding: dict[str, int],
    vector: "np.ndarray | None",
    now: datetime,
    top_k: int,
) -> list[MemorySearchResult]:
    """The best rows by RFC-013's score, if above zero; among equals the newer comes first."""
    import numpy as np

    if not rows:
        return []
    known = [term for term, count in holding.items() if count]
    marks = [fulltext.marked(state.owner_id, [term]) for term in known]
    words = scoring.bm25(
        np.array([[row.terms.count(mark) for mark in marks] for row in rows], dtype=float).reshape(
            len(rows), -1
        ),
        np.array([row.term_count for row in rows], dtype=float),
        np.array([scoring.idf(state.chunk_count, holding[term]) for term in known]),
        state.term_total / max(state.chunk_count, 1),
    )
    words = scoring.normalised(words)
    meaning = scoring.normalised(cosines(rows, vector, state.model_name))
    hybrid = scoring.BM25_WEIGHT * words + scoring.VECTOR_WEIGHT * meaning
    # A row that still waits for its vector goes by its words alone, as all do where there is no model.
    waits = np.array([row.embedded_by != state.model_name for row in rows])
    combined = np.where(waits, words, hybrid) if meaning.any() else words
    born = np.array([row.created_at for row in rows])
    ages = np.maximum(int(now.timestamp()) - born, 0) // DAY
    fading = scoring.decay(ages, settings.DECAY_LAMBDA, settings.DECAY_FLOOR)
    evergreen = np.array([row.source_type == Source.LONG_TERM for row in rows])
    scores = combined * np.where(evergreen, 1.0, fading)
    order = sorted(
        np.flatnonzero(scores > 0).tolist(),
        key=lambda at: (-scores[at], -rows[at].created_at, rows[at].source_key, rows[at].position),
    )
    return [
        MemorySearchResult(
            chunk_id=rows[at].id,
            chunk_text=rows[at].chunk_text,
            source_type=rows[at].source_type,
            source_date=rows[at].source_date,
            score=float(scores[at]),
            bm25_score=float(words[at]),
            vector_score=float(meaning[at]),
            age_in_days=int(ages[at]),
            source_key=rows[at].source_key,
            anchor=rows[at].anchor,
            context=rows[at].context,
        )
        for at in order[:top_k]
    ]


def cosines(rows: list[Row], vector: "np.ndarray | None", model: str) -> "np.ndarray":
    """The rows' cosines with the vector; 0 for a row that has none of this model (RFC-013)."""
    import numpy as np

    found = np.zeros(len(rows))
    if vector is None:
        return found
    size = vector.size * 4
    having = [
        at for at, row in enumerate(rows) if row.embedded_by == model and len(row.embedding or b"") == size
    ]
    if having:
        stored = b"".join(bytes(rows[at].embedding or b"") for at in having)
        with np.errstate(all="ignore"):
            products = vectors.from_bytes(stored).reshape(-1, vector.size) @ vector
        # A damaged vector may be anything; it must not decide what the others are divided by.
        found[having] = np.where(np.abs(products) <= 1.001, products, 0.0)
    return found
