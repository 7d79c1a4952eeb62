"""Claims: one worker at a time for a piece of work, across threads and processes, without a lock."""

import os
import secrets
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from memory.models import Claim
from oneclaw.postgres import is_postgres
from oneclaw.server import presence
from people.models import User

# A holder renews before every call to a model, so one this old is gone.
STALE = timedelta(minutes=15)
# A request this old was lost with its queue, and may be made again.
FORGOTTEN = timedelta(minutes=10)
HOST = socket.gethostname()[:60]


# What there is to claim. Installed databases have rows with these keys, so the strings stay as they are.


def flush(session_id: UUID | str) -> str:
    """Writing one chat to the daily log."""
    return f"flush:{session_id}"


def flush_all(user: User) -> str:
    """Writing all of a user's chats to the daily log."""
    return f"all:{user.pk}"


def change_day(user: User) -> str:
    """What is due when a user's day has changed."""
    return f"day:{user.pk}"


def redo_day(user: User, day: date | str) -> str:
    """Summarising a day again."""
    return f"redo:{user.pk}:{day}"


def redo_highlights(user: User, day: date | str) -> str:
    """Summarising what a day's log only quotes."""
    return f"highlights:{user.pk}:{day}"


def compacting(user: User) -> str:
    """The model's work on MEMORY.md, whoever asked for it."""
    return f"compacting:{user.pk}"


def daily_compaction(user: User) -> str:
    """The one compaction a day that nobody asks for."""
    return f"compact:{user.pk}"


def manual_compaction(user: User) -> str:
    """A compaction that its user asked for."""
    return f"compact-now:{user.pk}"


def compaction_proposal(user: User) -> str:
    """A compaction that its user wants to see first."""
    return f"propose:{user.pk}"


def refresh_index(user: User) -> str:
    """Bringing the index up to date."""
    return f"index:{user.pk}"


def rebuild_index(user: User) -> str:
    """Making the whole index again."""
    return f"rebuild:{user.pk}"


@dataclass(frozen=True, slots=True)
class Held:
    """The right to do the work named by `key`."""

    key: str
    holder: str

    def renew(self) -> bool:
        """Say that the work goes on; False if somebody else has it now."""
        return bool(self._row().update(held_at=timezone.now()))

    def release(self) -> bool:
        """Give it up; False if it was asked for meanwhile: then it is still held, go round again."""
        if self._row().filter(wanted=False).update(held_at=None, holder=""):
            return True
        return not self._row().update(wanted=False, held_at=timezone.now())

    def drop(self) -> None:
        """Give it up whatever was asked."""
        self._row().update(held_at=None, holder="", wanted=False)

    def _row(self) -> QuerySet[Claim]:
        return Claim.objects.filter(key=self.key, holder=self.holder)


def row(key: str) -> None:
    Claim.objects.bulk_create([Claim(key=key)], ignore_conflicts=True)


def ask(key: str) -> bool:
    """Note a request for work; False if the same request is still waiting."""
    if not Claim.objects.filter(key=key).exists():
        row(key)
    now = timezone.now()
    # A request from the future is of a clock that was set back since.
    lost = Q(queued_at=None) | Q(queued_at__lt=now - FORGOTTEN) | Q(queued_at__gt=now + FORGOTTEN)
    return bool(Claim.objects.filter(lost, key=key).update(queued_at=now))


def waiting(key: str) -> bool:
    """Whether work was asked for and has not begun."""
    return Claim.objects.filter(key=key, queued_at__gt=timezone.now() - FORGOTTEN).exists()


def begin(key: str) -> None:
    """Mark requested work as started: requests from now on are new ones."""
    Claim.objects.filter(key=key).update(queued_at=None)


def take(key: str, wait: float = 0.0) -> Held | None:
    """Claim the work if nobody has it; otherwise tell its holder to go round once more."""
    held = Held(key, f"{place()}:{os.getpid()}:{secrets.token_hex(4)}")
    until = time.monotonic() + wait
    row(key)
    while True:
        if _seize(held):
            return held
        if time.monotonic() >= until:
            # Taken up by the holder on release; if it released just now, try once more ourselves.
            Claim.objects.filter(key=key).exclude(held_at=None).update(wanted=True)
            return held if _seize(held) else None
        time.sleep(0.1)


def _seize(held: Held) -> bool:
    now = timezone.now()
    # A time in the future is of a clock that was set back since.
    free = Q(held_at=None) | Q(held_at__lt=now - STALE) | Q(held_at__gt=now + STALE)
    mine = {"held_at": now, "holder": held.holder, "wanted": False}
    if Claim.objects.filter(free, key=held.key).update(**mine):
        return True
    owner = Claim.objects.filter(key=held.key).values_list("holder", flat=True).first() or ""
    return is_dead(owner) and bool(Claim.objects.filter(key=held.key, holder=owner).update(**mine))


def place() -> str:
    """Where a holder is: on this machine, or on PostgreSQL a part of a process that has a lease."""
    return presence.me() if is_postgres() else HOST


def is_dead(holder: str) -> bool:
    """Whether the process that holds it has died: known at once on this machine, elsewhere by leases."""
    where, _, number = holder.rpartition(":")[0].rpartition(":")
    here = presence.is_near(where) if is_postgres() else where == HOST
    if not here:
        return is_postgres() and presence.is_dead(where)
    if not number.isdigit():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def is_orphaned(key: str) -> bool:
    """Whether the work is held by a process that is known to be dead."""
    return any(is_dead(row.holder) for row in Claim.objects.filter(key=key).exclude(held_at=None))


@contextmanager
def holding(key: str, wait: float = 0.0) -> Iterator[Held | None]:
    """`take`, with the claim dropped if the work ends in an exception."""
    held = take(key, wait)
    try:
        yield held
    finally:
        if held:
            held.drop()


def once_a_day(key: str, today: date) -> bool:
    """True for the first caller of a day."""
    row(key)
    return bool(Claim.objects.filter(_undone(today), key=key).update(done_on=today))


def last_done(keys: Iterable[str]) -> dict[str, date]:
    """The day on which each of these was done last, by one question for all."""
    rows = Claim.objects.filter(key__in=list(keys), done_on__isnull=False)
    return {key: done for key, done in rows.values_list("key", "done_on") if done}


def is_due(done: date | None, today: date) -> bool:
    """Whether `once_a_day` would be True for what was done last on this day."""
    # A date well ahead of today is of a wrong clock, and gives way.
    return done is None or done < today or done > today + timedelta(days=1)


def _undone(today: date) -> Q:
    """The same, to ask the database."""
    return Q(done_on=None) | Q(done_on__lt=today) | Q(done_on__gt=today + timedelta(days=1))


def undo_day(key: str, today: date) -> None:
    """Give a day's turn back after a failure that was not ours, so that it may be tried again."""
    Claim.objects.filter(key=key, done_on=today).update(done_on=today - timedelta(days=1))
