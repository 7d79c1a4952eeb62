"""One run from its prompt to its end: memory is asked, the model streams, tools answer, the row grows."""

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field

from chat import adapters, aftermath, engine, errors, hub, page, prompt, remember, rows, tools
from chat.adapters import ToolAnswer, Turn
from chat.engine import in_thread, reading, remembering, writing
from chat.errors import ModelError
from chat.events import Finished, TextDelta, ThinkingDelta, ToolCall, Usage
from chat.models import Run
from chat.page import Call
from chat.prompt import Material, Recall
from chat.rows import Claimed, Outcome

logger = logging.getLogger(__name__)

MOST_ROUNDS = 100
MEMORY_SECONDS = 2.0
TOO_MANY_ROUNDS = f"The model called tools {MOST_ROUNDS} times in a row, so the reply was ended."
NOTHING = {
    "stop": "The model answered with nothing. Try again, or choose another model.",
    "length": "The model reached its length limit before it answered. Try again, or choose another model.",
    "refused": "The model refused to answer this. Say it in other words, or choose another model.",
}
UNEXPECTED = "Something went wrong inside OneClaw; its log has the details. Try again."


@dataclass(slots=True)
class Round:
    """What one request to the model brought."""

    calls: list[ToolCall] = field(default_factory=list)
    usage: Usage | None = None
    finished: Finished | None = None


class Answer:
    """The making of one reply."""

    def __init__(self, claimed: Claimed) -> None:
        self.claimed = claimed
        self.live = hub.Live(claimed.run_id, claimed.session_id, claimed.message)
        self.said: list[Turn] = []
        self.material: Material | None = None

    async def make(self) -> str:
        """Answers with the reason why the reply is not whole, if the model gave one."""
        claimed = self.claimed
        self.material = material = await in_thread(reading, prompt.load, claimed.run_id, claimed.message.id)
        recall = await recalled(material)
        for _ in range(MOST_ROUNDS):
            ended = await self.ask(material, recall)
            if not ended.calls:
                return self.cut_short(ended)
            await self.run_tools(material, ended)
        raise ModelError("too_many_rounds", TOO_MANY_ROUNDS)

    def cut_short(self, ended: Round) -> str:
        """Why the last words are not all of them, if so; a reply without a word is an error."""
        reason = ended.finished.reason if ended.finished else "stop"
        if not any(text.strip() for text in (self.live.text, *(turn.text for turn in self.said))):
            raise ModelError(errors.EMPTY, NOTHING.get(reason, NOTHING["stop"]))
        return reason if reason in page.CUT_SHORT else ""

    async def ask(self, material: Material, recall: Recall) -> Round:
        """One request; where the provider finds it too long, once more with half the window."""
        try:
            return await self.listen(material, recall, share=1.0)
        except ModelError as error:
            if error.code != errors.CONTEXT_TOO_LONG or self.live.text or len(material.turns) < 2:
                raise
            return await self.listen(material, recall, share=0.5)

    async def listen(self, material: Material, recall: Recall, share: float) -> Round:
        request = await in_thread(reading, prompt.request, material, recall, tuple(self.said), share)
        if not self.said:
            gone = prompt.left_out(material, request, len(self.said))
            receipt = recall.receipt | ({"left_out_messages": gone} if gone else {})
            message = self.claimed.message
            await in_thread(writing, rows.note_request, message, material.model, receipt or None)
        ended = Round()
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
        if ended.usage and self.live.message:
            rows.count(self.live.message, ended.usage)
        return ended

    async def grow(self, event: TextDelta | ThinkingDelta) -> None:
        if self.live.message is None:
            assert self.material
            message = await in_thread(writing, rows.next_message, self.claimed, self.material.model)
            self.live.grow(message)
        if isinstance(event, TextDelta):
            self.live.say(event.text)
        else:
            self.live.think(event.text)

    async def run_tools(self, material: Material, ended: Round) -> None:
        """Store the calls, run them side by side, store their results; each call gets one."""
        state = ended.finished.wire_state if ended.finished else None
        message, text = self.live.message, self.live.text
        self.live.close()
        calls = await in_thread(writing, rows.save_calls, self.claimed, message, ended.calls, state)
        chips = [Call(row) for row in calls]
        self.live.parts.extend(chips)
        self.live.reshaped()
        work = (tools.call(material.tools, material.context, call) for call in ended.calls)
        results = await asyncio.gather(*work)
        answers = await in_thread(writing, rows.save_results, self.claimed, calls, results)
        for chip, row in zip(chips, answers, strict=True):
            chip.result = row
        self.live.reshaped()
        self.said.append(Turn("assistant", text, tuple(ended.calls), wire_state=state))
        self.said.append(
            Turn(
                "tool",
                tool_results=tuple(
                    ToolAnswer(call.id, call.name, result.content, not result.ok)
                    for call, result in zip(ended.calls, results, strict=True)
                ),
            )
        )

    def outcome(self, status: str, code: str = "", error: str = "") -> Outcome:
        message = self.live.message
        if message is not None:
            message.content, message.thinking = self.live.text, self.live.thinking
        return Outcome(status, message, code, error)


async def answer(claimed: Claimed) -> None:
    """Make the reply and store how it ended. Nothing that goes wrong here goes further."""
    work = Answer(claimed)
    work.live.task = asyncio.create_task(work.make())
    hub.open_run(work.live)
    try:
        outcome = await _ended(work)
        work.live.dirty = False
        await engine.insist(rows.close, claimed, outcome)
        try:
            await aftermath.follow_up(work.live, work.material, outcome)
        except Exception:
            logger.exception("What follows a reply failed")
    except Exception:
        logger.exception("The end of a reply could not be stored; Stop ends it, or a restart")
    finally:
        hub.close_run(work.live)


async def _ended(work: Answer) -> Outcome:
    task = work.live.task
    assert task is not None
    try:
        cut_short = await task
    except asyncio.CancelledError:
        if engine.is_closing():
            return work.outcome(Run.Status.INTERRUPTED, "interrupted", rows.INTERRUPTED)
        return work.outcome(Run.Status.STOPPED)
    except ModelError as error:
        return work.outcome(Run.Status.FAILED, error.code, error.message)
    except Exception:
        logger.exception("A reply failed")
        return work.outcome(Run.Status.FAILED, "unexpected", UNEXPECTED)
    return work.outcome(Run.Status.DONE, cut_short)


async def recalled(material: Material) -> Recall:
    """What memory has for this message, or a receipt that says why there is nothing."""
    if material.memory_off:
        return Recall(receipt={"off": material.memory_off})
    try:
        most = prompt.window(material.model) // 4
        work = in_thread(
            remembering, remember.inject, material.user, material.query, most, material.session.id
        )
        found = await asyncio.wait_for(work, MEMORY_SECONDS)
        return Recall(found.stable, found.variable, dict(found.receipt))
    except TimeoutError:
        return Recall(receipt={"off": "Memory took too long to answer, so this message went without it."})
    except Exception:
        logger.exception("Memory could not be asked")
        return Recall(receipt={"off": "Memory could not be read, so this message went without it."})
