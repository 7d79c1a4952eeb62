"""The book of flushes and compactions: what asked, what it cost, how it ended."""

import logging
from datetime import timedelta
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from memory.models import LedgerEntry
from people.models import User

logger = logging.getLogger(__name__)

KEPT = 500  # rows a user
DETAIL_CHARS = 1_000
ABANDONED = timedelta(minutes=30)

Kind, Trigger, Outcome = LedgerEntry.Kind, LedgerEntry.Trigger, LedgerEntry.Outcome


def start(
    user: User, kind: str, trigger: str, session_id: UUID | None = None, **known: object
) -> LedgerEntry:
    """A new row, running. The caller holds the claim, so an older running row is of a dead process."""
    _close(LedgerEntry.objects.filter(owner=user, kind=kind, session_id=session_id))
    return LedgerEntry.objects.create(owner=user, kind=kind, trigger=trigger, session_id=session_id, **known)


def close_abandoned() -> int:
    """Rows that still say running long after the worker's time limit."""
    return _close(LedgerEntry.objects.filter(started_at__lt=timezone.now() - ABANDONED))


def _close(rows: QuerySet[LedgerEntry]) -> int:
    return rows.filter(outcome=Outcome.RUNNING).update(
        outcome=Outcome.FAILED,
        detail="The server stopped in the middle. Nothing was lost; it is done again by the next trigger.",
        finished_at=timezone.now(),
    )


def finish(entry: LedgerEntry, outcome: str, detail: str = "", **known: object) -> LedgerEntry:
    """How it ended; the oldest rows beyond the bound go."""
    entry.outcome, entry.detail, entry.finished_at = outcome, detail[:DETAIL_CHARS], timezone.now()
    for name, value in known.items():
        setattr(entry, name, value)
    entry.save()
    if outcome == Outcome.FAILED:
        logger.warning("Memory %s failed: %s", entry.kind, entry.detail)
    prune(entry.owner)
    return entry


def prune(user: User, keep: int = KEPT) -> int:
    edge = LedgerEntry.objects.filter(owner=user).values_list("id", flat=True)[keep : keep + 1]
    limit = next(iter(edge), None)
    if limit is None:
        return 0
    return LedgerEntry.objects.filter(owner=user, id__lte=limit).delete()[0]


def recent(user: User, limit: int = 50) -> QuerySet[LedgerEntry]:
    return LedgerEntry.objects.filter(owner=user)[:limit]


def last(user: User, kind: str) -> LedgerEntry | None:
    return LedgerEntry.objects.filter(owner=user, kind=kind).first()
