"""Where runs run: one event loop in a thread of its own, so that no request or page owns a reply."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar
from uuid import UUID

from django.db import DatabaseError, connection

from chat import hub, rows

logger = logging.getLogger(__name__)
T = TypeVar("T")

SAVE_SECONDS = 0.7
ATTEMPTS, PAUSE = 3, 1.0

# One thread writes, so runs never wait for each other's locks; others read and embed. Writing the daily log
# takes a model's time, so it has threads of its own: a reply waits only so long for what memory recalls.
writing = ThreadPoolExecutor(1, "chat-write")
reading = ThreadPoolExecutor(4, "chat-read")
remembering = ThreadPoolExecutor(4, "chat-memory")
flushing = ThreadPoolExecutor(4, "chat-flush")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
# Chats whose runs are being worked on, and those that were given another run meanwhile.
_workers: dict[UUID, "asyncio.Task[None]"] = {}
_wanted: set[UUID] = set()
_saver: "asyncio.Task[None] | None" = None
_closing = False


def loop() -> asyncio.AbstractEventLoop:
    """The engine's loop, started on first use."""
    global _loop
    with _lock:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="chat-engine", daemon=True).start()
        return _loop


def start(session_id: UUID) -> None:
    """Begin on a chat's waiting runs; from any thread."""
    _wanted.add(session_id)
    loop().call_soon_threadsafe(_take_up, session_id)


def submit(work: Coroutine[Any, Any, T]) -> "Future[T]":
    return asyncio.run_coroutine_threadsafe(work, loop())


def _take_up(session_id: UUID) -> None:
    global _saver
    if session_id not in _workers:
        _workers[session_id] = asyncio.create_task(_work(session_id))
    if _saver is None or _saver.done():
        _saver = asyncio.create_task(_save_as_they_grow())


async def _work(session_id: UUID) -> None:
    """Answer the chat's runs one after the other, until none waits or the process ends."""
    from chat import answer

    try:
        while True:
            _wanted.discard(session_id)
            if _closing:
                return
            claimed = await insist(rows.claim_next, session_id)
            if claimed is not None:
                await answer.answer(claimed)
            elif session_id not in _wanted:
                return
    except Exception:
        logger.exception("A chat's runs came to an end by accident")
    finally:
        _workers.pop(session_id, None)


async def _save_as_they_grow() -> None:
    """Write what all runs have said, together and not too often, while there are any."""
    while _workers:
        await asyncio.sleep(SAVE_SECONDS)
        try:
            await save_now()
        except Exception:
            logger.exception("What was said so far could not be saved; it is tried again")


async def save_now() -> None:
    lives = hub.all_live()
    grown = []
    for live in lives:
        if live.dirty and live.message is not None:
            live.dirty = False
            grown.append((live.message.id, live.text, live.thinking))
    for run_id in await in_thread(writing, rows.save_growth, [live.run_id for live in lives], grown):
        hub.stop(run_id)


async def in_thread(pool: ThreadPoolExecutor, work: Callable[..., T], *values: Any) -> T:
    """Run database or other blocking work in a pool. The threads keep their connections.

    A write that was asked for is made, even if the run that asked is stopped meanwhile.
    """
    future = asyncio.get_running_loop().run_in_executor(pool, _orderly, work, values)
    return await (asyncio.shield(future) if pool is writing else future)


async def insist(work: Callable[..., T], *values: Any) -> T:
    """A write that should not be lost: a database that is busy for long is asked again."""
    for _ in range(ATTEMPTS - 1):
        try:
            return await in_thread(writing, work, *values)
        except DatabaseError:
            logger.exception("The database did not take %s; it is tried again", work.__name__)
            await asyncio.sleep(PAUSE)
    return await in_thread(writing, work, *values)


def _orderly(work: Callable[..., T], values: tuple[Any, ...]) -> T:
    try:
        return work(*values)
    except DatabaseError:
        connection.close()
        raise


def holds(run_id: UUID, session_id: UUID) -> bool:
    """Whether a running run is worked on; a worker that talks of nothing may have just claimed it."""
    claiming = session_id in _workers and not hub.is_talking(session_id)
    return claiming or hub.get(run_id) is not None


def is_closing() -> bool:
    return _closing


def close(seconds: float = 5.0) -> None:
    """The process ends: stop what is being said, keep it, and mark it interrupted."""
    global _closing
    _closing = True
    for live in hub.all_live():
        hub.stop(live.run_id)
    ends = time.monotonic() + seconds
    while _workers and time.monotonic() < ends:
        time.sleep(0.02)
    _closing = False


def is_idle() -> bool:
    return not _workers and not _wanted
