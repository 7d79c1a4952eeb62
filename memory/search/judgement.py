"""Whether memory has anything to say to a message, and which hits are worth hearing.

Scores are divided by their own best, so something always looks good. Here the judgement is absolute: how near
the best hit is in meaning, how much of what the message is about memory knows at all, and, where the model
can't read the language or there is none, how many of its words one hit holds.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.search import scoring
from memory.search.languages import Subject

if TYPE_CHECKING:
    import numpy as np

# The best raw cosine that a memory of ten chunks must reach, and what every tenfold size adds: the more there
# is to choose from, the nearer comes the best of what has nothing to do with the message.
NEAR, NEAR_A_DECADE, NEAREST = 0.34, 0.06, 0.5
# Added where memory has never heard the words that the message is about. A small memory knows few words.
UNHEARD, HEARD_ALL = 0.15, 1000
# Added where one of those words is a name: whom memory has never heard of, it can't know.
STRANGER = 0.03
# MiniLM reads English. In another language of the same letters its cosines run higher.
FOREIGN = 0.12
# A single hit may be this much farther than the best must be; it costs no evidence on the development set.
HIT_FLOOR = 0.20
# The model for other languages has cosines of its own: half of those of English, and what has nothing to do
# with a memory comes nearly as near as what has. So it also counts whether the message is about the one who
# asks. English that is not has a model of its own, and is heard less readily by this one.
SECOND_NEAR, SECOND_A_DECADE, SECOND_HIT = 0.17, 0.03, 0.10
SECOND_PERSONAL, SECOND_ENGLISH = -0.04, 0.03
# A hit of the very time that the message names has that in its favour.
TIMELY_FLOOR = 0.30
# The share of the message's subject, by weight, that one hit must hold where words decide. Where a language's
# small words are not known, they are taken for a part of the subject.
WORDS, ANY_WORDS = 0.35, 0.25


@dataclass(frozen=True, slots=True)
class Weights:
    """What each term of a subject tells, by how many chunks hold it."""

    # How many chunks hold each of the question's terms, and how many there are.
    holding: dict[str, int]
    chunks: int
    known: dict[str, float]
    unknown: float
    # Whether a name is among what memory has never heard.
    stranger: bool = False

    @property
    def whole(self) -> float:
        return sum(self.known.values()) + self.unknown

    @property
    def share_known(self) -> float:
        return sum(self.known.values()) / self.whole if self.whole else 0.0


def weights(subject: Subject, holding: dict[str, int], chunks: int) -> Weights:
    # A word that was never heard tells as much as one heard once, or it would outweigh all in a small memory.
    told = {term: scoring.idf(chunks, max(1, holding.get(term, 0))) for term in subject.terms}
    known = {term: weight for term, weight in told.items() if holding.get(term)}
    stranger = any(name not in known for name in subject.names)
    return Weights(holding, chunks, known, sum(told.values()) - sum(known.values()), stranger)


def held(weights: Weights, counts: "dict[str, np.ndarray]", size: int) -> "np.ndarray":
    """The share of the subject, by weight, that each of `size` hits holds."""
    import numpy as np

    found = np.zeros(size)
    for term, weight in weights.known.items():
        found += weight * (counts[term] > 0)
    return found / weights.whole if weights.whole else found


def near_enough(subject: Subject, weights: Weights) -> float:
    """The raw cosine that the best hit must reach."""
    size = math.log10(max(weights.chunks, 1))
    least = min(NEAREST, NEAR + NEAR_A_DECADE * (size - 1))
    unheard = UNHEARD * min(1.0, size / math.log10(HEARD_ALL)) * (1 - weights.share_known)
    # German has capitals everywhere, and is asked for more anyway.
    more = STRANGER * weights.stranger if subject.is_english else FOREIGN
    return least + unheard + more


def near_by_second(subject: Subject, weights: Weights) -> float:
    """The cosine by the model for other languages that the best hit must reach."""
    least = SECOND_NEAR + SECOND_A_DECADE * (math.log10(max(weights.chunks, 10)) - 1)
    if subject.is_personal:
        return least + SECOND_PERSONAL
    return least + SECOND_ENGLISH * subject.is_english


def worth_hearing(
    subject: Subject,
    weights: Weights,
    cosines: "np.ndarray | None",
    held: "np.ndarray",
    by_second: "np.ndarray | None" = None,
    timely: "np.ndarray | None" = None,
) -> "np.ndarray":
    """Which hits to keep: none where memory has nothing to say.

    `cosines` are raw, None without vectors; `held` is the share of the subject that each hit holds;
    `by_second` are the cosines of the model for other languages, 0 for hits that it has not read;
    `timely` are the hits of a time that the message names.
    """
    import numpy as np

    nothing = np.zeros(held.size, dtype=bool)
    if not subject.terms:
        return nothing
    enough = WORDS if subject.language else ANY_WORDS
    # Where the model can't read, its cosines mean nothing: there words decide, as they do without it.
    reads = cosines is not None and bool(subject.language) and not subject.is_paired
    keep = nothing
    if cosines is not None and reads and cosines.max(initial=0.0) >= near_enough(subject, weights):
        keep = (cosines >= HIT_FLOOR) | (held >= enough)
    if by_second is not None and by_second.max(initial=0.0) >= near_by_second(subject, weights):
        keep = keep | (by_second >= SECOND_HIT)
    words_decide = not reads or not subject.is_english
    if words_decide and held.max(initial=0.0) >= enough:
        keep = keep | (held >= enough / 2)
    if timely is not None and timely.any():
        near = timely & (held >= enough / 2)
        if cosines is not None and reads:
            near = near | (timely & (cosines >= TIMELY_FLOOR))
        keep = keep | near
    if subject.is_keywords and held.max(initial=0.0) >= 0.99:
        keep = keep | (held >= 0.99)
    return keep
