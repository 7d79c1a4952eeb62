"""All that the chat asks of memory; memory failing is logged and never stops a chat."""

import logging
from collections.abc import Callable
from importlib import import_module
from typing import Any
from uuid import UUID

from django.conf import settings

from people.models import User

logger = logging.getLogger(__name__)


def _manager(user: User) -> Any:
    # Imported on use: memory brings numpy and the embedding model's runtime with it.
    return import_module("memory.manager").MemoryManager(user)


def _triggers(user: User) -> Any:
    return import_module("memory.triggers").MemoryTriggers(user)


def _told(what: str, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        logger.warning("Memory could not be told of %s: %s", what, error)
        return None


def forget(user: User, session_id: UUID) -> None:
    """Take a chat out of memory's index now: it was deleted or its memory switched off."""
    _told("a chat to forget", lambda: _manager(user).forget_session(session_id))


def changed(user: User, session_id: UUID) -> None:
    """The messages on a chat's page are others than before."""
    _told("a changed chat", lambda: _triggers(user).on_transcript_changed(session_id))


def switched(user: User, previous: UUID, session_id: UUID) -> None:
    """Another chat was opened: the previous one is due for the daily log (RFC-023)."""
    _told("a switch of chats", lambda: _triggers(user).on_session_switch(previous, session_id))


def ended(user: User, session_id: UUID) -> None:
    """The user said that a chat is over: it is due for the daily log."""
    _told("the end of a chat", lambda: _triggers(user).on_session_end(session_id))


def returned(user: User) -> None:
    """A page was opened: on a later date than the last one, the day has changed."""
    _told("a return", lambda: _triggers(user).on_return())


def resumed(user: User, session_id: UUID) -> None:
    """Memory is on again for a chat: what was said while it was off stays out of it."""
    _told("a chat to remember again", lambda: _triggers(user).on_memory_resumed(session_id))


def undeleted(user: User, session_id: UUID) -> None:
    """A deleted chat came back, and with it its place in memory."""
    _told("a chat that came back", lambda: _manager(user).restore_log_entries(session_id))
    changed(user, session_id)


def before_compaction(user: User, session_id: UUID) -> None:
    """Write the chat to the daily log before its context is shortened; returns when that is done."""
    _told("a compaction", lambda: _triggers(user).on_pre_compaction(session_id))


def inject(user: User, query: str, most: int, session_id: UUID) -> Any:
    """What memory has for this message: `stable`, `variable` and `receipt`. Raises what memory raises."""
    budget = min(most, settings.MEMORY_TOKEN_BUDGET)
    return _manager(user).inject(query, budget, session_id)
