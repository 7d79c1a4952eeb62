"""RFC-013's score on every candidate, and the best of them as results."""

from collections.abc import Iterable, Sequence
from dataclasses import MISSING, fields
from datetime import date, datetime
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from django.conf import settings

from memory.models import Source
from memory.search import judgement, scoring
from memory.search.candidates import Columns
from memory.search.judgement import Weights
from memory.search.lending import Bests
from memory.search.question import Question
from memory.search.results import MemorySearchResult
from memory.search.times import BONUS, Times
from memory.search.times import DAY as DAY_NAMED
from memory.search.traits import Traits

if TYPE_CHECKING:
    import numpy as np

DAY = 24 * 60 * 60
# Where a question asks for a time, its log is the answer; the day's chats come after it.
LOG_OF_THE_TIME, CHAT_OF_THE_TIME = 1.0, 0.5
# From this bonus on a time is named so closely that what is of that time is heard more readily.
TIMELY = BONUS[DAY_NAMED]

# Gained by a chunk that begins with a word of the question's subject ("Caroline went …", "Tom: …"), lost by
# one that ends in a question. On the development conversations both are worth two points of recall at five.
OPENS, ASKS = 0.2, 0.1
# What is worth hearing stays above zero.
LEAST = 0.001
# What stands in a result where nothing is given.
DEFAULTS = {
    field.name: 0.0 if field.default is MISSING else field.default for field in fields(MemorySearchResult)
}


class Parts(NamedTuple):
    """Every part of the score, one number a candidate each; `own` is the score before neighbours lend."""

    words: "np.ndarray"
    meaning: "np.ndarray"
    cosines: "np.ndarray"
    held: "np.ndarray"
    ages: "np.ndarray"
    decay: "np.ndarray"
    dated: "np.ndarray"
    own: "np.ndarray"


def scored(traits: Traits, weights: Weights, question: Question, now: datetime) -> Parts:
    """RFC-013's score of every candidate, and what it gains by a time that the question names."""
    import numpy as np

    words, held = scoring.normalised(traits.words), traits.held
    meaning = scoring.normalised(traits.cosines)
    # A row that still waits for its vector goes by its words alone, as all do where there is no model.
    combined = (
        np.where(traits.waits, words, scoring.weighed(words, meaning, held)) if meaning.any() else words
    )
    ages = np.maximum(int(now.timestamp()) - traits.created, 0) // DAY
    fading = scoring.decay(ages, settings.DECAY_LAMBDA, settings.DECAY_FLOOR)
    decay = np.where(traits.evergreen, 1.0, fading)
    dated = bonuses(traits.days, question.times)
    own = combined * decay + dated
    if question.judged:
        near = traits.cosines if question.vectors else None
        keep = judgement.worth_hearing(
            question.subject, weights, near, held, traits.by_second, dated >= TIMELY
        )
        own = np.where(keep, own, 0.0)
    return Parts(words, meaning, traits.cosines, held, ages, decay, dated, own)


def bonuses(days: "np.ndarray", times: Times) -> "np.ndarray":
    """What each candidate gains by a time that the question names; 0 is the number of no date."""
    import numpy as np

    if not times.periods:
        return np.zeros(days.size)
    different, which = np.unique(days, return_inverse=True)
    gained = [times.bonus(date.fromordinal(day)) if day else 0.0 for day in different.tolist()]
    found: np.ndarray = np.array(gained)[which]
    return found


def lent_to(own: "np.ndarray", bests: Bests) -> "np.ndarray":
    """What neighbours and the day's best lend to each candidate that is worth hearing by itself."""
    import numpy as np

    return np.where(own > 0, bests.lent, 0.0)


def telling(parts: Parts, traits: Traits) -> "np.ndarray":
    """What each candidate gains by what it begins with, and loses where it only asks."""
    import numpy as np

    return np.where(parts.own > 0, OPENS * traits.opens - ASKS * traits.asks, 0.0)


def summed(parts: Parts, lent: "np.ndarray", told: "np.ndarray") -> "np.ndarray":
    """The whole score of every candidate."""
    import numpy as np

    return np.where(parts.own > 0, np.maximum(parts.own + lent + told, LEAST), 0.0)


def best(
    found: Columns, traits: Traits, parts: Parts, question: Question, top_k: int
) -> list[MemorySearchResult]:
    """The best candidates, if above zero; among equals the newer comes first."""
    import numpy as np

    lent, told = lent_to(parts.own, traits.neighbours.bests(parts.own)), telling(parts, traits)
    scores = summed(parts, lent, told)
    # English is judged by its meaning, other languages by what they have.
    by_meaning = question.subject.is_english & (parts.cosines > 0)
    matches = np.where(by_meaning, parts.cosines, np.maximum(parts.cosines, parts.held))
    worth = scores.tolist()
    order = sorted(
        leaders(scores, top_k),
        key=lambda at: (-worth[at], -found.created_at[at], found.source_key[at], found.position[at]),
    )[:top_k]
    # A column at a time: asking an array for one number takes as long as asking it for a hundred.
    columns = {
        "score": scores,
        "bm25_score": parts.words,
        "vector_score": parts.meaning,
        "age_in_days": parts.ages,
        "cosine": parts.cosines,
        "decay": parts.decay,
        "dated": parts.dated,
        "lent": lent,
        "told": told,
        "held": parts.held,
        "match": np.clip(matches, 0.0, 1.0),
    }
    return results(found, order, {name: column[order].tolist() for name, column in columns.items()})


def of_that_time(found: Columns, times: Times, now: datetime, top_k: int) -> list[MemorySearchResult]:
    """All of the time that was asked for: its logs as they were written, the newest first, then its chats."""

    def place(at: int) -> tuple[bool, str, str, int, int]:
        newest = "".join(chr(255 - ord(sign)) for sign in found.source_date[at] or "")
        is_log = found.source_type[at] == Source.DAILY_LOG
        return not is_log, newest, found.source_key[at], found.anchor[at] or 0, found.position[at]

    held = [day is not None and times.names(date.fromisoformat(day)) for day in found.source_date]
    order = sorted((at for at, is_held in enumerate(held) if is_held), key=place)[:top_k]
    worth = [
        LOG_OF_THE_TIME if found.source_type[at] == Source.DAILY_LOG else CHAT_OF_THE_TIME for at in order
    ]
    ages = [max(0, int(now.timestamp()) - found.created_at[at]) // DAY for at in order]
    return results(
        found, order, {"score": worth, "dated": worth, "age_in_days": ages, "match": [1.0] * len(order)}
    )


def results(found: Columns, order: Sequence[int], parts: dict[str, list[Any]]) -> list[MemorySearchResult]:
    """The candidates that stand there, with the parts of their scores; a part that is not given is none."""
    columns = list[Iterable[Any]]()
    for name, default in DEFAULTS.items():
        if name in parts:
            columns.append(parts[name])
        elif (source := "id" if name == "chunk_id" else name) in Columns._fields:
            columns.append(map(getattr(found, source).__getitem__, order))
        else:
            columns.append(repeat(default))
    # In their order and without names: a hundred of them are made for every message.
    return list(map(MemorySearchResult, *columns))


def leaders(scores: "np.ndarray", top_k: int) -> list[int]:
    """Where the `top_k` best scores above zero stand, in no order, with all that equal the last of them."""
    import numpy as np

    least = np.partition(scores, -top_k)[-top_k] if top_k < scores.size else 0.0
    places: list[int] = np.flatnonzero((scores > 0) & (scores >= least)).tolist()
    return places
