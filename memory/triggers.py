"""MemoryTriggers (RFC-013, RFC-023): what happened to the chats, and which task that makes due."""

import logging
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django_q.tasks import async_task

from memory.compaction import compactor
from memory.index import rebuild
from memory.jobs import claims
from memory.jobs.ledger import Kind, Outcome, Trigger
from memory.manager import MemoryManager
from memory.models import LedgerEntry
from people.models import User

logger = logging.getLogger(__name__)

# How long a reply may wait for the log before its context is shortened.
PRE_COMPACTION_SECONDS = 60.0


class MemoryTriggers:
    """Queues what events in a user's chats make due. Only `on_pre_compaction` calls a model."""

    def __init__(self, user: User) -> None:
        self.user = user

    def on_session_end(self, session_id: UUID | str) -> bool:
        """The user said that this chat is over."""
        return self._flush(session_id, Trigger.SESSION_END)

    def on_session_switch(self, previous_id: UUID | str | None, new_id: UUID | str | None) -> bool:
        """Another chat was opened. Only from one chat to a different one (RFC-023)."""
        if not previous_id or not new_id or str(previous_id) == str(new_id):
            return False
        return self._flush(previous_id, Trigger.SESSION_SWITCH)

    def on_app_background(self, session_id: UUID | str | None = None) -> bool:
        """The page was hidden: its chat is due, or all that have something new if it showed none."""
        if session_id and self._owns(session_id):
            return self._flush(session_id, Trigger.APP_BACKGROUND)
        return self._flush_all(Trigger.APP_BACKGROUND)

    def on_return(self) -> bool:
        """The page is looked at again: on a later date than last time, the day has changed."""
        today, last = self.user.today(), self.user.last_active_date
        if last == today:
            return False
        # Only one of several tabs gets to say so.
        seen = Q(last_active_date=last) if last else Q(last_active_date=None)
        changed = User.objects.filter(seen, pk=self.user.pk).update(last_active_date=today)
        self.user.last_active_date = today
        # No date yet is a first visit; a later one than today is of a clock set back or a zone left.
        if not changed or last is None or last > today:
            return False
        return self.on_day_change()

    def on_day_change(self, trigger: str = Trigger.DAY_CHANGE) -> bool:
        """Flush every chat with something new, then compact MEMORY.md if it has grown (RFC-049 3G)."""
        return self._enqueue(claims.change_day(self.user), "memory.tasks.change_day", str(trigger))

    def on_pre_compaction(self, session_id: UUID | str, seconds: float = PRE_COMPACTION_SECONDS) -> bool:
        """Before a chat's context is shortened: returns when its log is written, or the time is up."""
        try:
            flush = MemoryManager(self.user).flush_daily_log(
                session_id, Trigger.PRE_COMPACTION, wait=seconds, budget=seconds
            )
        except Exception:
            logger.exception("The daily log could not be written before earlier messages were summarised")
            return False
        return flush.ok

    def on_transcript_changed(self, session_id: UUID | str) -> bool:
        """Messages of a chat changed: the index is brought up to date in the background."""
        MemoryManager(self.user).look_again(session_id)
        return self._enqueue(claims.refresh_index(self.user), "memory.tasks.refresh")

    def on_memory_resumed(self, session_id: UUID | str) -> None:
        """Memory is on again for a chat: what was said meanwhile stays out of it."""
        MemoryManager(self.user).skip_session(session_id)

    def retry(self, entry: LedgerEntry) -> bool:
        """Run again what failed or was refused."""
        if entry.owner_id != self.user.pk or entry.outcome not in (Outcome.FAILED, Outcome.REFUSED):
            return False
        if entry.kind == Kind.COMPACTION:
            return self.compact_now()
        return bool(entry.session_id) and self._flush(entry.session_id, Trigger.MANUAL)

    def compact_now(self) -> bool:
        """Manual compaction, in the background."""
        compactor.asked(self.user)
        return self._enqueue(claims.manual_compaction(self.user), "memory.tasks.compact_now")

    def propose_compaction(self) -> bool:
        """Manual compaction that shows its result first."""
        compactor.asked(self.user)
        return self._enqueue(claims.compaction_proposal(self.user), "memory.tasks.propose_compaction")

    def rebuild_index(self) -> bool:
        """Rebuild the whole index, in the background."""
        rebuild.asked(self.user)
        return self._enqueue(claims.rebuild_index(self.user), "memory.tasks.rebuild_index")

    def redo_day(self, day: str) -> bool:
        """Summarise a day again, in the background."""
        return self._enqueue(claims.redo_day(self.user, day), "memory.tasks.redo_day", day)

    def redo_highlights(self, day: str) -> bool:
        """Turn a day's highlights into a summary, in the background, now that there is a model."""
        return self._enqueue(claims.redo_highlights(self.user, day), "memory.tasks.redo_highlights", day)

    def _flush(self, session_id: UUID | str | None, trigger: str) -> bool:
        chat = _uuid(session_id)
        if chat is None or not self.user.memory_enabled or not self._owns(chat):
            return False
        return self._enqueue(claims.flush(chat), "memory.tasks.flush_session", str(chat), str(trigger))

    def _owns(self, session_id: UUID | str) -> bool:
        """Whether the chat is the user's: a claim on another's would take away its owner's turn."""
        from memory.dailylog import unlogged

        key = _uuid(session_id)
        return key is not None and unlogged.is_own(self.user, key)

    def _flush_all(self, trigger: str) -> bool:
        if not self.user.memory_enabled:
            return False
        return self._enqueue(claims.flush_all(self.user), "memory.tasks.flush_user", str(trigger))

    def _enqueue(self, key: str, task: str, *arguments: object) -> bool:
        """One task of the user's for any number of requests that come before it starts."""
        arguments = (self.user.pk, *arguments)
        if transaction.get_connection().in_atomic_block:
            transaction.on_commit(lambda: _send(key, task, arguments))
            return True
        return _send(key, task, arguments)


def _send(key: str, task: str, arguments: tuple[object, ...]) -> bool:
    try:
        # One transaction: the queue is in the same database, and each commit costs a page its time.
        with transaction.atomic():
            if not claims.ask(key):
                return False
            async_task(task, *arguments, key, task_name=key[:100])
    except Exception:
        # A page never fails because memory could not be told; the hourly schedule catches up.
        logger.exception("A memory trigger could not be recorded")
        return False
    return True


def _uuid(value: UUID | str | None) -> UUID | None:
    try:
        return value if isinstance(value, UUID) else UUID(str(value))
    except ValueError:
        return None
