"""What a run writes to the database: short transactions, each called in the engine's writing thread."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from chat.adapters.events import ToolCall, Usage
from chat.models import AiModel, Message, Run, Session
from chat.replies import elsewhere
from chat.sessions import search, sessions
from oneclaw.server import measures, presence
from oneclaw.toolkit import ToolResult

INTERRUPTED = "OneClaw was restarted during this reply. What had arrived is kept."
CUT_BY_DEATH = "The server that was writing this reply stopped. What had arrived is kept."
STOPPED = "The user stopped the reply before this call gave a result."
CUT_OFF = "The reply ended before this call gave a result."


@dataclass(slots=True)
class Claimed:
    """A run that is ours to work on, with its empty reply."""

    run_id: UUID
    session_id: UUID
    message: Message


@dataclass(slots=True)
class RunOutcome:
    """How a run ended, and what is still to be written of it."""

    status: str
    message: Message | None = None
    error_code: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Counted:
    """Which model was asked, and what it reported that took."""

    model: str
    usage: Usage | None

    @property
    def fields(self) -> dict[str, Any]:
        usage = self.usage
        return {
            "model_name": self.model,
            "input_tokens": usage.input_tokens if usage else None,
            "output_tokens": usage.output_tokens if usage else None,
        }


@transaction.atomic
def claim_next(session_id: UUID) -> Claimed | None:
    """Take the chat's oldest waiting run, unless somebody stopped it or another process has it.

    While another process answers in this chat nothing is taken: it goes on with what waits when it is done.
    """
    sessions.hold(session_id)
    if elsewhere.is_answering(session_id):
        return None
    # The runs by their still empty replies: one question less on every message's way to its model.
    waiting = Message.objects.filter(
        type=Message.Type.AI_RESPONSE, run__session_id=session_id, run__status=Run.Status.QUEUED
    )
    for reply in waiting.order_by("run__created_at", "run__prompt_id", "id"):
        assert reply.run_id
        run = Run.objects.filter(id=reply.run_id, status=Run.Status.QUEUED)
        taken = run.filter(stop_requested=False, session__deleted_at=None).update(
            status=Run.Status.RUNNING, started_at=timezone.now(), holder=presence.me()
        )
        if taken:
            return Claimed(reply.run_id, session_id, reply)
        run.update(status=Run.Status.STOPPED, finished_at=timezone.now())
    return None


@dataclass(frozen=True, slots=True)
class Growth:
    """How far the growing row of a run is."""

    run_id: UUID
    message_id: int
    text: str
    thinking: str
    thinking_ms: int | None


def save_growth(run_ids: list[UUID], grown: list[Growth]) -> list[UUID]:
    """Store how far the growing rows are; returns the runs that are to end.

    Somebody asked to stop them, or took this process for dead and ended them in its place.
    """
    ended = Q(stop_requested=True, status=Run.Status.RUNNING) | Q(status=Run.Status.INTERRUPTED)
    asked = list(Run.objects.filter(ended, id__in=run_ids).values_list("id", "status"))
    lost = {run_id for run_id, status in asked if status == Run.Status.INTERRUPTED}
    if grown := [each for each in grown if each.run_id not in lost]:
        with transaction.atomic():
            for each in grown:
                Message.objects.filter(id=each.message_id).update(
                    content=each.text, thinking=each.thinking, thinking_ms=each.thinking_ms
                )
            elsewhere.tell_growth(*(each.run_id for each in grown))
    return [run_id for run_id, _ in asked]


def note_request(message: Message, model: AiModel, receipt: dict[str, Any] | None) -> None:
    """Note the model and the memory that this reply is made with."""
    message.model_name, message.receipt = model.name, receipt
    message.untrusted = not model.may_write_memory
    message.save(update_fields=["model_name", "receipt", "untrusted"])


def _add(claimed: Claimed, **fields: Any) -> Message:
    """A further row of the run; it goes where the run's first row is, on the page or set aside."""
    # Asked now: it may have been set aside, or taken off the record, since the run began.
    now = Message.objects.filter(id=claimed.message.id).values("shelf_id", "off_record", "silenced_at")
    place = now.first() or {"off_record": claimed.message.off_record}
    elsewhere.tell_growth(claimed.run_id)
    return Message.objects.create(session_id=claimed.session_id, run_id=claimed.run_id, **place, **fields)


def next_message(claimed: Claimed, model: AiModel) -> Message:
    """A further row for the words that follow a round of tools."""
    untrusted = not model.may_write_memory
    return _add(claimed, type=Message.Type.AI_RESPONSE, model_name=model.name, untrusted=untrusted)


def _update(message: Message) -> None:
    """Never an insert: a row that was deleted meanwhile stays deleted."""
    fields = ("content", "thinking", "thinking_ms", "input_tokens", "output_tokens", "wire_state")
    message.content = message.content.replace("\0", "")
    Message.objects.filter(id=message.id).update(**{name: getattr(message, name) for name in fields})


def count(message: Message, usage: Usage) -> None:
    message.input_tokens, message.output_tokens = usage.input_tokens, usage.output_tokens


def save_calls(
    claimed: Claimed,
    message: Message | None,
    calls: list[ToolCall],
    wire_state: dict[str, Any] | None,
    counted: Counted | None = None,
) -> list[Message]:
    """The end of a round that called tools: its words, and a row for every call.

    In a round without words the first call has what the round took.
    """
    with transaction.atomic():
        if message is not None:
            message.wire_state = wire_state
            _update(message)
        return [
            _add(
                claimed,
                type=Message.Type.TOOL_CALL,
                tool_call_id=call.id[:200],
                tool_name=call.name[:100],
                tool_data=call.arguments,
                content=call.problem,
                wire_state=wire_state if message is None and number == 0 else None,
                **(counted.fields if counted and number == 0 else {}),
            )
            for number, call in enumerate(calls)
        ]


def save_results(claimed: Claimed, calls: list[Message], results: list[ToolResult]) -> list[Message]:
    with transaction.atomic():
        return [_result(claimed, call, result) for call, result in zip(calls, results, strict=True)]


def _result(claimed: Claimed, call: Message, result: ToolResult) -> Message:
    return _add(
        claimed,
        type=Message.Type.TOOL_RESULT,
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        content=result.content.replace("\0", ""),
        error_code=result.code[:40],
        tool_data=result.data or None,
    )


def _unanswered(rows: Iterable[Message]) -> list[Message]:
    """Calls without a result; ids may come again in later rounds, so each result answers one call."""
    waiting: dict[str, list[Message]] = {}
    kinds = (Message.Type.TOOL_CALL, Message.Type.TOOL_RESULT)
    for row in rows:
        if row.type not in kinds:
            continue
        calls = waiting.setdefault(row.tool_call_id, [])
        if row.type == Message.Type.TOOL_CALL:
            calls.append(row)
        elif calls:
            calls.pop(0)
    return [call for calls in waiting.values() for call in calls]


def give_up(claimed: Claimed, code: str, why: str) -> None:
    """End a run whose end can't be stored as it was: nothing of what it said is written here."""
    with transaction.atomic():
        ended = {"status": Run.Status.FAILED, "error_code": code, "error": why, "finished_at": timezone.now()}
        still_open = Run.objects.filter(id=claimed.run_id, status__in=Run.OPEN).update(**ended)
        elsewhere.tell_growth(claimed.run_id)
        if still_open and Message.objects.filter(id=claimed.message.id).exists():
            _add(claimed, type=Message.Type.ERROR, error_code=code, content=why)


def close(claimed: Claimed, outcome: RunOutcome) -> None:
    """The end of a run, whichever it was, in one transaction.

    One that was ended in this process's place, because it seemed dead, stays as it is; its words are kept.
    """
    # Nobody waits for the database while a long text is read for its words.
    search.catch_up()
    last = outcome.message.content.replace("\0", "") if outcome.message else ""
    known = {last: search.index_terms(last)}
    measures.count("replies", outcome.status)
    with transaction.atomic():
        elsewhere.tell_growth(claimed.run_id)
        still_open = Run.objects.filter(id=claimed.run_id, status__in=Run.OPEN).update(
            status=outcome.status,
            finished_at=timezone.now(),
            error_code=outcome.error_code[:40],
            error=outcome.error,
        )
        if outcome.message is not None:
            _update(outcome.message)
        rows = list(Message.objects.filter(run_id=claimed.run_id).defer("receipt", "thinking").order_by("id"))
        if not still_open or claimed.message not in rows:
            # Ended by another, or thrown away meanwhile to be made again.
            return
        missing = STOPPED if outcome.status == Run.Status.STOPPED else CUT_OFF
        for call in _unanswered(rows):
            _result(claimed, call, ToolResult.error("interrupted", missing))
        if outcome.error:
            _add(
                claimed,
                type=Message.Type.ERROR,
                error_code=outcome.error_code[:40],
                content=outcome.error,
            )
        said = [row for row in rows if row.type == Message.Type.AI_RESPONSE]
        words = next((row.content for row in reversed(said) if row.content), "")
        changes: dict[str, Any] = {"active_at": timezone.now()}
        if words:
            changes["preview"] = " ".join(words[:400].split())[:160]
        Session.objects.filter(id=claimed.session_id).update(**changes)
        search.catch_up()
        search.add(said, known)
