"""One run from its prompt to its end: memory is asked, the model streams, tools answer, the row grows."""

import asyncio
import contextlib
import logging
import time
from dataclasses import dataclass, field

from django.conf import settings
from django.db import DatabaseError, InterfaceError

from chat import adapters, errors, memory
from chat.adapters import ChatTurn, ModelRequest, ToolAnswer
from chat.adapters.events import Finished, TextDelta, ThinkingDelta, ToolCall, Usage
from chat.errors import ModelError
from chat.memory import Injection
from chat.models import Run
from chat.replies import follow_up, prompt, running, store
from chat.replies.prompt import Material
from chat.replies.store import Claimed, RunOutcome
from chat.replies.threads import in_thread, insist, reading, remembering, writing
from chat.sessions import thread
from chat.sessions.thread import ShownCall
from chat.tools import registry
from oneclaw.server import measures
from oneclaw.toolkit import ToolResult

logger = logging.getLogger(__name__)

MOST_ROUNDS = 100
# Of one round's calls so many run side by side; each has a thread.
TOOLS_AT_ONCE = 8
# Characters that one reply may bring in all its rounds: words, thoughts, calls and their results.
MOST_SAID = 5_000_000
TOO_MANY_ROUNDS = f"The model called tools {MOST_ROUNDS} times in a row, so the reply was stopped."
TOO_LONG = "The reply grew too long over its rounds of tools, so it was stopped."
NOT_ALLOWED = "This is not allowed any more: memory or the model's trust was switched meanwhile."
NOTHING = {
    "stop": "The model returned an empty reply. Try again, or choose another model.",
    "length": "The model reached its length limit before it replied. Try again, or choose another model.",
    "refused": "The model declined to answer. Rephrase your message, or choose another model.",
}
AWAY = "The database could not be reached during this reply. What had arrived is kept: try again."
UNEXPECTED = "Something went wrong in OneClaw; see its log for details. Try again."


@dataclass(slots=True)
class ModelRound:
    """What one request to the model brought."""

    calls: list[ToolCall] = field(default_factory=list)
    usage: Usage | None = None
    finished: Finished | None = None


class Reply:
    """The making of one reply."""

    def __init__(self, claimed: Claimed) -> None:
        self.claimed = claimed
        self.live = running.Live(claimed.run_id, claimed.session_id, claimed.message)
        self.began = time.monotonic()
        self.said: list[ChatTurn] = []
        self.size = 0
        self.material: Material | None = None

    async def make(self) -> str:
        """Make the reply; returns why it is incomplete, if the model gave a reason."""
        claimed = self.claimed
        self.material = material = await in_thread(reading, prompt.load, claimed.run_id, claimed.message.id)
        recall = await recalled(material)
        for number in range(MOST_ROUNDS):
            if number and not (await in_thread(reading, prompt.allowed, material)).memory:
                recall = Injection()
            ended = await self.ask(material, recall)
            if not ended.calls:
                return self.cut_short(ended)
            await self.run_tools(material, ended)
        raise ModelError("too_many_rounds", TOO_MANY_ROUNDS)

    def cut_short(self, ended: ModelRound) -> str:
        """Why the reply was cut short, if it was; a reply without a word is an error."""
        reason = ended.finished.reason if ended.finished else "stop"
        if not any(text.strip() for text in (self.live.text, *(turn.text for turn in self.said))):
            raise ModelError(errors.EMPTY, NOTHING.get(reason, NOTHING["stop"]))
        return reason if reason in thread.CUT_SHORT else ""

    async def ask(self, material: Material, recall: Injection) -> ModelRound:
        """One request; where the provider finds it too long, once more with half the window."""
        try:
            return await self.listen(material, recall, share=1.0)
        except ModelError as error:
            if error.code != errors.CONTEXT_TOO_LONG or self.live.text or len(material.turns) < 2:
                raise
            return await self.listen(material, recall, share=0.5)

    async def listen(self, material: Material, recall: Injection, share: float) -> ModelRound:
        request = await in_thread(reading, prompt.request, material, recall, tuple(self.said), share)
        if self.said:
            return await self.hear(request)
        gone = prompt.left_out(material, request, len(self.said))
        receipt = recall.receipt | ({"left_out_messages": gone} if gone else {})
        # Written while the provider is on its way to answer, and before anything that it says.
        noting = in_thread(writing, store.note_request, self.claimed.message, material.model, receipt or None)
        noted = asyncio.ensure_future(noting)
        try:
            return await self.hear(request)
        finally:
            await noted

    async def hear(self, request: ModelRequest) -> ModelRound:
        """What the model says to one request; the reply grows by it."""
        ended = ModelRound()
        async with contextlib.aclosing(adapters.stream(request)) as events:
            async for event in events:
                if isinstance(event, TextDelta | ThinkingDelta):
                    await self.grow(event)
                elif isinstance(event, ToolCall):
                    ended.calls.append(event)
                elif isinstance(event, Usage):
                    ended.usage = event
                else:
                    ended.finished = event
        self.live.end_thinking()
        if ended.usage and self.live.message:
            store.count(self.live.message, ended.usage)
        return ended

    def weigh(self, size: int) -> None:
        self.size += size
        if self.size > MOST_SAID:
            raise ModelError("too_long", TOO_LONG)

    async def grow(self, event: TextDelta | ThinkingDelta) -> None:
        if not self.size:
            measures.observe("first_words", time.monotonic() - self.began)
        self.weigh(len(event.text))
        if self.live.message is None:
            assert self.material
            message = await in_thread(writing, store.next_message, self.claimed, self.material.model)
            self.live.grow(message)
        if isinstance(event, TextDelta):
            self.live.say(event.text)
        else:
            self.live.think(event.text)

    async def run_tools(self, material: Material, ended: ModelRound) -> None:
        """Store the calls, run them side by side, store their results; each call gets one."""
        state = ended.finished.wire_state if ended.finished else None
        message, text = self.live.message, self.live.text
        self.live.close()
        counted = store.Counted(material.model.name, ended.usage) if message is None else None
        calls = await in_thread(writing, store.save_calls, self.claimed, message, ended.calls, state, counted)
        chips = [ShownCall(row) for row in calls]
        self.live.parts.extend(chips)
        self.live.reshaped()
        turns = asyncio.Semaphore(TOOLS_AT_ONCE)

        async def result(call: ToolCall) -> ToolResult:
            async with turns:
                now = await in_thread(reading, prompt.allowed, material)
                offered = {tool.name for tool in material.tools}
                if call.name in offered - {tool.name for tool in now.tools} or now.context is None:
                    return ToolResult.error("not_allowed", NOT_ALLOWED)
                return await registry.call(now.tools, now.context, call)

        results = await asyncio.gather(*map(result, ended.calls))
        answers = await in_thread(writing, store.save_results, self.claimed, calls, results)
        for chip, row in zip(chips, answers, strict=True):
            chip.result = row
        self.live.reshaped()
        self.weigh(sum(len(row.content) + len(row.arguments_text) for row in (*calls, *answers)))
        self.said.append(ChatTurn("assistant", text, tuple(ended.calls), wire_state=state))
        self.said.append(
            ChatTurn(
                "tool",
                tool_results=tuple(
                    ToolAnswer(call.id, call.name, result.content, not result.ok)
                    for call, result in zip(ended.calls, results, strict=True)
                ),
            )
        )

    def outcome(self, status: str, code: str = "", error: str = "") -> RunOutcome:
        message = self.live.message
        if message is not None:
            self.live.fill(message)
        return RunOutcome(status, message, code, error)


async def answer(claimed: Claimed) -> None:
    """Make the reply and store how it ended. Nothing that goes wrong here goes further."""
    work = Reply(claimed)
    work.live.task = asyncio.create_task(work.make())
    running.open_run(work.live)
    try:
        outcome = await _ended(work)
        work.live.dirty = False
        try:
            await insist(store.close, claimed, outcome)
        except Exception:
            logger.exception("A reply's last words could not be stored; it ends without them")
            await insist(store.give_up, claimed, "unexpected", UNEXPECTED)
            return
        try:
            await follow_up.follow_up(work.live, work.material, outcome)
        except Exception:
            logger.exception("The work after a reply failed")
    except Exception:
        logger.exception("The end of a reply could not be saved; Stop or a restart ends it")
    finally:
        running.close_run(work.live)


async def _ended(work: Reply) -> RunOutcome:
    task = work.live.task
    assert task is not None
    try:
        cut_short = await task
    except asyncio.CancelledError:
        if work.live.interrupted:
            return work.outcome(Run.Status.INTERRUPTED, "interrupted", store.INTERRUPTED)
        return work.outcome(Run.Status.STOPPED)
    except ModelError as error:
        return work.outcome(Run.Status.FAILED, error.code, error.message)
    except (DatabaseError, InterfaceError):
        logger.exception("The database failed during a reply")
        return work.outcome(Run.Status.FAILED, "database", AWAY)
    except Exception:
        logger.exception("A reply failed")
        return work.outcome(Run.Status.FAILED, "unexpected", UNEXPECTED)
    return work.outcome(Run.Status.DONE, cut_short)


async def recalled(material: Material) -> Injection:
    """What memory has for this message, or a receipt that says why there is nothing."""
    if material.memory_off:
        return Injection(receipt={"off": material.memory_off})
    try:
        most = prompt.window(material.model) // 4
        asked = material.query, material.previous, most, material.session.id
        work = in_thread(remembering, memory.inject, material.user, *asked)
        return await asyncio.wait_for(work, settings.MEMORY_SECONDS)
    except TimeoutError:
        return Injection(receipt={"off": "Memory took too long, so this message was sent without it."})
    except Exception:
        logger.exception("Memory could not be asked")
        return Injection(receipt={"off": "Memory could not be read, so this message was sent without it."})
