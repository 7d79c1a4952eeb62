"""Deadlines: how long a piece of work may take, and signs of life on the way."""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """When work has to end, and the sign of life to give before each long step."""

    until: float
    renew: Callable[[], object] = lambda: None

    @classmethod
    def of(cls, seconds: float, renew: Callable[[], object] = lambda: None) -> "Deadline":
        return cls(time.monotonic() + seconds, renew)

    @property
    def left(self) -> float:
        return self.until - time.monotonic()
