"""Threads beside the pages': one with the event loop that replies run in, and pools for what blocks."""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar, TypeVarTuple

from django.db import DatabaseError, connection

logger = logging.getLogger(__name__)
T = TypeVar("T")
Values = TypeVarTuple("Values")

ATTEMPTS, PAUSE = 3, 1.0

# One thread writes, so runs never wait for each other's locks; others read and embed. Writing the daily log
# takes a model's time, so it has threads of its own: a reply waits only so long for what memory recalls.
writing = ThreadPoolExecutor(1, "chat-write")
reading = ThreadPoolExecutor(4, "chat-read")
remembering = ThreadPoolExecutor(4, "chat-memory")
flushing = ThreadPoolExecutor(4, "chat-flush")
# Drawing what a model says may take a while; the loop that all pages are served from must not wait for it.
drawing = ThreadPoolExecutor(4, "chat-draw")


class LoopThread:
    """An event loop in a thread of its own, started on first use."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._loop.is_closed():
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name=self.name, daemon=True).start()
            return self._loop

    def call(self, work: Callable[[*Values], object], *values: *Values) -> None:
        """Call a function in the loop, soon; from any thread."""
        self._running().call_soon_threadsafe(work, *values)

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run a coroutine in the loop; from any other thread, which may wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._running())


loop = LoopThread("chat-engine")


async def in_thread(pool: ThreadPoolExecutor, work: Callable[[*Values], T], *values: *Values) -> T:
    """Run database or other blocking work in a pool. The threads keep their connections.

    A write that was asked for is made, even if the run that asked is stopped meanwhile.
    """
    future = asyncio.get_running_loop().run_in_executor(pool, _orderly, work, values)
    return await (asyncio.shield(future) if pool is writing else future)


async def insist(work: Callable[[*Values], T], *values: *Values) -> T:
    """Retry a write that must not be lost while the database stays busy."""
    for _ in range(ATTEMPTS - 1):
        try:
            return await in_thread(writing, work, *values)
        except DatabaseError:
            logger.exception("The database refused %s; it will be retried", work.__name__)
            await asyncio.sleep(PAUSE)
    return await in_thread(writing, work, *values)


def _orderly(work: Callable[[*Values], T], values: tuple[*Values]) -> T:
    try:
        return work(*values)
    except DatabaseError:
        connection.close()
        raise
