"""RFC-013's formulas, on plain numbers: BM25, normalising, weighing, decay."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

K1, B = 1.2, 0.75
BM25_WEIGHT, VECTOR_WEIGHT = 0.3, 0.7


def idf(total: int, holding: int) -> float:
    """How much a term tells that stands in `holding` of `total` chunks."""
    return math.log((total - holding + 0.5) / (holding + 0.5) + 1)


def bm25(counts: "np.ndarray", lengths: "np.ndarray", idfs: "np.ndarray", average: float) -> "np.ndarray":
    """One score a row of `counts` (chunks by terms)."""
    slowing = K1 * (1 - B + B * lengths / average) if average else lengths + K1
    scores: np.ndarray = (counts * (K1 + 1) / (counts + slowing[:, None])) @ idfs
    return scores


def normalised(scores: "np.ndarray") -> "np.ndarray":
    """Divided by the best score. When not even the best is above zero there is nothing to divide by."""
    best = scores.max(initial=0.0)
    return scores / best if best > 0 else scores


def weighed(words: "np.ndarray", meaning: "np.ndarray") -> "np.ndarray":
    """Both normalised parts of the score as one."""
    return BM25_WEIGHT * words + VECTOR_WEIGHT * meaning


def decay(age_in_days: "np.ndarray", rate: float, floor: float) -> "np.ndarray":
    """From 1 today towards the floor; with floor 0 this is the RFC's own e^(-rate * days)."""
    import numpy as np

    kept: np.ndarray = floor + (1 - floor) * np.exp(-rate * np.maximum(age_in_days, 0))
    return kept
