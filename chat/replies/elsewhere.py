"""Replies that another process makes, where several share one PostgreSQL.

Their rows are the truth and tell a page here how far they are; who makes them says when to look.
"""

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from uuid import UUID

from chat.models import Message, Run
from chat.replies import running, threads
from chat.replies.running import Live
from chat.sessions import thread
from chat.sessions.thread import ShownCall
from oneclaw.postgres import is_postgres, news
from oneclaw.server import presence

logger = logging.getLogger(__name__)

# Without a word from the other process, its rows are looked at every so many seconds.
LOOK_EVERY = 1.0


def tell_growth(*run_ids: UUID) -> None:
    """Rows of these runs changed: others may have pages that follow them."""
    news.tell(*(f"run {run_id}" for run_id in run_ids))


def tell_stop(run_id: UUID) -> None:
    """Somebody wants a run to end, which another process may be making."""
    news.tell(f"stop {run_id}")


def heard(word: str) -> None:
    """What another process told, or this one itself. In the thread that listens."""
    what, _, text = word.partition(" ")
    run_id = UUID(text)
    if what == "stop":
        running.stop(run_id)
    elif run_id in _mirrors:
        threads.loop.call(_wake, run_id)


def is_answering(session_id: UUID) -> bool:
    """Whether another process makes a reply in this chat now; on SQLite there is no other."""
    if not is_postgres():
        return False
    going_on = Run.objects.filter(session_id=session_id, status=Run.Status.RUNNING)
    return going_on.exclude(holder__in=("", presence.me())).exists()


def holder_of(run_id: UUID) -> str:
    """The other process that makes a run now; nothing where it is this one's, waits or has ended."""
    going_on = Run.objects.filter(id=run_id, status=Run.Status.RUNNING)
    holder = going_on.exclude(holder=presence.me()).values_list("holder", flat=True).first()
    return holder or ""


class Mirror:
    """One run of another process, as this one's pages see it."""

    def __init__(self, run_id: UUID) -> None:
        self.live = Live(run_id, None, None)
        self.readers = 0
        self.woken = asyncio.Event()


_mirrors: dict[UUID, Mirror] = {}
_lock = threading.Lock()


@contextmanager
def followed(run_id: UUID) -> Iterator[Live]:
    """The run as it grows elsewhere; all pages of this process share one look at it."""
    with _lock:
        known = _mirrors.get(run_id)
        # One without a reader is about to end.
        if known is None or known.live.done or not known.readers:
            mirror = _mirrors[run_id] = Mirror(run_id)
            mirror.readers = 1
            threads.loop.submit(_keep_looking(mirror))
        else:
            mirror = known
            mirror.readers += 1
    try:
        yield mirror.live
    finally:
        with _lock:
            mirror.readers -= 1
        threads.loop.call(mirror.woken.set)


def _wake(run_id: UUID) -> None:
    if mirror := _mirrors.get(run_id):
        mirror.woken.set()


async def _keep_looking(mirror: Mirror) -> None:
    run_id = mirror.live.run_id
    try:
        while mirror.readers:
            mirror.woken.clear()
            try:
                seen = await threads.in_thread(threads.reading, look, run_id)
            except Exception:
                # The database is away for a moment: what the page has stays.
                logger.info("A reply of another process could not be read", exc_info=True)
            else:
                if seen is None:
                    break
                mirror.live.show(seen.parts, seen.growing)
            with suppress(TimeoutError):
                await asyncio.wait_for(mirror.woken.wait(), LOOK_EVERY)
    finally:
        with _lock:
            if _mirrors.get(run_id) is mirror:
                del _mirrors[run_id]
        mirror.live.finish()


@dataclass(frozen=True, slots=True)
class Sighting:
    """A run's rows as a page shows them: what is whole, and the row that grows."""

    parts: list[Message | ShownCall]
    growing: Message | None


def look(run_id: UUID) -> Sighting | None:
    """How far a run is; None when it goes on no more."""
    if not Run.objects.filter(id=run_id, status__in=Run.OPEN).exists():
        return None
    rows = Message.objects.filter(run_id=run_id).exclude(type=Message.Type.USER).select_related("run")
    item = next(iter(thread.items(list(rows.order_by("id")))), None)
    parts = list(item.parts) if item else []
    last = parts[-1] if parts else None
    if isinstance(last, Message):
        return Sighting(parts[:-1], last)
    return Sighting(parts, None)
