"""How much of the index is made while somebody waits for a search; the rest is left to the worker."""

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# What a search in the web process reads and embeds: more would hold up everybody's pages.
FEW_CHARACTERS, FEW_ROWS = 20_000, 8
# What it embeds elsewhere, where nobody else waits for the interpreter.
ROWS = 32
# So long a search waits for another that reads the same files; then it reads them itself.
PATIENCE = 2.0
_turns = defaultdict[int, threading.Lock](threading.Lock)


@dataclass(slots=True)
class Portion:
    """What may still be done; `left` says that something was over."""

    rows: int = ROWS
    # Characters of files and messages; None is as many as there are.
    characters: int | None = None
    left: bool = False

    def takes(self, size: int) -> bool:
        """Whether a text of this size is read now; then the portion is smaller by it."""
        if not self.holds(size):
            self.left = True
            return False
        if self.characters is not None:
            self.characters -= size
        return True

    def holds(self, size: int) -> bool:
        """Whether there is room for a text of this size."""
        return self.characters is None or size <= self.characters

    @contextmanager
    def turn(self, owner_id: int, *, wait: bool) -> Iterator[bool]:
        """Whether this search is the one that brings somebody's index up to date now.

        Of several at once among pages one does, and the others go by what there is: they would read and embed
        the same. With `wait` they are to see it, and wait.
        """
        turn = _turns[owner_id]
        taken = self.characters is not None and turn.acquire(timeout=PATIENCE if wait else 0)
        try:
            yield taken or wait or self.characters is None
        finally:
            if taken:
                turn.release()


class _Process:
    serves_pages = False


def leave_to_worker() -> None:
    """From now on, searches in this process do a little of what is due: it serves pages, and has a worker."""
    _Process.serves_pages = True


def of_a_search() -> Portion:
    return Portion(FEW_ROWS, FEW_CHARACTERS) if _Process.serves_pages else Portion()
