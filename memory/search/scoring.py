"""RFC-013's formulas, on plain numbers: BM25, normalising, weighing, decay."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

K1, B = 1.2, 0.75
BM25_WEIGHT, VECTOR_WEIGHT = 0.3, 0.7
# Added to the RFC's two: the share of the question's subject that a chunk holds. BM25 is divided by the best
# of its kind, so it can't tell a chunk with all that was asked for from the best of those with half of it.
HELD_WEIGHT = 0.2


def idf(total: int, holding: int) -> float:
    """How much a term tells that stands in `holding` of `total` chunks."""
    return math.log((total - holding + 0.5) / (holding + 0.5) + 1)


def bm25(counts: "np.ndarray", lengths: "np.ndarray", idfs: "np.ndarray", average: float) -> "np.ndarray":
    """One score a row of `counts` (chunks by terms)."""
    scores: np.ndarray = saturated(counts, lengths[:, None], average) @ idfs
    return scores


def saturated(counts: "np.ndarray", lengths: "np.ndarray", average: float) -> "np.ndarray":
    """What a term's counts are worth in chunks of these lengths, before how much the term tells."""
    slowing = K1 * (1 - B + B * lengths / average) if average else lengths + K1
    worth: np.ndarray = counts * (K1 + 1) / (counts + slowing)
    return worth


def normalised(scores: "np.ndarray") -> "np.ndarray":
    """Divided by the best score. When not even the best is above zero there is nothing to divide by."""
    best = scores.max(initial=0.0)
    return scores / best if best > 0 else scores


def weighed(words: "np.ndarray", meaning: "np.ndarray", held: "np.ndarray") -> "np.ndarray":
    """Both normalised parts of the score as one, and what is held of the subject."""
    return BM25_WEIGHT * words + VECTOR_WEIGHT * meaning + HELD_WEIGHT * held


def decay(age_in_days: "np.ndarray", rate: float, floor: float) -> "np.ndarray":
    """From 1 today towards the floor; with floor 0 this is the RFC's own e^(-rate * days)."""
    import numpy as np

    kept: np.ndarray = floor + (1 - floor) * np.exp(-rate * np.maximum(age_in_days, 0))
    return kept
