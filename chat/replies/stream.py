"""A run as server-sent events: first what the page lacks, then what is new, then the finished reply.

Events for the page: `start` draws the whole reply as it is, `blocks` adds finished Markdown blocks, `tail`,
`thinking` and `thought` (how long) replace what still grows, `note` is a line about what goes on, `done` puts
the finished reply in place and `close` ends the stream. An id says which blocks the page has, so a reconnect
repeats none.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from django.template.loader import render_to_string
from django.utils.html import escape
from django.utils.safestring import mark_safe

from chat.replies import threads
from chat.replies.running import Follower, Live
from chat.sessions.thread import thinking_time

# At most so many updates a second, fewer when drawing them is slow.
FASTEST = 0.07
# With more pages than this following runs, each is told less often.
MANY = 20
# A tail is sent whole each time: one of so many characters once a second.
LARGE = 2_000_000
_following: set[Follower] = set()
HEARTBEAT = 15.0
THINKING_SHOWN = 20_000


def event(name: str, data: str, mark: str = "") -> str:
    lines = "".join(f"data: {line}\n" for line in data.splitlines() or [""])
    return f"event: {name}\n" + (f"id: {mark}\n" if mark else "") + lines + "\n"


@dataclass(slots=True)
class Seen:
    """What one page has: which shape of the reply, how many blocks, and the parts that are replaced."""

    origin: str = ""
    shape: int = -1
    blocks: int = 0
    tail: str = ""
    thinking: int = 0
    thought: str = ""
    note: str = ""

    @classmethod
    def read(cls, mark: str) -> "Seen":
        """Where a page was, from the id of the last event that it got."""
        origin, shape, blocks, *more = [*mark.split("."), "", "", ""][:4]
        if shape.isdecimal() and blocks.isdecimal() and len(mark) < 40 and not any(more):
            return cls(origin, int(shape), int(blocks))
        return cls()

    @property
    def mark(self) -> str:
        return f"{self.origin}.{self.shape}.{self.blocks}"


def news(live: Live, seen: Seen) -> str:
    """What is new for a page, as events; notes in `seen` that the page has it now."""
    shape, growing, thinking, note = live.shape, live.growing, live.thinking, live.note
    thought = thinking_time(live.thinking_ms, going_on=live.is_thinking) if thinking else ""
    growing.update(live.text)
    closed, tail = list(growing.closed), growing.tail
    if (live.origin, shape) != (seen.origin, seen.shape) or seen.blocks > len(closed):
        seen.origin, seen.shape, seen.blocks, seen.tail = live.origin, shape, len(closed), tail
        seen.thinking, seen.thought, seen.note = len(thinking), thought, note
        return event("start", draw(live, closed, tail, thinking, note), seen.mark)
    out = []
    if len(thinking) != seen.thinking:
        seen.thinking = len(thinking)
        out.append(event("thinking", escape(thinking[-THINKING_SHOWN:])))
    if thought != seen.thought:
        seen.thought = thought
        out.append(event("thought", escape(thought)))
    if len(closed) > seen.blocks:
        new, seen.blocks = "".join(closed[seen.blocks :]), len(closed)
        # The tail has moved into these blocks; it is replaced right after.
        out.append(event("blocks", new, seen.mark))
    if tail != seen.tail:
        seen.tail = tail
        out.append(event("tail", tail))
    if note != seen.note:
        seen.note = note
        out.append(event("note", escape(note)))
    return "".join(out)


def draw(live: Live, closed: list[str], tail: str, thinking: str, note: str) -> str:
    """All of a reply so far, as the page shows it."""
    return render_to_string(
        "chat/_live.html",
        {
            "parts": list(live.parts),
            "blocks": mark_safe("".join(closed)),  # noqa: S308  (drawn by chat.markdown)
            "tail": mark_safe(tail),  # noqa: S308
            "thinking": thinking[-THINKING_SHOWN:],
            "thinking_ms": live.thinking_ms,
            "is_thinking": live.is_thinking,
            "note": note,
        },
    )


async def follow(live: Live, mark: str, final: Callable[[], Awaitable[str]]) -> AsyncIterator[str]:
    """Everything a page needs to follow a live run from where it was."""
    seen = Seen.read(mark)
    follower: Follower = live.follow()
    loop = asyncio.get_running_loop()
    _following.add(follower)
    try:
        while True:
            version, done, began = live.version, live.done, loop.time()
            if text := await threads.in_thread(threads.drawing, news, live, seen):
                yield text
            if done:
                break
            # The first words go out at once; then drawing takes a fifth of the time at most.
            if seen.tail or seen.blocks:
                pace = max(FASTEST * max(1.0, len(_following) / MANY), len(seen.tail) / LARGE)
                await asyncio.sleep(max(pace, 4 * (loop.time() - began)))
            while not await follower.wait(version, HEARTBEAT):
                yield ": still here\n\n"
    finally:
        _following.discard(follower)
        live.leave(follower)
    yield await ended(final)


async def ended(final: Callable[[], Awaitable[str]]) -> str:
    return event("done", await final()) + event("close", "")
