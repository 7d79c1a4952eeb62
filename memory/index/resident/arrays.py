"""Arrays that grow at their end."""

from typing import Any

# Room for a few more rows is kept, so that one more does not move all others.
SPARE = 1000


class Growing:
    """An array of rows with room for more; `filled` is the part in use, and may be written to."""

    def __init__(self, kind: str, *shape: int, room: int = 0) -> None:
        import numpy as np

        self._all = np.empty((room + SPARE, *shape), dtype=kind)
        self.size = 0
        # Kept, not cut anew whenever it is asked for: a search asks some eighty times.
        self.filled: np.ndarray = self._all[:0]

    @property
    def nbytes(self) -> int:
        return self._all.nbytes

    def add(self, rows: Any) -> None:
        import numpy as np

        end = self.size + len(rows)
        if end > len(self._all):
            larger = np.empty((end + end // 10 + SPARE, *self._all.shape[1:]), dtype=self._all.dtype)
            larger[: self.size] = self.filled
            self._all = larger
        self._all[self.size : end] = rows
        self.size = end
        self.filled = self._all[:end]
