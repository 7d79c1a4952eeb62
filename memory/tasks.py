"""Tasks that the worker does for memory. Each takes ids, may run twice, and asks the manager.

An update must run what was queued before it: names and the order of arguments stay as they are.
"""

import inspect
import logging
from collections.abc import Callable, Collection, Iterator
from datetime import date, timedelta
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from uuid import UUID

from django.db.models import Q
from django.utils import timezone
from django_q.models import Schedule
from django_q.tasks import async_task, schedule

from chat.models import Session
from memory.dailylog import unlogged
from memory.dailylog.writer import Flush
from memory.index import backfill
from memory.jobs import claims, ledger
from memory.jobs.ledger import Outcome, Trigger
from memory.manager import MemoryManager
from memory.models import Claim
from memory.storage.log_entries import HIGHLIGHTS
from people.models import User

logger = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

# An open reply is waited for this long, so many times.
REPLY_TAKES, TRIES = timedelta(minutes=2), 5
# From this hour on, the local night compacts for those who did not come.
NIGHT = 3
# So many people are asked about at once in the hourly round.
AT_ONCE = 500


def for_user(
    work: Callable[Concatenate[MemoryManager, P], R],
) -> Callable[Concatenate[int, P], R | None]:
    """Make a task of work on one user's memory: it is called with the user's id, as it stands in the queue.

    The request named by the argument `key` counts as begun, so that the next one is a new one. None if there
    is no such user any more.
    """
    signature = inspect.signature(work)

    @wraps(work)
    def task(user_id: int, /, *args: P.args, **named: P.kwargs) -> R | None:
        if key := signature.bind(None, *args, **named).arguments.get("key"):
            claims.begin(key)
        user = User.objects.filter(pk=user_id, is_active=True).first()
        return None if user is None else work(MemoryManager(user), *args, **named)

    return task


@for_user
def flush_session(memory: MemoryManager, session_id: str, trigger: str, key: str = "", tries: int = 0) -> str:
    """Write one chat to the daily log."""
    user = memory.user
    if trigger == Trigger.APP_BACKGROUND and not unlogged.is_own(user, UUID(session_id)):
        # A page that shows no chat of the user's own: whatever is new is due.
        return _counted(flush_chats(memory, trigger))
    flush = memory.flush_daily_log(session_id, trigger, wait=0.0)
    if flush.more:
        async_task("memory.tasks.flush_session", user.pk, session_id, trigger)
    elif flush.waiting and tries < TRIES:
        # The phone was locked in mid-reply: the rest of it is written when it is there.
        later = timezone.now() + REPLY_TAKES
        arguments = (user.pk, session_id, trigger, "", tries + 1)
        schedule("memory.tasks.flush_session", *arguments, schedule_type=Schedule.ONCE, next_run=later)
    return f"{flush.outcome}: {flush.detail}" if flush.detail else str(flush.outcome)


@for_user
def flush_user(memory: MemoryManager, trigger: str, key: str = "") -> str:
    """Write all of a user's chats with something new to the daily log."""
    return _counted(flush_chats(memory, trigger))


@for_user
def flush_missed(memory: MemoryManager, session_ids: list[str]) -> str:
    """Write the chats in which the hourly round found unlogged days."""
    return _counted(flush_chats(memory, Trigger.SCHEDULE, [UUID(each) for each in session_ids]))


@for_user
def change_day(memory: MemoryManager, trigger: str, key: str = "") -> str:
    """A new day: flush every chat with something new, then compact MEMORY.md if it has grown."""
    flushes = flush_chats(memory, trigger)
    async_task("memory.tasks.compact_daily", memory.user.pk, trigger)
    return _counted(flushes)


def flush_chats(memory: MemoryManager, trigger: str, only: Collection[UUID] | None = None) -> list[Flush]:
    """Every chat with something new, or of those only these; what no time was left for is queued."""
    flushes = memory.flush_chats(trigger, only)
    for flush in flushes:
        if flush.more:
            async_task("memory.tasks.flush_session", memory.user.pk, str(flush.session_id), trigger)
    return flushes


def _counted(flushes: list[Flush]) -> str:
    return f"{len(flushes)} chats"


@for_user
def compact_daily(memory: MemoryManager, trigger: str) -> bool:
    """Compact MEMORY.md if it is over its size; once a day per user, whoever asks."""
    user = memory.user
    claim, today = claims.daily_compaction(user), user.today()
    if not user.memory_enabled or not claims.once_a_day(claim, today):
        return False
    result = memory.run_compaction(trigger, if_needed=True)
    if result.outcome == Outcome.FAILED:
        claims.undo_day(claim, today)
    return result.outcome == Outcome.WRITTEN


@for_user
def compact_now(memory: MemoryManager, key: str = "") -> str:
    """Manual compaction, whatever the size."""
    return str(memory.run_compaction().outcome)


@for_user
def propose_compaction(memory: MemoryManager, key: str = "") -> str:
    """Draft a compaction that waits for its owner to accept it."""
    return str(memory.propose_compaction().outcome)


@for_user
def redo_day(memory: MemoryManager, day: str, key: str = "") -> str:
    """Summarise a day again."""
    return _counted(memory.redo_day(date.fromisoformat(day)))


@for_user
def redo_highlights(memory: MemoryManager, day: str, key: str = "") -> str:
    """Summarise what a day's log only quotes, now that there is a model."""
    return _counted(memory.redo_day(date.fromisoformat(day), by=HIGHLIGHTS))


@for_user
def refresh(memory: MemoryManager, key: str = "") -> bool:
    """Bring the index up to date after a change."""
    backfill.came(memory.user)
    return memory.refresh_index()


@for_user
def rebuild_index(memory: MemoryManager, key: str = "") -> str:
    """Rebuild the whole index from the files and the chats, with progress for the page."""
    return memory.rebuild_index_in_sight()


def every_hour() -> str:
    """Catch up on days that no trigger caught, and compact at night, by each user's own clock."""
    ledger.close_abandoned()
    count = 0
    for users in _everybody():
        behind = unlogged.owners_behind(users)
        done = claims.last_done(claims.daily_compaction(user) for user in users)
        for user in users:
            try:
                missed = user.pk in behind and _flush_missed(user)
                night = _is_night(user, done.get(claims.daily_compaction(user))) and _compact(user)
                count += missed or night
            except Exception:
                logger.exception("The hourly round failed for one user")
    return f"{count} users"


def _everybody() -> Iterator[list[User]]:
    """All who use memory, some at a time."""
    people, last = User.objects.filter(is_active=True, memory_enabled=True).order_by("pk"), 0
    while users := list(people.filter(pk__gt=last)[:AT_ONCE]):
        yield users
        last = users[-1].pk


def _flush_missed(user: User) -> bool:
    missed = MemoryManager(user).missed_chats()
    if missed:
        async_task("memory.tasks.flush_missed", user.pk, [str(each) for each in missed])
    return bool(missed)


def _is_night(user: User, compacted: date | None) -> bool:
    """Whether it is the user's night and nobody has compacted for them today."""
    today = user.today()
    # Nobody's first day is a change of day.
    elapsed = user.local_date(user.date_joined) < today
    return elapsed and timezone.now().astimezone(user.zone).hour >= NIGHT and claims.is_due(compacted, today)


def _compact(user: User) -> bool:
    if not MemoryManager(user).may_need_compaction():
        return False
    async_task("memory.tasks.compact_daily", user.pk, str(Trigger.SCHEDULE))
    return True


def prune_claims() -> str:
    """Delete claims that nobody will ask for again: of chats that are gone, and of days that were redone."""
    old = timezone.now() - claims.FORGOTTEN
    idle = Claim.objects.filter(Q(queued_at=None) | Q(queued_at__lt=old), held_at=None, done_on=None)
    count = idle.filter(Q(key__startswith="redo:") | Q(key__startswith="highlights:")).delete()[0]
    for keys in batched(list(idle.filter(key__startswith="flush:").values_list("key", flat=True))):
        ids = Session.objects.filter(id__in=filter(None, map(_chat_of, keys))).values_list("id", flat=True)
        gone = set(keys) - {f"flush:{each}" for each in ids}
        count += idle.filter(key__in=gone).delete()[0]
    return f"{count} claims"


def batched(keys: list[str], size: int = 500) -> Iterator[list[str]]:
    for start in range(0, len(keys), size):
        yield keys[start : start + size]


def _chat_of(key: str) -> UUID | None:
    try:
        return UUID(key.removeprefix("flush:"))
    except ValueError:
        return None
