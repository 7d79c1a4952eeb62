"""One completion: memory is recalled, the owner's model streams, and the chat is kept if it may be."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import DatabaseError
from django.http import Http404

from chat import adapters, memory
from chat.adapters import ChatTurn, ModelRequest
from chat.adapters.events import Event, Finished, TextDelta, ThinkingDelta, ToolCall, Usage
from chat.errors import ModelError
from chat.memory import Injection
from chat.models import AiModel, Provider, Run, Session
from chat.replies import prompt, store, titles
from chat.replies.store import Claimed
from chat.replies.threads import in_thread, insist, loop, reading, remembering, writing
from connect.tokens import keys
from connect.tokens.keys import Caller
from connect.v1 import chats, faults
from connect.v1.asking import Asked, Mode, wrong
from connect.v1.chats import Ending, Kept, Pictures
from connect.v1.faults import ApiError

logger = logging.getLogger(__name__)

# While a reply goes on: seconds between two looks at the token, and until what was said so far is stored.
LOOK_EVERY, STORE_EVERY = 0.3, 0.5
# How many events may wait for a client that reads slowly.
AHEAD = 256
REVOKED = "revoked"
UNEXPECTED = "Something went wrong in OneClaw; see its log for details."
REASONS = {"stop": "stop", "length": "length", "tools": "tool_calls", "refused": "content_filter"}


def default_first() -> list[AiModel]:
    """The models that can be asked, the default one first."""
    return list(AiModel.objects.usable().order_by("-is_default", "id"))


def ids(models: list[AiModel]) -> dict[str, AiModel]:
    """The models by the names that clients know them by: a provider's name helps where two have the same."""
    names = [model.name for model in models]
    return {
        model.name if names.count(model.name) == 1 else f"{model.provider.name}/{model.name}": model
        for model in models
    }


def chosen(name: str) -> AiModel:
    """The model that a request names; without a name, the default one."""
    models = default_first()
    if not models:
        raise ApiError(404, prompt.NO_MODEL, code="model_not_found", param="model")
    if name in ("", "default", "oneclaw"):
        return models[0]
    known = ids(models)
    named = known.get(name) or next((each for each in models if each.name == name), None)
    if named is None:
        have = ", ".join(list(known)[:10])
        message = f"There is no model {name[:100]!r} here. There is: {have}."
        raise ApiError(404, message, code="model_not_found", param="model")
    return named


def fitting(asked: Asked) -> AiModel:
    """The model that is asked, if it can do what is asked of it."""
    model = chosen(asked.model)
    switch = "An admin can switch that on in Settings → Providers."
    if any(turn.pictures for turn in asked.turns) and not model.supports_images:
        raise ApiError(
            400,
            f"{model.name} is not known to see images. {switch}",
            code="invalid_image_url",
            param="messages",
        )
    if asked.tool_choice.is_forced and not model.supports_tools:
        raise wrong("tool_choice", f"{model.name} is not known to call tools. {switch}")
    wanted = asked.answer_format
    if wanted and wanted.schema is None and model.provider.kind == Provider.Kind.ANTHROPIC:
        raise wrong(
            "response_format", f"{model.name} answers in JSON only by a schema: use the type json_schema."
        )
    return model


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that is settled before the model is asked."""

    model: AiModel
    # How far memory was open, in the words of the request's own field.
    mode: Mode
    memory_off: str
    kept: Kept | None
    states: dict[str, dict[str, Any]]


async def prepare(caller: Caller, asked: Asked) -> Prepared:
    """Find the model, and keep what is new if the request, its token and its owner allow that."""
    model = await in_thread(reading, fitting, asked)
    # Beside the one thread that writes: a picture takes a process and its time to read.
    pictures = await in_thread(reading, chats.pictures, caller, asked) if _is_kept(caller, asked) else {}
    try:
        return await in_thread(writing, _prepared, caller, asked, model, pictures)
    except keys.Revoked:
        raise faults.revoked() from None


def _is_kept(caller: Caller, asked: Asked) -> bool:
    return asked.memory == "on" and caller.may_write and caller.user.memory_enabled


def _prepared(caller: Caller, asked: Asked, model: AiModel, pictures: Pictures) -> Prepared:
    try:
        kept = chats.keep(caller, asked, model, pictures) if _is_kept(caller, asked) else None
        session = kept.session if kept else chats.known(caller, asked)
    except Http404:
        raise ApiError(404, "There is no such chat.", code="chat_not_found", param="oneclaw.chat") from None
    mode, off = _open_to(caller, asked, model, session or Session(owner=caller.user))
    return Prepared(model, mode, off, kept, chats.wire_states(caller, asked))


def _open_to(caller: Caller, asked: Asked, model: AiModel, session: Session) -> tuple[Mode, str]:
    """How far memory is open to a request, and why where it is not.

    What holds in the chat's own replies holds here; the request and its token only narrow it.
    """
    if asked.memory == "off":
        return "off", "Memory was off for this request."
    if why := prompt.memory_off(session, model):
        return "off", why
    is_written = session.memory_mode == Session.MemoryMode.NORMAL and not session.is_off_record
    return ("on" if asked.memory == "on" and caller.may_write and is_written else "read"), ""


class Completion:
    """The making of one completion, in a task of its own that survives nobody: who leaves ends it."""

    def __init__(self, caller: Caller, asked: Asked, prepared: Prepared) -> None:
        self.caller = caller
        self.asked = asked
        self.prepared = prepared
        self.id = f"chatcmpl-{uuid4().hex}"
        self.created = int(time.time())
        self.text: list[str] = []
        self.thinking: list[str] = []
        self.calls: list[ToolCall] = []
        self.usage: Usage | None = None
        self.finished: Finished | None = None
        self.recalled = 0
        # How many pieces are stored, and whether the rest is about to be.
        self.stored, self.is_over = 0, False
        self.queue: asyncio.Queue[Event | ApiError | None] = asyncio.Queue(AHEAD)

    async def events(self) -> AsyncGenerator[Event, None]:
        """What the model says, as it comes. Raises ApiError; leaving early stops the model."""
        task = asyncio.create_task(self._make())
        beside = [asyncio.create_task(each(task)) for each in (self._while_valid, self._while_growing)]
        try:
            while (event := await self.queue.get()) is not None:
                if isinstance(event, ApiError):
                    raise event
                yield event
        finally:
            for each in (*beside, task):
                each.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _while_valid(self, task: "asyncio.Task[None]") -> None:
        """Stop within the second in which the token is revoked or its owner disabled."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                is_valid = await in_thread(reading, keys.is_valid, self.caller)
            except DatabaseError:
                logger.exception("The token of a completion could not be looked at; it will be retried")
                continue
            if self.is_over:
                # Its end is being stored, and looks at the token itself.
                return
            if not is_valid:
                task.cancel(REVOKED)
                return

    async def _while_growing(self, task: "asyncio.Task[None]") -> None:
        """Store what was said so far, and stop when Stop is pressed."""
        kept = self.prepared.kept
        while kept is not None:
            await asyncio.sleep(STORE_EVERY)
            if self.is_over:
                return
            try:
                if await self._store_so_far(kept.run) and not self.is_over:
                    task.cancel()
                    return
            except keys.Revoked:
                # Who looks at the token ends it.
                return
            except DatabaseError:
                logger.exception("The completion so far could not be stored; it will be retried")

    async def _store_so_far(self, run: Claimed) -> bool:
        """Keep what a process that is killed would lose; whether the run is to end."""
        pieces = len(self.text) + len(self.thinking)
        if pieces == self.stored:
            return bool(await in_thread(writing, store.save_growth, [run.run_id], []))
        text, thinking = "".join(self.text), "".join(self.thinking)
        grown = store.Growth(run.run_id, run.message.id, text, thinking, None)
        ended = await in_thread(writing, chats.grow, self.caller, grown)
        self.stored = pieces
        return ended

    async def _make(self) -> None:
        ending: ApiError | None = None
        is_revoked = False
        status, code, error = str(Run.Status.DONE), "", ""
        try:
            async with contextlib.aclosing(adapters.stream(await self._request())) as events:
                async for event in events:
                    self._take(event)
                    await self.queue.put(event)
            # Once more: what was said meanwhile is told to nobody whose token was revoked.
            await in_thread(reading, keys.check, self.caller)
        except keys.Revoked:
            is_revoked, status = True, Run.Status.STOPPED
        except asyncio.CancelledError as left:
            is_revoked, status = left.args == (REVOKED,), Run.Status.STOPPED
        except ModelError as fault:
            status, code, error = Run.Status.FAILED, fault.code, fault.message
            ending = faults.of_model(fault)
        except Exception:
            logger.exception("A completion failed")
            status, code, error = Run.Status.FAILED, "unexpected", UNEXPECTED
            ending = ApiError(500, UNEXPECTED, kind="server_error")
        # Nothing that is stored from now on may be older than the end.
        self.is_over = True
        await self._finish(status, code, error)
        while is_revoked and not self.queue.empty():
            # Not even what waits to be read is told.
            self.queue.get_nowait()
        if self.queue.full():
            # Nobody reads any more, or slowly: the end is worth more than one piece.
            self.queue.get_nowait()
        self.queue.put_nowait(faults.revoked() if is_revoked else ending)

    def _take(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self.text.append(event.text.replace("\0", ""))
        elif isinstance(event, ThinkingDelta):
            self.thinking.append(event.text.replace("\0", ""))
        elif isinstance(event, ToolCall):
            self.calls.append(event)
        elif isinstance(event, Usage):
            self.usage = event
        else:
            self.finished = event

    async def _request(self) -> ModelRequest:
        recall = await self._recall()
        self.recalled = len(recall.receipt.get("memories", ())) + len(recall.receipt.get("matched", ()))
        model, kept = self.prepared.model, self.prepared.kept
        if kept is not None:
            await in_thread(writing, chats.note_request, self.caller, kept, model, recall.receipt or None)
        asked = self.asked
        return await in_thread(
            reading,
            lambda: ModelRequest.to(
                model,
                tuple(prompt.without_frames(self._signed(turn)) for turn in asked.turns),
                system=(*asked.system, recall.stable),
                notes=recall.variable,
                tools=asked.tools,
                tool_choice=asked.tool_choice,
                answer_format=asked.answer_format,
                temperature=asked.temperature,
                max_tokens=asked.max_tokens,
                stop=asked.stop,
                sampling=asked.sampling,
            ),
        )

    def _signed(self, turn: ChatTurn) -> ChatTurn:
        """A turn with what its protocol wants back with its calls."""
        known = self.prepared.states
        states = [known[call.id] for call in turn.tool_calls if call.id in known]
        return replace(turn, wire_state=states[0]) if states else turn

    async def _recall(self) -> Injection:
        """What memory has for the newest message, or a receipt that says why there is nothing."""
        if self.prepared.memory_off:
            return Injection(receipt={"off": self.prepared.memory_off})
        said = ["", *self.asked.questions]
        previous, query = said[-2] if len(said) > 1 else "", said[-1]
        kept = self.prepared.kept
        chat = kept.session.id if kept else self.asked.chat
        most = prompt.window(self.prepared.model) // 4
        try:
            work = in_thread(remembering, memory.inject, self.caller.user, query, previous, most, chat)
            return await asyncio.wait_for(work, settings.MEMORY_SECONDS)
        except TimeoutError:
            why = "Memory took too long, so this message was sent without it."
        except Exception:
            logger.exception("Memory could not be asked")
            why = "Memory could not be read, so this message was sent without it."
        return Injection(receipt={"off": why})

    async def _finish(self, status: str, code: str, error: str) -> None:
        kept = self.prepared.kept
        if kept is None:
            return
        reason = self.finished.reason if self.finished else "stop"
        ending = Ending(
            status,
            "".join(self.text),
            "".join(self.thinking),
            tuple(self.calls),
            self.finished.wire_state if self.finished else None,
            self.usage,
            code or (reason if status == Run.Status.DONE and reason in ("length", "refused") else ""),
            error,
        )
        try:
            status = await insist(chats.finish, self.caller, kept, ending)
        except Exception:
            logger.exception("The end of a completion could not be stored")
            return
        # In the replies' own loop: the client need not wait for a title.
        loop.submit(self._follow_up(kept, status))

    async def _follow_up(self, kept: Kept, status: str) -> None:
        await in_thread(remembering, memory.changed, self.caller.user, kept.session.id)
        if status == Run.Status.DONE:
            await titles.improve(kept.session.id, self.prepared.model)

    # In the client's words

    @property
    def reason(self) -> str:
        if self.calls:
            return "tool_calls"
        return REASONS[self.finished.reason if self.finished else "stop"]

    @property
    def counted(self) -> dict[str, int] | None:
        """Tokens as the provider told them; nothing where it did not."""
        usage = self.usage
        if usage is None or usage.input_tokens is None or usage.output_tokens is None:
            return None
        told, said = usage.input_tokens, usage.output_tokens
        return {"prompt_tokens": told, "completion_tokens": said, "total_tokens": told + said}

    @property
    def own(self) -> dict[str, Any]:
        """What OneClaw adds: where it was kept, and how many memories it was about."""
        kept = self.prepared.kept
        return {
            "chat": str(kept.session.id) if kept else None,
            "memory": self.prepared.mode,
            "recalled": self.recalled,
        }
