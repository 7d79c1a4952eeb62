"""What is asked of the model for one run: the agent's prompt, memory and as much history as fits."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from chat import agents, errors, history, tokens
from chat.adapters import ModelRequest, Turn
from chat.errors import ModelError
from chat.models import AiModel, Message, Run, Session
from chat.tools import registry
from oneclaw.toolkit import Tool, ToolContext
from people.models import User

NO_MODEL = "There is no model to answer yet. Add a provider under Settings → Providers, then try again."
SUMMARY = "What was said earlier in this conversation, in short:\n\n{summary}"
# Part of the window that is kept free for the answer, and the most that makes sense to keep.
ANSWER_SHARE, MOST_FOR_ANSWER = 4, 4096
# A message of so few words says little without the one before it.
FEW_WORDS = 3


@dataclass(frozen=True, slots=True)
class Material:
    """All that a run needs from the database, loaded at once."""

    run_id: UUID
    session: Session
    user: User
    model: AiModel
    agent_prompt: str
    temperature: float | None
    turns: tuple[Turn, ...]
    query: str
    tools: tuple[Tool, ...]
    context: ToolContext
    # Why nothing of memory may go into the request; empty when it may.
    memory_off: str = ""


@dataclass(frozen=True, slots=True)
class Recall:
    """What memory gave for this message, and the receipt of it."""

    stable: str = ""
    variable: str = ""
    receipt: dict[str, Any] = field(default_factory=dict)


def load(run_id: UUID, reply_id: int) -> Material:
    """Read what a run answers: the rows on the page before its own reply."""
    run = Run.objects.select_related("session__owner", "session__agent", "prompt").get(id=run_id)
    session, user = run.session, run.session.owner
    model = session.resolve_model()
    if model is None:
        raise ModelError(errors.NO_MODEL, NO_MODEL)
    off = memory_off(session, model)
    agent = session.agent or agents.built_in()
    rows = said_before(session, reply_id)
    context = ToolContext(
        user=user,
        session_id=session.id,
        message_id=run.prompt_id,
        read_only=session.memory_mode == Session.MemoryMode.READ_ONLY,
    )
    return Material(
        run_id=run_id,
        session=session,
        user=user,
        model=model,
        agent_prompt=agent.prompt,
        temperature=agent.temperature,
        turns=tuple(history.turns(rows, without=registry.memory_names if off else ())),
        query=query_for(rows),
        tools=registry.offered(context, model, memory=not off),
        context=context,
        memory_off=off,
    )


def said_before(session: Session, reply_id: int | None = None) -> list[Message]:
    """The rows that a request holds: on the page, not in the summary, before the reply to be made."""
    rows = Message.objects.filter(session=session, shelf=None, type__in=history.TYPES)
    if session.summary_until_id:
        rows = rows.filter(id__gt=session.summary_until_id)
    found = history.in_order(rows.defer("receipt", "thinking"))
    if reply_id is None:
        return found
    end = next((at for at, row in enumerate(found) if row.id == reply_id), len(found))
    return found[:end]


def memory_off(session: Session, model: AiModel) -> str:
    if session.memory_mode == Session.MemoryMode.OFF:
        return "Memory is off in this chat."
    if not session.owner.memory_enabled:
        return "Memory is switched off in your settings."
    if not model.provider.send_memory:
        return f"Memory is never sent to {model.provider.name}."
    return ""


def query_for(rows: Sequence[Message]) -> str:
    """What memory is searched for: the user's message, with the one before it when it says little."""
    asked = [row.content for row in rows if row.type == Message.Type.USER][-2:]
    if len(asked) == 2 and len(asked[1].split()) <= FEW_WORDS:
        return f"{asked[0][-500:]}\n{asked[1]}"
    return asked[-1] if asked else ""


def window(model: AiModel) -> int:
    return model.context_window or settings.CONTEXT_WINDOW


def request(
    material: Material, recall: Recall, said: Sequence[Turn] = (), share: float = 1.0
) -> ModelRequest:
    """The request, stable parts first; oldest messages are left out where the window is too small.

    `said` is what this run has said and done so far; `share` is the part of the window to use.
    """
    whole = ModelRequest.to(
        material.model,
        (*material.turns, *said),
        system=(
            "\n\n".join(filter(None, [material.agent_prompt.strip(), today(material.user)])),
            SUMMARY.format(summary=material.session.summary) if material.session.summary else "",
            recall.stable,
        ),
        notes=recall.variable,
        tools=material.tools,
        temperature=material.temperature,
    )
    size = int(window(material.model) * share)
    room = size - min(size // ANSWER_SHARE, MOST_FOR_ANSWER) - overhead(whole)
    return replace(whole, messages=fitting(whole.messages, room, keep=len(said) + 1))


def today(user: User) -> str:
    return f"Today is {timezone.now().astimezone(user.zone):%A, %Y-%m-%d}."


def overhead(whole: ModelRequest) -> int:
    schemas = sum(tokens.estimate(tool.description + json.dumps(tool.parameters)) for tool in whole.tools)
    return schemas + sum(tokens.estimate(part) for part in (*whole.system, whole.notes))


def fitting(turns: tuple[Turn, ...], room: int, keep: int) -> tuple[Turn, ...]:
    """The newest turns that fit, beginning with one of the user's; the last `keep` always stay."""
    left, start = room, len(turns)
    for at in range(len(turns) - 1, -1, -1):
        left -= tokens.of_turn(turns[at])
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
