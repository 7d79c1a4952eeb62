"""A rebuild of the index that a page asked for: run by the worker, watched from the page."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from memory.index import backfill
from memory.jobs import claims
from memory.models import Rebuild
from people.models import User

logger = logging.getLogger(__name__)

STEP = 0.5  # seconds between two notes of progress
DEAD = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Progress:
    running: bool
    done: int = 0
    total: int = 0
    finished: datetime | None = None
    error: str = ""


def progress(user: User) -> Progress:
    """A rebuild's progress; one that has not moved for long counts as interrupted."""
    row = Rebuild.objects.filter(owner=user).first()
    if claims.waiting(claims.rebuild_index(user)):
        return Progress(running=True)
    if row is None:
        return Progress(running=False)
    if row.finished_at is None and row.moved_at < timezone.now() - DEAD:
        return Progress(False, row.done, row.total, None, "The rebuild was interrupted. Start it again.")
    return Progress(row.finished_at is None, row.done, row.total, row.finished_at, row.error)


def run(user: User, rebuild: Callable[[backfill.Progress], None]) -> str:
    """Run `rebuild`, noting its progress now and then; searches go on answering meanwhile."""
    Rebuild.objects.update_or_create(
        owner=user,
        defaults={"done": 0, "total": 0, "error": "", "finished_at": None, "moved_at": timezone.now()},
    )
    last = 0.0

    def note(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > STEP:
            last = time.monotonic()
            rows(user).update(done=done, total=total, moved_at=timezone.now())

    error = ""
    try:
        rebuild(note)
    except Exception as fault:
        logger.exception("The index could not be rebuilt")
        error = f"The index could not be rebuilt: {fault}"
    rows(user).update(finished_at=timezone.now(), error=error)
    return error or "Rebuilt."


def rows(user: User) -> QuerySet[Rebuild]:
    return Rebuild.objects.filter(owner=user)
