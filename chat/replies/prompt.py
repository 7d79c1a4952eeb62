"""What is asked of the model for one run: the agent's prompt, memory and as much history as fits."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from chat import errors
from chat.adapters import ChatTurn, ModelRequest
from chat.attachments import framing
from chat.errors import ModelError
from chat.memory import Injection, unframed
from chat.models import Agent, AiModel, Message, Run, Session
from chat.replies import history
from chat.sessions import agents, thread
from chat.tools.registry import registry
from oneclaw.tokens import estimate
from oneclaw.toolkit import Tool, ToolContext
from people.models import User

NO_MODEL = "There is no model yet. Add a provider under Settings → Providers, then try again."
SUMMARY = "What was said earlier in this conversation, in short:\n\n{summary}"
# Part of the window that is kept free for the answer, and the most that makes sense to keep.
ANSWER_SHARE, MOST_FOR_ANSWER = 4, 4096
# What the frame of one message costs in any protocol.
TOKENS_PER_TURN = 4


@dataclass(frozen=True, slots=True)
class Material:
    """All that a run needs from the database, loaded at once."""

    run_id: UUID
    session: Session
    user: User
    model: AiModel
    agent_prompt: str
    temperature: float | None
    turns: tuple[ChatTurn, ...]
    # What the user says now and said before: what memory is searched for.
    query: str
    previous: str
    tools: tuple[Tool, ...]
    context: ToolContext
    # Why nothing of memory may go into the request; empty when it may.
    memory_off: str = ""


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a run may do now: its tools, for whom they run, and whether memory may go to the model."""

    tools: tuple[Tool, ...] = ()
    context: ToolContext | None = None
    memory: bool = False


def load(run_id: UUID, reply_id: int) -> Material:
    """Read what a run answers: the rows on the page before its own reply."""
    run = Run.objects.select_related("session__owner", "session__agent", "prompt").get(id=run_id)
    session, user = run.session, run.session.owner
    chosen = AiModel.objects.usable().filter(pk=run.model_id).first() if run.model_id else None
    model = chosen or session.resolve_model()
    if model is None:
        raise ModelError(errors.NO_MODEL, NO_MODEL)
    closed, off = memory_closed(session, model), memory_off(session, model)
    agent = session.agent or agents.built_in()
    rows = said_before(session, reply_id)
    asked = [row.content for row in rows if row.type == Message.Type.USER][-2:]
    context = context_of(session, agent, run.prompt_id, run.prompt.content)
    return Material(
        run_id=run_id,
        session=session,
        user=user,
        model=model,
        agent_prompt=agent.prompt,
        temperature=agent.temperature,
        turns=tuple(
            history.turns(
                rows,
                without=registry.memory_names if off else (),
                files=framing.enclosed(rows, model, window(model)),
            )
        ),
        query=asked[-1] if asked else "",
        previous=asked[-2] if len(asked) > 1 else "",
        tools=registry.offered(context, model, memory=not closed),
        context=context,
        memory_off=off,
    )


def context_of(session: Session, agent: Agent, message_id: int | None, asked: str | None) -> ToolContext:
    return ToolContext(
        user=session.owner,
        session_id=session.id,
        message_id=message_id,
        read_only=session.memory_mode == Session.MemoryMode.READ_ONLY or not agent.writes_memory,
        write_only=not agent.reads_memory,
        asked=asked,
    )


def allowed(material: Material) -> Allowed:
    """What a run may do now. Asked before each tool call and round, so that a switch takes effect at once.

    Nothing that the run was not begun with is ever added.
    """
    there = Session.objects.filter(id=material.session.id, deleted_at=None)
    session = there.select_related("owner", "agent").first()
    model = AiModel.objects.select_related("provider").filter(pk=material.model.pk).first()
    if session is None or model is None or not (session.owner.is_active and model.provider.enabled):
        return Allowed()
    agent = session.agent or agents.built_in()
    context = context_of(session, agent, material.context.message_id, material.context.asked)
    open_to = not memory_closed(session, model)
    offered = {tool.name for tool in registry.offered(context, model, memory=open_to)}
    tools = tuple(tool for tool in material.tools if tool.name in offered)
    return Allowed(tools, context, not (memory_off(session, model) or material.memory_off))


def said_before(session: Session, reply_id: int | None = None) -> list[Message]:
    """The rows that a request holds: on the page, not in the summary, before the reply to be made."""
    rows = Message.objects.filter(session=session, shelf=None, type__in=history.TYPES)
    if session.summary_until_id:
        rows = rows.filter(id__gt=session.summary_until_id)
    found = thread.in_order(rows.defer("receipt", "thinking"))
    if reply_id is None:
        return found
    end = next((at for at, row in enumerate(found) if row.id == reply_id), len(found))
    return found[:end]


def memory_off(session: Session, model: AiModel) -> str:
    """Why nothing of memory may go to the model; empty when it may."""
    if session.agent and not session.agent.reads_memory:
        return f"{session.agent.name} reads no memory."
    return memory_closed(session, model)


def memory_closed(session: Session, model: AiModel) -> str:
    """Why this model has nothing to do with memory in this chat, whichever agent it plays."""
    if session.memory_mode == Session.MemoryMode.OFF:
        return "Memory is off in this chat."
    if not session.owner.memory_enabled:
        return "Memory is switched off in your settings."
    if not model.provider.send_memory:
        return f"Memory is never sent to {model.provider.name}."
    return ""


def window(model: AiModel) -> int:
    return model.context_window or settings.CONTEXT_WINDOW


def request(
    material: Material, recall: Injection, said: Sequence[ChatTurn] = (), share: float = 1.0
) -> ModelRequest:
    """The request, stable parts first; oldest messages are left out where the window is too small.

    `said` is what this run has said and done so far; `share` is the part of the window to use.
    """
    whole = ModelRequest.to(
        material.model,
        tuple(without_frames(turn) for turn in (*material.turns, *said)),
        system=(
            "\n\n".join(filter(None, [material.agent_prompt.strip(), today(material.user)])),
            SUMMARY.format(summary=unframed(material.session.summary)) if material.session.summary else "",
            recall.stable,
        ),
        notes=recall.variable,
        tools=material.tools,
        temperature=material.temperature,
    )
    size = int(window(material.model) * share)
    room = size - min(size // ANSWER_SHARE, MOST_FOR_ANSWER) - overhead(whole)
    return replace(whole, messages=fitting(whole.messages, room, keep=len(said) + 1))


def without_frames(turn: ChatTurn) -> ChatTurn:
    """A turn in which no pasted page and no tool's result looks like what memory says."""
    if turn.role == "assistant":
        return turn
    results = tuple(replace(each, content=unframed(each.content)) for each in turn.tool_results)
    return replace(turn, text=unframed(turn.text), tool_results=results)


def today(user: User) -> str:
    return f"Today is {timezone.now().astimezone(user.zone):%A, %Y-%m-%d}."


def overhead(whole: ModelRequest) -> int:
    schemas = sum(estimate(tool.description + json.dumps(tool.parameters)) for tool in whole.tools)
    return schemas + sum(estimate(part) for part in (*whole.system, whole.notes))


def tokens_of(turn: ChatTurn) -> int:
    """How many tokens a turn may cost, near enough to decide what fits into a model's window."""
    calls = sum(estimate(call.name) + estimate(str(call.arguments)) for call in turn.tool_calls)
    results = sum(estimate(result.content) for result in turn.tool_results)
    pictures = sum(picture.tokens for picture in turn.pictures)
    return TOKENS_PER_TURN + estimate(turn.text) + calls + results + pictures


def fitting(turns: tuple[ChatTurn, ...], room: int, keep: int) -> tuple[ChatTurn, ...]:
    """The newest turns that fit, beginning with one of the user's; the last `keep` always stay."""
    left, start = room, len(turns)
    for at in range(len(turns) - 1, -1, -1):
        left -= tokens_of(turns[at])
        if left < 0 and at < len(turns) - keep:
            break
        start = at
    while 0 < start < len(turns) - keep and turns[start].role != "user":
        start += 1
    return turns[start:]


def left_out(material: Material, sent: ModelRequest, said: int) -> int:
    """How many messages the window had no room for."""
    kept = len(sent.messages) - said
    gone = material.turns[: len(material.turns) - kept]
    return sum(1 for turn in gone if turn.role != "tool" and turn.text)
