"""How the cost of a piece of work grows with the text it is done on."""

import time
from collections.abc import Callable

# Below so much processor time nothing is said about how it grows.
NOTICED = 0.01
# Twice the text costs a linear piece of work twice as much, and a quadratic one four times.
MOST = 3.0


def seconds(work: Callable[[str], object], text: str) -> float:
    """Of the processor, which does not count what else the machine does."""
    began = time.process_time()
    work(text)
    return time.process_time() - began


def growth(work: Callable[[str], object], make: Callable[[int], str], size: int) -> float:
    """How many times the cost of a text half as long; 0 where it costs next to nothing."""
    if (whole := seconds(work, make(size))) < NOTICED:
        return 0.0
    half = seconds(work, make(size // 2))
    # A first impression may be wrong; what looks bad is looked at again.
    for _ in range(5):
        if whole / half <= MOST:
            break
        whole = min(whole, seconds(work, make(size)))
        half = max(half, seconds(work, make(size // 2)))
    return whole / half
