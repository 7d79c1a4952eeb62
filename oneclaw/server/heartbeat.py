"""The worker's sign of life: a file that the cluster's guard touches while it goes round."""

import time
from pathlib import Path

from django.conf import settings
from django_q.brokers.orm import ORM

EVERY = 5.0
# A guard that is busy starting a worker again may miss a few beats.
LATE_AFTER = 60.0


class Broker(ORM):
    """django-q2's ORM broker; the status that the guard saves on each round becomes the heartbeat."""

    beaten_at = 0.0

    def set_stat(self, key: str, value: str, timeout: int) -> None:
        now = time.monotonic()
        if now - self.beaten_at >= EVERY:
            self.beaten_at = now
            beat()


def file() -> Path:
    return Path(settings.DATA_DIR) / "worker.beat"


def beat() -> None:
    file().touch()


def age() -> float | None:
    """Seconds since the last beat; None when there never was one."""
    try:
        # One from the future is of a clock that was set back: it says as little as an old one.
        return abs(time.time() - file().stat().st_mtime)
    except FileNotFoundError:
        return None


def is_alive() -> bool:
    seconds = age()
    return seconds is not None and seconds < LATE_AFTER
