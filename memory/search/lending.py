"""Neighbours lend: what stands beside a good hit is often its other half.

A question finds the line "we went to Lisbon", and the line after it says with whom. On the development
conversations lending is worth two points of recall at five and one to two of the block.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

# A line or message gains this share of the best score within two lines or messages of its source,
NEAR, NEAR_SHARE = 2, 0.3
# this share of the best score of its source and day,
DAY_SHARE = 0.4
# and this share of the best score of its day, wherever that stands: a day's log and its chats say the same.
ANY_SOURCE_SHARE = 0.1
# All that can be lent, as a share of the lender's score.
MOST = NEAR_SHARE + DAY_SHARE + ANY_SOURCE_SHARE


class Bests(NamedTuple):
    """For each hit the best score beside it, of its source and day, and of its day."""

    beside: "np.ndarray"
    talk: "np.ndarray"
    day: "np.ndarray"

    @property
    def lent(self) -> "np.ndarray":
        """What each hit is lent."""
        return NEAR_SHARE * self.beside + DAY_SHARE * self.talk + ANY_SOURCE_SHARE * self.day


class Groups(NamedTuple):
    """Where hits stand, as numbers: whoever finds them has or makes these."""

    # A source in the upper half, a place there in the lower one.
    places: "np.ndarray"
    # The same number for hits of the same source and day, and of the same day anywhere; one of its own for
    # each without a date.
    talks: "np.ndarray"
    days: "np.ndarray"

    @classmethod
    def of(cls, sources: "np.ndarray", days: "np.ndarray", places: "np.ndarray") -> "Groups":
        """From numbers of sources, of dates (0 for none), and of places in a source."""
        import numpy as np

        alone, wide = -1 - np.arange(sources.size), sources.astype(np.int64) << 32
        talks = numbered(np.where(days > 0, wide | days, alone))
        return cls(wide + places, talks, numbered(np.where(days > 0, days, alone)))


class Neighbours:
    """Who stands beside whom."""

    def __init__(self, groups: Groups) -> None:
        import numpy as np

        places, self.talks, self.days = groups
        self.size = places.size
        order = places.argsort()
        sorted_places = places[order]
        # Pairs of hits within two places of each other in the same source.
        ones, others = list[np.ndarray](), list[np.ndarray]()
        for step in range(1, min(NEAR, self.size - 1) + 1):
            near = (sorted_places[step:] - sorted_places[:-step] <= NEAR).nonzero()[0]
            one, other = order[near], order[near + step]
            ones += [one, other]
            others += [other, one]
        self.ones = np.concatenate(ones) if ones else order[:0]
        self.others = np.concatenate(others) if others else order[:0]

    def beside(self, scores: "np.ndarray") -> "np.ndarray":
        """The best score within two places of each hit, in the same source."""
        import numpy as np

        best = np.zeros(self.size)
        np.maximum.at(best, self.ones, scores[self.others])
        return best

    def best_of(self, scores: "np.ndarray", groups: "np.ndarray") -> "np.ndarray":
        """The best score of each hit's group, its own included: of its talk, or of its day."""
        import numpy as np

        best = np.zeros(int(groups.max(initial=0)) + 1)
        np.maximum.at(best, groups, scores)
        mine: np.ndarray = best[groups]
        return mine

    def bests(self, scores: "np.ndarray") -> "Bests":
        return Bests(self.beside(scores), self.best_of(scores, self.talks), self.best_of(scores, self.days))


def numbered(names: "np.ndarray") -> "np.ndarray":
    """The same number for the same name, from 0 on."""
    import numpy as np

    order = np.argsort(names)
    first = np.ones(names.size, dtype=int)
    first[1:] = names[order[1:]] != names[order[:-1]]
    numbers = np.empty(names.size, dtype=int)
    numbers[order] = np.cumsum(first) - 1
    return numbers
