"""Neighbours lend: what stands beside a good hit is often its other half.

A question finds the line "we went to Lisbon", and the line after it says with whom. On the development
conversations lending is worth two points of recall at five and one to two of the block.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

# A line or message gains this share of the best score within two lines or messages of its source,
NEAR, NEAR_SHARE = 2, 0.3
# and this share of the best score of its source and day.
DAY_SHARE = 0.4


def lent(
    scores: "np.ndarray", keys: Sequence[str], days: Sequence[str | None], places: "np.ndarray"
) -> "np.ndarray":
    """What each hit is lent. `places` counts the lines or messages of each source, named by `keys`."""
    return NEAR_SHARE * beside(scores, keys, places) + DAY_SHARE * of_the_day(scores, keys, days)


def beside(scores: "np.ndarray", keys: Sequence[str], places: "np.ndarray") -> "np.ndarray":
    """The best score within two places of each hit, in the same source."""
    import numpy as np

    sources = numbered(keys)
    order = np.lexsort((places, sources))
    best = np.zeros(scores.size)
    for step in range(1, min(NEAR, scores.size - 1) + 1):
        one, other = order[:-step], order[step:]
        near = (sources[one] == sources[other]) & (places[other] - places[one] <= NEAR)
        np.maximum.at(best, one[near], scores[other[near]])
        np.maximum.at(best, other[near], scores[one[near]])
    return best


def of_the_day(scores: "np.ndarray", keys: Sequence[str], days: Sequence[str | None]) -> "np.ndarray":
    """The best score of each hit's source and day, its own included. What has no date stands for itself."""
    import numpy as np

    groups = numbered(
        [(key, day) if day else at for at, (key, day) in enumerate(zip(keys, days, strict=True))]
    )
    best = np.zeros(scores.size)
    np.maximum.at(best, groups, scores)
    mine: np.ndarray = best[groups]
    return mine


def numbered(names: "Sequence[object]") -> "np.ndarray":
    """The same number for the same name."""
    import numpy as np

    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=int)
