"""The hybrid search of RFC-013: the database finds candidates, the RFC's score is computed exactly."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING

from django.db import DatabaseError
from django.utils import timezone

from memory import embedding
from memory.embedding.language import is_english
from memory.index import backfill, engines
from memory.index.index import Index, Standing, mend
from memory.index.portions import of_a_search
from memory.index.resident.shelf import shelf
from memory.index.sources.chats import is_chat
from memory.models import Source
from memory.search import candidates, fallback, judgement, resident
from memory.search.candidates import Limits
from memory.search.question import Question, understood
from memory.search.ranking import best, leaders, of_that_time, scored
from memory.search.results import MemorySearchResult
from memory.search.times import DAY, Period, Times
from memory.search.traits import placed_anew, traits_of
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
        index = self._sync(leave_out)
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

    def _sync(self, leave_out: str) -> Standing | None:
        """Bring the index up to date. Whatever goes wrong here, the search goes on by what there is."""
        aside = leave_out if is_chat(leave_out) else ""
        try:
            return Index(self.user).sync(of_a_search(), aside)
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
        question, now = replace(question, vectors=self._vectors(question.text, index)), timezone.now()
        kept = self._search_in_memory(question, top_k, limits, index, now)
        if kept is not None:
            return kept
        holding = engines.fulltext().frequencies(self.user.pk, question.all_terms)
        weights = judgement.weights(question.subject, holding, index.chunk_count)
        if index.chunk_count <= max(WHOLE, WHOLE_A_RESULT * top_k):
            found = candidates.read(self.user, None, limits)
            if not found:
                return []
            near = {id: place for id, _, place in candidates.places(self.user)}
            traits = traits_of(found, index, weights, question, candidates.placed(found, near))
            return best(found, traits, scored(traits, weights, question, now), question, top_k)
        asked = {term: holding[term] for term in question.terms}
        ids = candidates.by_terms(self.user, asked, index, limits, top_k)
        for vector in question.vectors.values():
            ids += candidates.by_vector(self.user, vector, index, limits, top_k)
        for period in question.times.periods:
            ids += candidates.by_time(self.user, period.first, period.last, limits)
        found = candidates.read(self.user, ids, limits)
        if not found:
            return []
        traits = traits_of(found, index, weights, question, candidates.placed(found, {}))
        parts = scored(traits, weights, question, now)
        # What lends and what is lent to stands beside the best, and need not have been chosen itself.
        near = candidates.beside(self.user, found, leaders(parts.own, LENDERS))
        if not near.keys() <= set(found.id):
            found = candidates.read_more(self.user, found, near, limits)
            traits = traits_of(found, index, weights, question, candidates.placed(found, near))
            parts = scored(traits, weights, question, now)
        else:
            traits = placed_anew(found, traits, candidates.placed(found, near))
        return best(found, traits, parts, question, top_k)

    def _search_in_memory(
        self, question: Question, top_k: int, limits: Limits, index: Standing, now: datetime
    ) -> list[MemorySearchResult] | None:
        """By the index that this process keeps; None where there is none, or it can't be relied on."""
        found: list[MemorySearchResult] | None = None
        with shelf.open(index) as kept:
            if kept is not None:
                try:
                    found = resident.search(self.user, kept, question, top_k, limits, index, now)
                except DatabaseError:
                    raise
                except Exception as error:
                    logger.exception("The index in memory of %s can't be searched.", self.user)
                    shelf.damaged(kept, f"It could not be searched: {error}")
        if kept is None or kept.is_worn:
            shelf.wish_for(index)
        return found

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
        abroad = not is_english(text)
        if abroad and not index.asked_abroad:
            backfill.read_abroad(self.user)
        return engine.embed_question(text, in_both=index.other_languages)
