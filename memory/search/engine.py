"""The hybrid search of RFC-013: SQLite finds candidates, the RFC's score is computed on them exactly."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from django.db import DatabaseError
from django.utils import timezone

from memory import embedding
from memory.index import backfill, fulltext
from memory.index.index import Index, Standing, mend
from memory.models import Source
from memory.search import candidates, fallback
from memory.search.candidates import Limits
from memory.search.question import Question, understood
from memory.search.ranking import best, leaders, of_that_time, scored
from memory.search.results import MemorySearchResult
from memory.search.times import DAY, Period, Times
from people.models import User

if TYPE_CHECKING:
    import numpy as np

logger = logging.getLogger(__name__)

DEFAULT_TOP_K = 5  # RFC-013
# A memory of this many chunks, or of this many for each result wanted, is scored whole; in a larger one,
# candidates are chosen first.
WHOLE, WHOLE_A_RESULT = 400, 6
# In a large memory, so many of the best candidates have their neighbours read too.
LENDERS = 30


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
        previous: str = "",
        judged: bool = True,
    ) -> list[MemorySearchResult]:
        """The best chunks for a question, best first. `leave_out` is the key of a source not to look in.

        `previous` is what the user said before a question that may be a mere follow-up.
        """
        if not query.strip() or top_k < 1:
            return []
        question = understood(query, self.user.today(), previous, judged=judged)
        if question.is_idle:
            return []
        limits = Limits(tuple(Source(source) for source in sources or ()), since, until, leave_out)
        index = self._sync()
        try:
            return self._search(question, top_k, limits, index or Index(self.user).standing())
        except DatabaseError as error:
            logger.warning("The index of %s can't be read: %s", self.user, error)
            self._mend(error)
        try:
            return self._search(question, top_k, limits, Index(self.user).standing())
        except DatabaseError:
            logger.warning("The index of %s can't be mended: its files are searched instead.", self.user)
            return fallback.search(self.user, question, top_k, limits.sources, since, until)

    def _sync(self) -> Standing | None:
        """Bring the index up to date. Whatever goes wrong here, the search goes on by what there is."""
        try:
            return Index(self.user).sync()
        except DatabaseError as error:
            logger.warning("The index of %s could not be brought up to date: %s", self.user, error)
            self._mend(error)
        except Exception:
            logger.exception("What is new for %s could not be indexed.", self.user)
        return None

    def _mend(self, error: DatabaseError) -> None:
        """Make damaged tables again. One that is busy or may not be written is not damaged."""
        if "locked" in str(error) or "readonly" in str(error):
            return
        try:
            mend()
            Index(self.user).sync()
        except Exception:
            logger.exception("The index of %s could not be mended.", self.user)

    def _search(
        self, question: Question, top_k: int, limits: Limits, index: Standing
    ) -> list[MemorySearchResult]:
        if not index.chunk_count:
            return []
        if question.times.asks_for_a_time:
            return self._of_that_time(question.times, top_k, limits)
        holding = fulltext.frequencies(self.user.pk, question.all_terms)
        question, now = replace(question, vectors=self._vectors(question.text, index)), timezone.now()
        if index.chunk_count <= max(WHOLE, WHOLE_A_RESULT * top_k):
            found = candidates.read(self.user, None, limits)
            if not found:
                return []
            parts = scored(found, index, holding, question, now)
            return best(found, parts, question, candidates.counted(found), top_k)
        asked = {term: holding[term] for term in question.terms}
        ids = candidates.by_terms(self.user, asked, limits, top_k)
        for vector in question.vectors.values():
            ids += candidates.by_vector(self.user, vector, index, limits, top_k)
        for period in question.times.periods:
            ids += candidates.by_time(self.user, period.first, period.last, limits)
        found = candidates.read(self.user, ids, limits)
        if not found:
            return []
        parts = scored(found, index, holding, question, now)
        # What lends and what is lent to stands beside the best, and need not have been chosen itself.
        near = candidates.beside(self.user, found, leaders(parts.own, LENDERS))
        if not near.keys() <= set(found.id):
            found = candidates.read(self.user, [*found.id, *near], limits) or found
            parts = scored(found, index, holding, question, now)
        return best(found, parts, question, candidates.placed(found, near), top_k)

    def _of_that_time(self, times: Times, top_k: int, limits: Limits) -> list[MemorySearchResult]:
        """What the log and the chats of a time say. A time without any says nothing."""
        if not times.periods:
            day = candidates.last_day(self.user, limits)
            times = replace(times, periods=(Period(day, day, DAY),)) if day else times
        ids = list[int]()
        for period in times.periods:
            ids += candidates.by_time(self.user, period.first, period.last, limits)
        found = candidates.read(self.user, ids, limits)
        return of_that_time(found, times, timezone.now(), top_k) if found else []

    def _vectors(self, text: str, index: Standing) -> "dict[int, np.ndarray]":
        """The question's vector for each length that rows have; none without rows to compare with."""
        engine = embedding.engine()
        if not engine.is_available() or index.model_name != backfill.kind():
            return {}
        return engine.embed_question(text, in_both=index.other_languages)
