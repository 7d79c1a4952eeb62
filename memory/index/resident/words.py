"""Postings: for each term the rows that hold it, and how often."""

from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


class Words:
    """Packed once, when all rows are there; rows that come later are kept beside, term by term."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        # Until they are packed: the row and the term of every word, in the order in which they came.
        self._rows, self._terms = array("i"), array("i")
        self._starts: np.ndarray | None = None
        self._packed_rows: np.ndarray
        self._packed_counts: np.ndarray
        self._later: dict[int, dict[int, int]] = {}

    def add(self, row: int, marked: str) -> None:
        """A row's terms, as MemoryIndex keeps them."""
        numbers = self.numbers
        found = [numbers.setdefault(term, len(numbers)) for term in marked.split()]
        if self._starts is None:
            self._rows.extend([row] * len(found))
            self._terms.extend(found)
            return
        for term in found:
            rows = self._later.setdefault(term, {})
            rows[row] = rows.get(row, 0) + 1

    def pack(self) -> None:
        """All rows are there: sort their words by term. Rows come in order and stay so."""
        import numpy as np

        terms, rows = np.array(self._terms, dtype=np.int32), np.array(self._rows, dtype=np.int32)
        self._rows, self._terms = array("i"), array("i")
        order = np.argsort(terms, kind="stable")
        terms, rows = terms[order], rows[order]
        del order
        # A word said twice in a row stands twice, one after the other.
        first = np.ones(terms.size, dtype=bool)
        first[1:] = (terms[1:] != terms[:-1]) | (rows[1:] != rows[:-1])
        places = np.flatnonzero(first)
        self._packed_rows = rows[places]
        self._packed_counts = np.diff(np.append(places, terms.size)).astype(np.uint16)
        self._starts = np.searchsorted(terms[places], np.arange(len(self.numbers) + 1)).astype(np.int64)

    def holding(self, marked: str) -> "tuple[np.ndarray, np.ndarray]":
        """The rows that hold a marked term, in order, and how often; rows that went are among them."""
        import numpy as np

        number = self.numbers.get(marked, -1)
        assert self._starts is not None
        if 0 <= number < self._starts.size - 1:
            part = slice(self._starts[number], self._starts[number + 1])
            rows, counts = self._packed_rows[part], self._packed_counts[part]
        else:
            rows, counts = np.empty(0, np.int32), np.empty(0, np.uint16)
        if later := self._later.get(number):
            rows = np.append(rows, np.fromiter(later.keys(), np.int32, len(later)))
            counts = np.append(counts, np.fromiter(later.values(), np.uint16, len(later)))
        return rows, counts

    @property
    def nbytes(self) -> int:
        packed = 0 if self._starts is None else self._packed_rows.nbytes + self._packed_counts.nbytes
        # A word of the vocabulary and its place in a dictionary take about so much.
        return packed + len(self.numbers) * 150 + len(self._rows) * 8
