"""Vectors as bytes and as sign bits.

Full vectors stay in MemoryIndex for the score. Sign bits only choose candidates: they take a thirtieth of the
room and time, and the 200 nearest by bits hold nearly all of the true nearest.
"""

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from memory.models import Source

if TYPE_CHECKING:
    import numpy as np

# What the tables of vectors know of sources; the numbers must never change.
SOURCE_NUMBERS = {Source.DAILY_LOG: 0, Source.LONG_TERM: 1, Source.TRANSCRIPT: 2}

# A chunk's id, source, date and vector.
ListedVector = tuple[int, str, date | None, "np.ndarray"]


def to_bytes(vector: "np.ndarray") -> bytes:
    return vector.astype("<f4").tobytes()


def from_bytes(data: bytes | memoryview) -> "np.ndarray":
    import numpy as np

    return np.frombuffer(data, dtype="<f4")


def bits(vector: "np.ndarray") -> bytes:
    import numpy as np

    return np.packbits(vector > 0, bitorder="little").tobytes()


def number(day: date | None) -> int:
    """A date as a number; what has no date is before all dates."""
    return day.toordinal() if day else 0


def by_length(rows: Sequence[ListedVector]) -> "dict[int, list[tuple[int, int, int, np.ndarray]]]":
    """Rows as the tables of vectors have them, a table for each length: id, source, day and vector."""
    found: dict[int, list[tuple[int, int, int, np.ndarray]]] = {}
    for id, source, day, vector in rows:
        found.setdefault(len(vector), []).append((id, SOURCE_NUMBERS[Source(source)], number(day), vector))
    return found
