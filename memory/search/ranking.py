"""RFC-013's score on every candidate, and the best of them as results."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from django.conf import settings

from memory.embedding.second import second_alone
from memory.index import fulltext, vectors
from memory.index.index import Standing
from memory.models import Source
from memory.search import judgement, lending, scoring
from memory.search.candidates import Columns
from memory.search.question import Question
from memory.search.results import MemorySearchResult
from memory.search.times import BONUS, Times
from memory.search.times import DAY as DAY_NAMED

if TYPE_CHECKING:
    import numpy as np

DAY = 24 * 60 * 60
# Where a question asks for a time, its log is the answer; the day's chats come after it.
LOG_OF_THE_TIME, CHAT_OF_THE_TIME = 1.0, 0.5
# From this bonus on a time is named so closely that what is of that time is heard more readily.
TIMELY = BONUS[DAY_NAMED]


@dataclass(frozen=True, slots=True)
class Parts:
    """Every part of the score, one number a candidate each; `own` is the score before neighbours lend."""

    words: "np.ndarray"
    meaning: "np.ndarray"
    cosines: "np.ndarray"
    held: "np.ndarray"
    ages: "np.ndarray"
    decay: "np.ndarray"
    dated: "np.ndarray"
    own: "np.ndarray"


def scored(
    found: Columns, index: Standing, holding: dict[str, int], question: Question, now: datetime
) -> Parts:
    """RFC-013's score of every candidate, and what it gains by a time that the question names."""
    import numpy as np

    counts = {term: count(found, index.owner_id, term) for term, held in holding.items() if held}
    words = scoring.normalised(keywords(found, index, holding, counts, question.terms))
    weights = judgement.weights(question.subject, holding, index.chunk_count)
    held = judgement.held(weights, counts, len(found.id))
    raw = cosines(found, question.vectors, index.model_name)
    meaning = scoring.normalised(raw)
    # A row that still waits for its vector goes by its words alone, as all do where there is no model.
    waits = np.array([by != index.model_name for by in found.embedded_by])
    combined = np.where(waits, words, scoring.weighed(words, meaning)) if meaning.any() else words
    ages = np.maximum(int(now.timestamp()) - np.array(found.created_at), 0) // DAY
    fading = scoring.decay(ages, settings.DECAY_LAMBDA, settings.DECAY_FLOOR)
    evergreen = np.array([source == Source.LONG_TERM for source in found.source_type])
    decay = np.where(evergreen, 1.0, fading)
    dated = bonuses(found, question.times)
    own = combined * decay + dated
    if question.judged:
        near = raw if question.vectors else None
        by_second = cosines(found, second_alone(question.vectors), index.model_name)
        keep = judgement.worth_hearing(question.subject, weights, near, held, by_second, dated >= TIMELY)
        own = np.where(keep, own, 0.0)
    return Parts(words, meaning, raw, held, ages, decay, dated, own)


def bonuses(found: Columns, times: Times) -> "np.ndarray":
    """What each candidate gains by a time that the question names."""
    import numpy as np

    if not times.periods:
        return np.zeros(len(found.id))
    gained = {day: times.bonus(date.fromisoformat(day)) if day else 0.0 for day in set(found.source_date)}
    return np.array([gained[day] for day in found.source_date])


def best(
    found: Columns, parts: Parts, question: Question, places: "np.ndarray", top_k: int
) -> list[MemorySearchResult]:
    """The best candidates, if above zero; among equals the newer comes first."""
    import numpy as np

    lent = np.where(parts.own > 0, lending.lent(parts.own, found.source_key, found.source_date, places), 0.0)
    scores = parts.own + lent
    # English is judged by its meaning, other languages by what they have.
    by_meaning = question.subject.is_english & (parts.cosines > 0)
    matches = np.where(by_meaning, parts.cosines, np.maximum(parts.cosines, parts.held))
    order = sorted(
        leaders(scores, top_k),
        key=lambda at: (-scores[at], -found.created_at[at], found.source_key[at], found.position[at]),
    )
    return [
        result(
            found,
            at,
            score=float(scores[at]),
            bm25_score=float(parts.words[at]),
            vector_score=float(parts.meaning[at]),
            age_in_days=int(parts.ages[at]),
            cosine=float(parts.cosines[at]),
            decay=float(parts.decay[at]),
            dated=float(parts.dated[at]),
            lent=float(lent[at]),
            held=float(parts.held[at]),
            match=float(np.clip(matches[at], 0.0, 1.0)),
        )
        for at in order[:top_k]
    ]


def of_that_time(found: Columns, times: Times, now: datetime, top_k: int) -> list[MemorySearchResult]:
    """All of the time that was asked for: its logs as they were written, the newest first, then its chats."""

    def place(at: int) -> tuple[bool, str, str, int, int]:
        newest = "".join(chr(255 - ord(sign)) for sign in found.source_date[at] or "")
        is_log = found.source_type[at] == Source.DAILY_LOG
        return not is_log, newest, found.source_key[at], found.anchor[at] or 0, found.position[at]

    held = [day is not None and times.names(date.fromisoformat(day)) for day in found.source_date]
    order = sorted((at for at, is_held in enumerate(held) if is_held), key=place)
    return [
        result(
            found,
            at,
            score=LOG_OF_THE_TIME if found.source_type[at] == Source.DAILY_LOG else CHAT_OF_THE_TIME,
            dated=LOG_OF_THE_TIME if found.source_type[at] == Source.DAILY_LOG else CHAT_OF_THE_TIME,
            bm25_score=0.0,
            vector_score=0.0,
            age_in_days=max(0, int(now.timestamp()) - found.created_at[at]) // DAY,
            match=1.0,
        )
        for at in order[:top_k]
    ]


def result(found: Columns, at: int, **parts: Any) -> MemorySearchResult:
    """The candidate that stands there, with the parts of its score."""
    return MemorySearchResult(
        chunk_id=found.id[at],
        chunk_text=found.chunk_text[at],
        source_type=found.source_type[at],
        source_date=found.source_date[at],
        source_key=found.source_key[at],
        anchor=found.anchor[at],
        context=found.context[at],
        speaker=found.speaker[at],
        **parts,
    )


def leaders(scores: "np.ndarray", top_k: int) -> list[int]:
    """Where the `top_k` best scores above zero stand, in no order, with all that equal the last of them."""
    import numpy as np

    least = np.partition(scores, -top_k)[-top_k] if top_k < scores.size else 0.0
    places: list[int] = np.flatnonzero((scores > 0) & (scores >= least)).tolist()
    return places


def count(found: Columns, owner_id: int, term: str) -> "np.ndarray":
    """How often a term stands in each candidate."""
    import numpy as np

    mark = fulltext.marked(owner_id, [term])
    return np.array([terms.count(mark) for terms in found.terms], dtype=float)


def keywords(
    found: Columns,
    index: Standing,
    holding: dict[str, int],
    counts: "dict[str, np.ndarray]",
    terms: Sequence[str],
) -> "np.ndarray":
    """BM25 of every candidate, by the statistics of all the owner's chunks."""
    import numpy as np

    known = [term for term in terms if term in counts]
    if not known:
        return np.zeros(len(found.id))
    return scoring.bm25(
        np.column_stack([counts[term] for term in known]),
        np.array(found.term_count, dtype=float),
        np.array([scoring.idf(index.chunk_count, holding[term]) for term in known]),
        index.term_total / max(index.chunk_count, 1),
    )


def cosines(found: Columns, asked: "dict[int, np.ndarray]", model: str) -> "np.ndarray":
    """The candidates' cosines with the question's vector of their length; 0 for one without (RFC-013)."""
    import numpy as np

    cosine = np.zeros(len(found.id))
    for size, vector in asked.items():
        having = [
            at
            for at, (data, by) in enumerate(zip(found.embedding, found.embedded_by, strict=True))
            if by == model and data and len(data) == size * 4
        ]
        if not having:
            continue
        stored = b"".join(found.embedding[at] or b"" for at in having)
        with np.errstate(all="ignore"):
            products = vectors.from_bytes(stored).reshape(-1, size) @ vector
        # A damaged vector may be anything; it must not decide what the others are divided by.
        cosine[having] = np.where(np.abs(products) <= 1.001, products, 0.0)
    return cosine
