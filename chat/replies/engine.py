"""The engine: works on every chat's runs, so that no request or page owns a reply."""

import asyncio
import logging
import time
from uuid import UUID

from chat.replies import run, running, store, threads

logger = logging.getLogger(__name__)

SAVE_SECONDS = 0.7


class Engine:
    """One worker per chat, and one that saves what all of them have said, all in the replies' event loop."""

    def __init__(self) -> None:
        # Chats whose runs are being worked on, and those that were given another run meanwhile.
        self._workers: dict[UUID, asyncio.Task[None]] = {}
        self._wanted: set[UUID] = set()
        self._saver: asyncio.Task[None] | None = None
        self._closing = False

    def start(self, session_id: UUID) -> None:
        """Begin on a chat's waiting runs; from any thread."""
        self._wanted.add(session_id)
        threads.loop.call(self._take_up, session_id)

    def _take_up(self, session_id: UUID) -> None:
        if session_id not in self._workers:
            self._workers[session_id] = asyncio.create_task(self._work(session_id))
        if self._saver is None or self._saver.done():
            self._saver = asyncio.create_task(self._save_as_they_grow())

    async def _work(self, session_id: UUID) -> None:
        """Answer the chat's runs one after the other, until none waits or the process ends."""
        try:
            while True:
                self._wanted.discard(session_id)
                if self._closing:
                    return
                claimed = await threads.insist(store.claim_next, session_id)
                if claimed is not None:
                    await run.answer(claimed)
                elif session_id not in self._wanted:
                    return
        except Exception:
            logger.exception("A chat's runs ended unexpectedly")
        finally:
            self._workers.pop(session_id, None)

    async def _save_as_they_grow(self) -> None:
        """Write what all runs have said, together and not too often, while there are any."""
        while self._workers:
            await asyncio.sleep(SAVE_SECONDS)
            try:
                await self._save_now()
            except Exception:
                logger.exception("The reply so far could not be saved; it will be retried")

    async def _save_now(self) -> None:
        lives = running.all_live()
        grown = []
        for live in lives:
            if live.dirty and live.message is not None:
                live.dirty = False
                grown.append(
                    store.Growth(live.run_id, live.message.id, live.text, live.thinking, live.thinking_ms)
                )
        run_ids = [live.run_id for live in lives]
        try:
            ended = await threads.in_thread(threads.writing, store.save_growth, run_ids, grown)
        except Exception:
            for live in lives:
                live.dirty = True
            raise
        for run_id in ended:
            running.stop(run_id)

    def holds(self, run_id: UUID, session_id: UUID) -> bool:
        """Whether a running run has a worker here; a worker without a run may have just claimed it."""
        claiming = session_id in self._workers and not running.is_talking(session_id)
        return claiming or running.get(run_id) is not None

    def close(self, seconds: float = 5.0) -> None:
        """The process ends: stop what is being said, keep it, and mark it interrupted."""
        self._closing = True
        for live in running.all_live():
            running.stop(live.run_id, interrupted=True)
        ends = time.monotonic() + seconds
        while self._workers and time.monotonic() < ends:
            time.sleep(0.02)
        self._closing = False

    def is_idle(self) -> bool:
        return not self._workers and not self._wanted


engine = Engine()
