"""The time that a flush has."""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Time:
    """What is left for a flush, and the sign of life to give before each long step."""

    until: float
    renew: Callable[[], object] = lambda: None

    @classmethod
    def of(cls, seconds: float, renew: Callable[[], object] = lambda: None) -> "Time":
        return cls(time.monotonic() + seconds, renew)

    @property
    def left(self) -> float:
        return self.until - time.monotonic()
