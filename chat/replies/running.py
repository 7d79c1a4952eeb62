"""Runs that are going on in this process: what each has said so far, and who follows it."""

import asyncio
import contextlib
import secrets
import threading
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from chat.markdown import Growing
from chat.models import Message
from chat.sessions.thread import ShownCall


class Live:
    """One run while it goes on. The engine's thread writes it; streams read it from theirs."""

    def __init__(self, run_id: UUID, session_id: UUID | None, message: Message | None) -> None:
        self.run_id = run_id
        self.session_id = session_id
        # Marks of another process, or of another telling of the same run, mean nothing here.
        self.origin = secrets.token_hex(4)
        # The row that grows now; None between a round of tools and the next words.
        self.message: Message | None = message
        self.parts: list[Message | ShownCall] = []
        self.note = ""
        self.growing = Growing()
        self.task: asyncio.Task[Any] | None = None
        self.stopping = False
        # Stopped because the process ends, and not because somebody asked.
        self.interrupted = False
        self.done = False
        self.dirty = False
        # Counts changes of any kind, and those after which a page must be drawn anew.
        self.version = 0
        self.shape = 0
        self._text: list[str] = []
        self._thinking: list[str] = []
        # Seconds of thinking that are over, and since when it thinks now.
        self._thought = 0.0
        self._thinking_since: float | None = None
        self._followers: list[Follower] = []

    @property
    def text(self) -> str:
        return whole(self._text)

    @property
    def thinking(self) -> str:
        return whole(self._thinking)

    @property
    def is_thinking(self) -> bool:
        return self._thinking_since is not None

    @property
    def thinking_ms(self) -> int | None:
        """How long the growing row was thought about, so far; None where no thought was told."""
        if not self._thinking:
            return None
        since = self._thinking_since
        return round(1000 * (self._thought + (time.monotonic() - since if since is not None else 0.0)))

    def end_thinking(self) -> None:
        if self._thinking_since is not None:
            self._thought += time.monotonic() - self._thinking_since
            self._thinking_since = None

    def say(self, text: str) -> None:
        self.end_thinking()
        self._text.append(text)
        if len(self._text) > 1000:
            self._text[:] = ["".join(self._text)]
        self.changed(dirty=True)

    def think(self, text: str) -> None:
        if self._thinking_since is None:
            self._thinking_since = time.monotonic()
        self._thinking.append(text)
        self.changed(dirty=True)

    def tell(self, note: str) -> None:
        """Show a line about what is happening besides the text."""
        self.note = note
        self.changed()

    def grow(self, message: Message) -> None:
        """Put what follows into a new row."""
        self.message = message
        self.reshaped()

    def close(self) -> None:
        """The growing row is whole: it becomes one of the parts."""
        message, self.message = self.message, None
        if message is not None:
            self.fill(message)
            self.parts.append(message)
        self._text, self._thinking, self.growing = [], [], Growing()
        self._thought, self._thinking_since = 0.0, None
        self.dirty = False
        self.reshaped()

    def fill(self, message: Message) -> None:
        """Put into a row what was said and thought of it so far."""
        message.content, message.thinking, message.thinking_ms = self.text, self.thinking, self.thinking_ms

    def show(self, parts: Sequence[Message | ShownCall], message: Message | None) -> None:
        """Take over how far a run of another process is, as its rows tell."""
        before = _outline(self.parts, self.message), self.text, self.thinking
        same = _outline(parts, message) == before[0]
        if same and message is not None and (message.content, message.thinking) == before[1:]:
            return
        if same and message is None:
            return
        said = message or Message()
        if not same:
            self.growing = Growing()
        # Each is replaced at once: a page that is drawn just now must not find a text that is gone.
        self.parts, self.message = list(parts), message
        self._text = [said.content]
        self._thinking = [said.thinking] if said.thinking else []
        self._thought = (said.thinking_ms or 0) / 1000
        self._thinking_since = time.monotonic() if said.thinking and not said.content else None
        if same:
            self.changed()
        else:
            self.reshaped()

    def reshaped(self) -> None:
        self.shape += 1
        self.changed()

    def finish(self) -> None:
        self.done = True
        self.changed()

    def changed(self, *, dirty: bool = False) -> None:
        self.dirty = self.dirty or dirty
        self.version += 1
        for follower in list(self._followers):
            follower.wake()

    def follow(self) -> "Follower":
        follower = Follower(self)
        self._followers.append(follower)
        return follower

    def leave(self, follower: "Follower") -> None:
        if follower in self._followers:
            self._followers.remove(follower)


def _outline(parts: Sequence[Message | ShownCall], message: Message | None) -> list[object]:
    """Which rows there are, and which calls have a result: with others a page is drawn anew."""
    rows = [
        (part.call.id, part.result is not None) if isinstance(part, ShownCall) else part.id for part in parts
    ]
    return [*rows, message and message.id]


def whole(pieces: list[str]) -> str:
    """The pieces joined; halves of one character that came in two pieces become it again."""
    text = "".join(pieces)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class Follower:
    """One page that watches a run; it is woken across threads, and only when it waits."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.loop = asyncio.get_running_loop()
        self.event = asyncio.Event()
        self.waiting = False

    def wake(self) -> None:
        if self.waiting:
            self.waiting = False
            try:
                self.loop.call_soon_threadsafe(self.event.set)
            except RuntimeError:  # its loop has ended
                self.live.leave(self)

    async def wait(self, seen: int, seconds: float) -> bool:
        """Wait until the run is past the version seen; False on a timeout."""
        self.event.clear()
        self.waiting = True
        if self.live.version != seen:
            self.waiting = False
            return True
        try:
            await asyncio.wait_for(self.event.wait(), seconds)
        except TimeoutError:
            return False
        return True


_lives: dict[UUID, Live] = {}
_lock = threading.Lock()


_starting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []


def open_run(live: Live) -> None:
    with _lock:
        _lives[live.run_id] = live
        waiting, _starting[:] = list(_starting), []
    for loop, event in waiting:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(event.set)


async def next_start(seconds: float) -> None:
    """Wait until any run begins, or for so long."""
    event = asyncio.Event()
    entry = (asyncio.get_running_loop(), event)
    with _lock:
        _starting.append(entry)
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        with _lock, contextlib.suppress(ValueError):
            _starting.remove(entry)


def close_run(live: Live) -> None:
    with _lock:
        _lives.pop(live.run_id, None)
    live.finish()


def get(run_id: UUID) -> Live | None:
    return _lives.get(run_id)


def all_live() -> list[Live]:
    with _lock:
        return list(_lives.values())


def is_talking(session_id: UUID) -> bool:
    return any(live.session_id == session_id for live in all_live())


def stop(run_id: UUID, *, interrupted: bool = False) -> None:
    """Ask a live run to end; what it said so far is kept. From any thread."""
    live = get(run_id)
    if live is None or live.stopping:
        return
    live.stopping, live.interrupted = True, interrupted
    if live.task is not None:
        live.task.get_loop().call_soon_threadsafe(live.task.cancel)
