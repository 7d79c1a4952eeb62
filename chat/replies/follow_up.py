"""What a finished reply leads to: memory hears of it, the chat gets a title, its context may be shortened."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from chat import memory
from chat.models import Run
from chat.replies import autocompact, running, titles
from chat.replies.prompt import Material
from chat.replies.store import RunOutcome
from chat.replies.threads import in_thread, remembering

logger = logging.getLogger(__name__)
_going_on: set["asyncio.Task[Any]"] = set()


async def follow_up(live: running.Live, material: Material | None, outcome: RunOutcome) -> None:
    """Do what follows a reply; waits only for what the next reply depends on."""
    if material is None:
        return
    lasting = not material.session.temporary
    if lasting:
        _aside(in_thread(remembering, memory.changed, material.user, material.session.id))
    if outcome.status == Run.Status.DONE:
        if lasting:
            _aside(titles.improve(material.session.id, material.model))
        await autocompact.after_reply(live, material.session.id, material.model)


def _aside(work: Coroutine[Any, Any, Any]) -> None:
    task = asyncio.create_task(_logged(work))
    _going_on.add(task)
    task.add_done_callback(_going_on.discard)


async def _logged(work: Coroutine[Any, Any, Any]) -> None:
    try:
        await work
    except Exception:
        logger.exception("A reply's follow-up failed")


def is_idle() -> bool:
    return not _going_on
