"""A rebuild of the index that a page asked for: run by the worker, watched from the page."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from memory.jobs import claims, progress
from memory.models import Rebuild
from people.models import User

logger = logging.getLogger(__name__)

KEY = "rebuild"
LABEL, PAGE = "Rebuilding the search index", "memory:stats"


@dataclass(frozen=True, slots=True)
class RebuildState:
    running: bool
    done: int = 0
    total: int = 0
    finished: datetime | None = None
    error: str = ""


def state(user: User) -> RebuildState:
    """How a rebuild is; one that neither goes on nor came to its end was interrupted."""
    row = Rebuild.objects.filter(owner=user).first()
    going_on = progress.of(user, KEY)
    if going_on or claims.waiting(claims.rebuild_index(user)):
        return RebuildState(True, *((going_on.done, going_on.total) if going_on else ()))
    if row is None:
        return RebuildState(False)
    if row.finished_at is None:
        return RebuildState(False, error="The rebuild was interrupted. Start it again.")
    return RebuildState(False, finished=row.finished_at, error=row.error)


def asked(user: User) -> None:
    """Show it from the moment it is asked for: the worker may be busy with something else."""
    progress.report(user, KEY, LABEL, page=PAGE)


def run(user: User, rebuild: Callable[[progress.Note], None]) -> str:
    """Run `rebuild`, noting its progress now and then; searches go on answering meanwhile."""
    error = ""
    with progress.shown(user, KEY, LABEL, page=PAGE) as note:
        Rebuild.objects.update_or_create(owner=user, defaults={"error": "", "finished_at": None})
        try:
            rebuild(note)
        except Exception as fault:
            logger.exception("The index could not be rebuilt")
            error = f"The index could not be rebuilt: {fault}"
        Rebuild.objects.filter(owner=user).update(finished_at=timezone.now(), error=error)
    return error or "Rebuilt."
