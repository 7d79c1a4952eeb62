"""Vectors of one length in memory: sign bits to find the nearest, a byte a number to weigh them by."""

from functools import cache
from typing import TYPE_CHECKING

from memory.index.resident.arrays import Growing

if TYPE_CHECKING:
    import numpy as np

WORD = 64
# In more vectors than this, half of the signs are compared first.
HALVED = 20_000
# Compared so many at a time: what a processor keeps close.
BLOCK = 32_768
SAMPLED, FEW = 16, 256
NOBODY = -1


class Vectors:
    """A slot for each vector, which knows its row; the slot of a row that went is nobody's."""

    def __init__(self, size: int, room: int) -> None:
        self.size = size
        self.signs = [Growing("u8", room=room) for _ in range(-(-size // WORD))]
        self.bytes = Growing("i1", size, room=room)
        self.steps = Growing("f4", room=room)
        self.rows = Growing("i4", room=room)
        self.left = 0
        # Whether slots and rows are the same numbers, as they are when all was read at once.
        self.in_order = True

    def add(self, rows: "np.ndarray", vectors: "np.ndarray") -> "np.ndarray":
        """Slots for these rows' vectors, which are finite."""
        import numpy as np

        steps = np.maximum(np.abs(vectors).max(axis=1), 1e-9) / 127
        first = self.rows.size
        self.in_order = self.in_order and bool((rows == np.arange(first, first + rows.size)).all())
        self.rows.add(rows)
        self.steps.add(steps)
        self.bytes.add(np.rint(vectors / steps[:, None]))
        for bits, word in zip(self.signs, signs_of(vectors).T, strict=True):
            bits.add(word)
        return np.arange(first, self.rows.size)

    def leave(self, slot: int) -> None:
        self.rows.filled[slot] = NOBODY
        self.left += 1

    def by_signs(self, vector: "np.ndarray") -> "np.ndarray":
        """About the cosine of every slot, from the signs in common; where slots are many, by half of them."""
        import numpy as np

        asked, words = signs_of(vector[None, :])[0], spoken(vector)
        if self.is_halved:
            words = words[: len(words) // 2]
        kind = np.uint8 if len(words) * WORD < 256 else np.uint16
        cosine = cosines_of_signs(len(words) * WORD)
        about = np.empty(self.rows.size, dtype=np.float32)
        # In the same small room for all: asking for a new one takes longer than the work.
        room = min(about.size, BLOCK)
        differing, few = np.empty(room, np.uint64), np.empty(room, np.uint8)
        apart: np.ndarray = np.empty(room, kind)
        for start in range(0, about.size, BLOCK):
            part = slice(start, start + BLOCK)
            if (size := about[part].size) < room:
                differing, few, apart = differing[:size], few[:size], apart[:size]
            apart.fill(0)
            for number in words:
                np.bitwise_xor(self.signs[number].filled[part], asked[number], out=differing)
                np.add(apart, np.bitwise_count(differing, out=few), out=apart)
            cosine.take(apart, out=about[part], mode="clip")
        return about

    def by_all_signs(self, slots: "np.ndarray", vector: "np.ndarray") -> "np.ndarray":
        """The same for some slots, by all of their signs."""
        import numpy as np

        asked, words = signs_of(vector[None, :])[0], spoken(vector)
        apart: np.ndarray = np.zeros(slots.size, dtype=np.uint16)
        for number in words:
            apart += np.bitwise_count(self.signs[number].filled.take(slots) ^ asked[number])
        about: np.ndarray = cosines_of_signs(len(words) * WORD).take(apart)
        return about

    @property
    def is_halved(self) -> bool:
        """Whether `by_signs` compares half of the signs."""
        return self.rows.size > HALVED

    def cosines(self, slots: "np.ndarray", vector: "np.ndarray") -> "np.ndarray":
        """Nearly the cosines: a byte for a number errs by about 0.0005, and hardly ever by 0.002."""
        import numpy as np

        found = np.empty(slots.size, dtype=np.float32)
        # A few at a time, in the same small room: asking for a large one takes longer than the work.
        wide = np.empty((min(FEW, slots.size), self.size), np.float32)
        for start in range(0, slots.size, FEW):
            part = slots[start : start + FEW]
            wide[: part.size] = self.bytes.filled.take(part, axis=0)
            np.vecdot(wide[: part.size], vector, out=found[start : start + part.size])
        found *= self.steps.filled[slots]
        return found

    @property
    def nbytes(self) -> int:
        return sum(one.nbytes for one in (*self.signs, self.bytes, self.steps, self.rows))


def signs_of(vectors: "np.ndarray") -> "np.ndarray":
    """The signs as bits, 64 in a number; a length that is no multiple of 64 is filled up with nothing."""
    import numpy as np

    packed = np.packbits(vectors > 0, axis=1, bitorder="little")
    if missing := -packed.shape[1] % 8:
        packed = np.pad(packed, ((0, 0), (0, missing)))
    return np.ascontiguousarray(packed).view(np.uint64)


def spoken(vector: "np.ndarray") -> list[int]:
    """Which words of signs say anything: a part of the vector that is not asked for is all zeros."""
    import numpy as np

    parts: list[int] = np.flatnonzero(
        np.logical_or.reduceat(vector != 0, range(0, vector.size, WORD))
    ).tolist()
    return parts


@cache
def cosines_of_signs(count: int) -> "np.ndarray":
    """About the cosine of two vectors, by how many of so many signs differ."""
    import numpy as np

    cosines: np.ndarray = np.cos(np.arange(count + 1) * (np.pi / count)).astype(np.float32)
    return cosines


def largest(scores: "np.ndarray", k: int) -> "np.ndarray":
    """Where at least the `k` largest stand."""
    import numpy as np

    if scores.size <= k:
        return np.arange(scores.size)
    if scores.size > 2 * SAMPLED * k:
        # Sorting all takes longer than comparing them: some tell about where the line is.
        some = scores[::SAMPLED]
        few = 3 * k // (2 * SAMPLED)
        found = np.flatnonzero(scores >= np.partition(some, -few)[-few])
        if k <= found.size <= 4 * k:
            return found
    return np.flatnonzero(scores >= np.partition(scores, -k)[-k])
