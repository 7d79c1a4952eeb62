"""The ledger of flushes, compactions and writes from outside: what asked, what it cost, how it ended."""

import logging
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from memory.jobs import claims
from memory.models import LedgerEntry
from oneclaw.server import measures
from people.models import User

logger = logging.getLogger(__name__)

KEPT = 500  # rows a user
DETAIL_CHARS = 1_000
ABANDONED = timedelta(minutes=30)

Kind, Trigger, Outcome = LedgerEntry.Kind, LedgerEntry.Trigger, LedgerEntry.Outcome


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens that models read and wrote; None where no provider said."""

    input_tokens: int | None = None
    output_tokens: int | None = None

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            _added(self.input_tokens, other.input_tokens), _added(self.output_tokens, other.output_tokens)
        )


FREE = Cost()
# Failures after which it is no passing fault.
IN_A_ROW = 3


def _added(one: int | None, other: int | None) -> int | None:
    return other if one is None else one + (other or 0)


def start(
    user: User, kind: str, trigger: str, session_id: UUID | None = None, model_name: str = ""
) -> LedgerEntry:
    """Open a row as running. The caller holds the claim, so an older running row is a dead process's."""
    _close(LedgerEntry.objects.filter(owner=user, kind=kind, session_id=session_id))
    return LedgerEntry.objects.create(
        owner=user, kind=kind, trigger=trigger, session_id=session_id, model_name=model_name
    )


def close_abandoned() -> int:
    """Close rows that still say running long after the worker's time limit."""
    return _close(LedgerEntry.objects.filter(started_at__lt=timezone.now() - ABANDONED))


def close_interrupted() -> int:
    """Close rows whose process died at work, which is known at once if its claim names it."""
    running = LedgerEntry.objects.filter(outcome=Outcome.RUNNING).select_related("owner")
    dead = [row.pk for row in running if claims.is_orphaned(_claim(row))]
    return _close(LedgerEntry.objects.filter(pk__in=dead))


def _claim(entry: LedgerEntry) -> str:
    """What is held while the work of a row goes on."""
    if entry.kind == Kind.FLUSH:
        return claims.flush(str(entry.session_id))
    return claims.compacting(entry.owner)


def _close(rows: QuerySet[LedgerEntry]) -> int:
    running = rows.filter(outcome=Outcome.RUNNING)
    kinds = Counter(running.order_by().values_list("kind", flat=True))
    if not kinds:
        return 0
    for kind, number in kinds.items():
        measures.add("memory_runs", kind, Outcome.FAILED, number=number)
    return running.update(
        outcome=Outcome.FAILED,
        detail="OneClaw stopped before this was done. Nothing was lost; it will be retried later.",
        finished_at=timezone.now(),
    )


def finish(
    entry: LedgerEntry, outcome: str, detail: str = "", cost: Cost = FREE, message_count: int = 0
) -> LedgerEntry:
    """Close a row with its outcome; the oldest rows beyond the limit are deleted."""
    entry.outcome, entry.detail, entry.finished_at = outcome, detail[:DETAIL_CHARS], timezone.now()
    entry.input_tokens, entry.output_tokens = cost.input_tokens, cost.output_tokens
    entry.message_count = message_count
    entry.save()
    measures.add("memory_runs", entry.kind, outcome)
    if outcome == Outcome.FAILED:
        logger.warning("Memory %s failed: %s", entry.kind, entry.detail)
    prune(entry.owner)
    return entry


def note(user: User, kind: str, trigger: str, detail: str) -> LedgerEntry:
    """A row for something that was written at once."""
    now = timezone.now()
    row = LedgerEntry.objects.create(
        owner=user,
        kind=kind,
        trigger=trigger,
        outcome=Outcome.WRITTEN,
        detail=detail[:DETAIL_CHARS],
        started_at=now,
        finished_at=now,
    )
    measures.add("memory_runs", kind, row.outcome)
    prune(user)
    return row


def reason(error: Exception, *told: type[Exception]) -> str:
    """Why something failed, in a sentence: the error's own if it is one of those that speak to the user."""
    if isinstance(error, told):
        return str(error)
    logger.error("Work on memory failed", exc_info=error)
    return f"Something went wrong: {str(error) or type(error).__name__}. See the server's log for details."


def prune(user: User, keep: int = KEPT) -> int:
    edge = LedgerEntry.objects.filter(owner=user).values_list("id", flat=True)[keep : keep + 1]
    limit = next(iter(edge), None)
    if limit is None:
        return 0
    return LedgerEntry.objects.filter(owner=user, id__lte=limit).delete()[0]


def failing(user: User) -> LedgerEntry | None:
    """The newest of three flushes in a row that failed; None as long as memory gets written."""
    done = LedgerEntry.objects.filter(owner=user, kind=Kind.FLUSH)
    rows = list(done.exclude(outcome__in=[Outcome.RUNNING, Outcome.NOTHING])[:IN_A_ROW])
    failed = len(rows) == IN_A_ROW and all(row.outcome == Outcome.FAILED for row in rows)
    return rows[0] if failed else None


def anybody_failing() -> bool:
    """Whether somebody's memory has not been written three times in a row."""
    failed = LedgerEntry.objects.filter(kind=Kind.FLUSH, outcome=Outcome.FAILED)
    owners = User.objects.filter(is_active=True, id__in=failed.values("owner_id"))
    return any(failing(user) for user in owners)


def recent(user: User, limit: int = 50) -> QuerySet[LedgerEntry]:
    return LedgerEntry.objects.filter(owner=user)[:limit]


def last(user: User, kind: str) -> LedgerEntry | None:
    return LedgerEntry.objects.filter(owner=user, kind=kind).first()
