"""The chat's port to memory: all that it tells and asks. Memory failing is logged and never stops a chat."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec
from uuid import UUID

from django.conf import settings

from memory.manager import Injection, MemoryManager, MemorySearchResult, asks_for_silence, unframed
from memory.triggers import MemoryTriggers
from people.models import User

__all__ = [
    "Injection",
    "before_compaction",
    "changed",
    "ended",
    "forget",
    "found",
    "inject",
    "resumed",
    "returned",
    "switched",
    "take_off_record",
    "undeleted",
    "unframed",
    "wants_silence",
]

logger = logging.getLogger(__name__)

# How many memories stand beside the chats that were found.
FOUND = 3
P = ParamSpec("P")


def never_in_the_way(tell: Callable[P, object]) -> Callable[P, None]:
    """Tell memory something, and go on whatever comes of it."""

    @wraps(tell)
    def told(*values: P.args, **named: P.kwargs) -> None:
        try:
            tell(*values, **named)
        except Exception as error:
            logger.warning("Memory could not be notified (%s): %s", tell.__name__, error)

    return told


@never_in_the_way
def forget(user: User, session_id: UUID) -> None:
    """Take a chat out of memory's index now: it was deleted or its memory switched off."""
    MemoryManager(user).forget_session(session_id)


@never_in_the_way
def changed(user: User, session_id: UUID) -> None:
    """The messages on a chat's page are others than before."""
    MemoryTriggers(user).on_transcript_changed(session_id)


@never_in_the_way
def switched(user: User, previous: UUID, session_id: UUID) -> None:
    """Another chat was opened: the previous one is due for the daily log (RFC-023)."""
    MemoryTriggers(user).on_session_switch(previous, session_id)


@never_in_the_way
def ended(user: User, session_id: UUID) -> None:
    """The user said that a chat is over: it is due for the daily log."""
    MemoryTriggers(user).on_session_end(session_id)


@never_in_the_way
def returned(user: User) -> None:
    """A page was opened: on a later date than the last one, the day has changed."""
    MemoryTriggers(user).on_return()


@never_in_the_way
def resumed(user: User, session_id: UUID) -> None:
    """Memory is on again for a chat: what was said while it was off stays out of it."""
    MemoryTriggers(user).on_memory_resumed(session_id)


def undeleted(user: User, session_id: UUID) -> None:
    """A deleted chat came back, and with it its place in memory."""
    _restore_log(user, session_id)
    changed(user, session_id)


@never_in_the_way
def _restore_log(user: User, session_id: UUID) -> None:
    MemoryManager(user).restore_log_entries(session_id)


@never_in_the_way
def before_compaction(user: User, session_id: UUID) -> None:
    """Write the chat to the daily log before its context is shortened; returns when that is done."""
    MemoryTriggers(user).on_pre_compaction(session_id)


def found(user: User, query: str) -> list[MemorySearchResult]:
    """What the search over chats shows of memory beside them: its own lines, not the chats' again."""
    if not query or not user.memory_enabled:
        return []
    try:
        return MemoryManager(user).search_memory(query, FOUND, sources=("long_term", "daily_log"))
    except Exception as error:
        logger.warning("Memory could not be searched: %s", error)
        return []


def wants_silence(text: str) -> bool:
    """Whether a message asks to be kept off the record."""
    try:
        return asks_for_silence(text)
    except Exception:
        logger.exception("A message could not be read for what it asks of memory")
        return False


@never_in_the_way
def take_off_record(user: User, message_id: int) -> None:
    """Keep a message and what answers it out of memory."""
    MemoryManager(user).take_off_record(message_id)


def inject(user: User, query: str, previous: str, most: int, session_id: UUID | None) -> Injection:
    """What memory has for this message. Raises what memory raises: the receipt says why it is missing.

    `previous` is what the user said before: a short follow-up is understood together with it.
    """
    budget = min(most, settings.MEMORY_TOKENS)
    return MemoryManager(user).inject(query, budget, session_id, previous=previous)
