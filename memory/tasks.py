"""What the worker does for memory. Each task takes ids, may run twice, and begins by taking new requests."""

import logging
from datetime import date, timedelta
from uuid import UUID

from django.utils import timezone
from django_q.models import Schedule
from django_q.tasks import async_task, schedule

from chat.models import Session
from memory import claims, ledger, rebuild
from memory.compaction import MemoryCompactor
from memory.dailylog import BUDGET, DailyLogWriter, Flush, Time, summariser_for, unlogged
from memory.dailylog.messages import unlogged_before
from memory.ledger import Outcome, Trigger
from memory.logentries import HIGHLIGHTS
from memory.refresh import refresh_index
from people.models import User

logger = logging.getLogger(__name__)

# An open reply is waited for this long, so many times.
REPLY_TAKES, TRIES = timedelta(minutes=2), 5
# From this hour on, the local night compacts for those who did not come.
NIGHT = 3


def flush_session(user_id: int, session_id: str, trigger: str, key: str = "", tries: int = 0) -> str:
    """One chat into the daily log."""
    claims.begin(key)
    user = _user(user_id)
    if user is None:
        return "No such user."
    if trigger == Trigger.APP_BACKGROUND and not _owns(user, session_id):
        # A page that shows no chat of the user's own: whatever is new is due.
        return f"{len(flush_chats(user, trigger))} chats"
    flush = DailyLogWriter(user).write_daily_log(session_id, trigger, wait=0.0)
    if flush.more:
        async_task("memory.tasks.flush_session", user_id, session_id, trigger)
    elif flush.waiting and tries < TRIES:
        # The phone was locked in mid-reply: the rest of it is written when it is there.
        later = timezone.now() + REPLY_TAKES
        arguments = (user_id, session_id, trigger, "", tries + 1)
        schedule("memory.tasks.flush_session", *arguments, schedule_type=Schedule.ONCE, next_run=later)
    return f"{flush.outcome}: {flush.detail}" if flush.detail else str(flush.outcome)


def _owns(user: User, session_id: str) -> bool:
    return Session.objects.filter(owner=user, id=session_id).exists()


def flush_user(user_id: int, trigger: str, key: str = "") -> str:
    """All of a user's chats that have something new."""
    claims.begin(key)
    user = _user(user_id)
    return "No such user." if user is None else f"{len(flush_chats(user, trigger))} chats"


def change_day(user_id: int, trigger: str, key: str = "") -> str:
    """A new day: every chat with something new, then MEMORY.md if it has grown."""
    claims.begin(key)
    user = _user(user_id)
    if user is None:
        return "No such user."
    flushes = flush_chats(user, trigger)
    async_task("memory.tasks.compact_daily", user_id, trigger)
    return f"{len(flushes)} chats"


def flush_chats(user: User, trigger: str, chats: list[UUID] | None = None) -> list[Flush]:
    """One after the other, as long as the time lasts; a provider that is down is asked only once."""
    clock, flushes, down = Time.of(BUDGET), list[Flush](), set[str]()
    for session in unlogged(user).select_related("agent"):
        if chats is not None and session.id not in chats:
            continue
        writer = summariser_for(session)
        name = writer.name
        if name in down:
            continue
        if clock.left <= 0:
            async_task("memory.tasks.flush_session", user.pk, str(session.id), trigger)
            continue
        flush = DailyLogWriter(user).write_daily_log(session.id, trigger, wait=0.0, budget=clock.left)
        flushes.append(flush)
        if flush.more:
            async_task("memory.tasks.flush_session", user.pk, str(session.id), trigger)
        if flush.down:
            down.add(name)
    return flushes


def compact_daily(user_id: int, trigger: str) -> bool:
    """MEMORY.md if it is over its size; once a day a user, whoever asks."""
    user = _user(user_id)
    if user is None or not user.memory_enabled:
        return False
    key, today = f"compact:{user_id}", user.today()
    if not claims.once_a_day(key, today):
        return False
    result = MemoryCompactor(user).run_if_needed(trigger)
    if result.outcome == Outcome.FAILED:
        claims.undo_day(key, today)
    return result.outcome == Outcome.WRITTEN


def compact_now(user_id: int, key: str = "") -> str:
    """Compaction by hand, whatever the size."""
    claims.begin(key)
    user = _user(user_id)
    return "No such user." if user is None else str(MemoryCompactor(user).run(Trigger.MANUAL).outcome)


def propose_compaction(user_id: int, key: str = "") -> str:
    """A compacted text that waits for its owner's yes."""
    claims.begin(key)
    user = _user(user_id)
    return "No such user." if user is None else str(MemoryCompactor(user).propose().outcome)


def redo_day(user_id: int, day: str, key: str = "") -> str:
    """A day's summary again."""
    claims.begin(key)
    user = _user(user_id)
    if user is None:
        return "No such user."
    return f"{len(DailyLogWriter(user).redo_day(date.fromisoformat(day)))} chats"


def redo_highlights(user_id: int, day: str, key: str = "") -> str:
    """What was only quoted on a day, summarised by the model that is there now."""
    claims.begin(key)
    user = _user(user_id)
    if user is None:
        return "No such user."
    return f"{len(DailyLogWriter(user).redo_day(date.fromisoformat(day), by=HIGHLIGHTS))} chats"


def refresh(user_id: int, key: str = "") -> bool:
    """The index after a change."""
    claims.begin(key)
    user = _user(user_id)
    return user is not None and refresh_index(user)


def rebuild_index(user_id: int, key: str = "") -> str:
    """The whole index from the files and the chats, with its progress where the page looks."""
    claims.begin(key)
    user = _user(user_id)
    return "No such user." if user is None else rebuild.run(user)


def every_hour() -> str:
    """Days that no trigger caught, and the night's compaction, by each user's own clock."""
    ledger.close_abandoned()
    count = 0
    for user in User.objects.filter(is_active=True, memory_enabled=True):
        try:
            count += _catch_up(user)
        except Exception:
            logger.exception("The hourly round failed for one user")
    return f"{count} users"


def _catch_up(user: User) -> bool:
    today = user.today()
    missed = list(unlogged_before(user, today).values_list("id", flat=True))
    if missed:
        async_task("memory.tasks.flush_missed", user.pk, [str(each) for each in missed])
    # Nobody's first day is a change of day.
    elapsed = user.local_date(user.date_joined) < today
    night = (
        elapsed
        and timezone.now().astimezone(user.zone).hour >= NIGHT
        and claims.is_due(f"compact:{user.pk}", today)
    )
    if night:
        async_task("memory.tasks.compact_daily", user.pk, str(Trigger.SCHEDULE))
    return bool(missed) or night


def flush_missed(user_id: int, session_ids: list[str]) -> str:
    """Chats that the hourly round found with days unwritten."""
    user = _user(user_id)
    if user is None:
        return "No such user."
    return f"{len(flush_chats(user, Trigger.SCHEDULE, [UUID(each) for each in session_ids]))} chats"


def _user(user_id: int) -> User | None:
    return User.objects.filter(pk=user_id, is_active=True).first()
