"""Threads beside the pages': one with the event loop that replies run in, and pools for what blocks."""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar, TypeVarTuple

from django.db import DatabaseError, InterfaceError, OperationalError, connection

from oneclaw.postgres import is_postgres
from oneclaw.serving.pages import line

logger = logging.getLogger(__name__)
T = TypeVar("T")
Values = TypeVarTuple("Values")

ATTEMPTS, PAUSE = 3, 1.0
# A server that restarts is away for longer than a file is locked: minutes, as each attempt waits for it too.
ATTEMPTS_ON_SERVER = 30

# One thread writes, so runs never wait for each other's locks; others read and embed. Writing the daily log
# takes a model's time, so it has threads of its own: a reply waits only so long for what memory recalls.
writing = ThreadPoolExecutor(1, "chat-write")
reading = ThreadPoolExecutor(3, "chat-read")
remembering = ThreadPoolExecutor(3, "chat-memory")
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
    """Run database or other blocking work in a pool. On SQLite the threads keep their connections.

    A write that was asked for is made, even if the run that asked is stopped meanwhile.
    """
    careful = _read_again if pool is reading else _orderly
    future = asyncio.get_running_loop().run_in_executor(pool, careful, work, values)
    return await (asyncio.shield(future) if pool is writing else future)


async def insist(work: Callable[[*Values], T], *values: *Values) -> T:
    """Retry a write that must not be lost while the database stays busy or away."""
    attempt = 1
    while True:
        try:
            return await in_thread(writing, work, *values)
        except (DatabaseError, InterfaceError) as error:
            is_away = is_postgres() and isinstance(error, OperationalError | InterfaceError)
            if attempt >= (ATTEMPTS_ON_SERVER if is_away else ATTEMPTS):
                raise
            logger.exception("The database refused %s; it will be retried", work.__name__)
            attempt += 1
            await asyncio.sleep(PAUSE)


def _orderly(work: Callable[[*Values], T], values: tuple[*Values]) -> T:
    line.let_pages_pass()
    try:
        return work(*values)
    except (DatabaseError, InterfaceError):
        connection.close()
        raise
    finally:
        if is_postgres():
            # Back to the pool, which gives out only those that still work.
            connection.close()


def _read_again(work: Callable[[*Values], T], values: tuple[*Values]) -> T:
    """What changes nothing is asked once more where a server cut the connection."""
    try:
        return _orderly(work, values)
    except (OperationalError, InterfaceError):
        if not is_postgres():
            raise
        logger.info("The database was away during %s; it is asked again", getattr(work, "__name__", work))
        return _orderly(work, values)
