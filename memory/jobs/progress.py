"""Long work that goes on for a user, and how far it is: every page shows it while it lasts.

    with progress.shown(user, "import", "Importing chats", page="connect:import") as note:
        for done, chat in enumerate(chats):
            note(done, len(chats))

`page` names the address where more is told. A row that has not moved for a while is a dead process's.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from django.db import OperationalError
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from memory.models import WorkInProgress
from people.models import User

logger = logging.getLogger(__name__)

# Longer than one call to a model may take: between two of them nothing moves.
STALE = timedelta(minutes=5)
STEP = 0.5  # seconds between two notes of progress

Note = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of work as a page shows it; with no total, nobody knows how much is left."""

    key: str
    label: str
    done: int = 0
    total: int = 0
    url: str = ""


def report(user: User, key: str, label: str, done: int = 0, total: int = 0, *, page: str = "") -> None:
    """Say that this work goes on, and how far it is."""
    values = {"label": label, "done": max(0, done), "total": max(0, total), "page": page}
    WorkInProgress.objects.update_or_create(
        owner=user, key=key, defaults={**values, "moved_at": timezone.now()}
    )


def finished(user: User, key: str) -> None:
    """Say that this work goes on no more, however it ended."""
    WorkInProgress.objects.filter(owner=user, key=key).delete()


@contextmanager
def shown(user: User, key: str, label: str, *, page: str = "") -> Iterator[Note]:
    """Show this work while the block runs; what it gives is called with done and total, however often."""
    last = 0.0

    def note(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last < STEP:
            return
        last = time.monotonic()
        try:
            report(user, key, label, done, total, page=page)
        except OperationalError:
            # A busy database is no reason to give up the work itself.
            logger.warning("How far %s is could not be noted", key, exc_info=True)

    note(0, 0)
    last = 0.0
    try:
        yield note
    finally:
        finished(user, key)


def current(user: User) -> list[Work]:
    """What goes on for this user now, the oldest first."""
    rows = WorkInProgress.objects.filter(owner=user, moved_at__gt=timezone.now() - STALE)
    return [Work(row.key, row.label, row.done, row.total, _address(row.page)) for row in rows]


def of(user: User, key: str) -> Work | None:
    """One piece of work, if it goes on."""
    return next((work for work in current(user) if work.key == key), None)


def clear() -> None:
    """When the worker starts nothing goes on yet; what another process does comes back with its next note."""
    WorkInProgress.objects.all().delete()


def _address(page: str) -> str:
    """A page that an update took away is no reason to fail every other."""
    try:
        return reverse(page) if page else ""
    except NoReverseMatch:
        return ""
