"""A chat's rows as the turns of a request: in the order they were said, whole rounds of tools together."""

from collections.abc import Collection, Iterable, Sequence

from chat.adapters import ToolAnswer, Turn
from chat.events import ToolCall
from chat.models import Message

TYPES = (
    Message.Type.USER,
    Message.Type.AI_RESPONSE,
    Message.Type.TOOL_CALL,
    Message.Type.TOOL_RESULT,
)


def in_order(messages: Iterable[Message]) -> list[Message]:
    """By id, but each run's rows together: a message sent during a reply comes after all of that reply."""
    rows = sorted(messages, key=lambda row: row.id)
    first: dict[object, int] = {}
    for row in rows:
        if row.run_id:
            first.setdefault(row.run_id, row.id)
    return sorted(rows, key=lambda row: (first.get(row.run_id, row.id), row.id))


def turns(messages: Sequence[Message], *, without: Collection[str] = ()) -> list[Turn]:
    """The rows as turns; calls of the tools named in `without` and their results are left out."""
    found: list[Turn] = []
    for row in messages:
        if row.type == Message.Type.USER:
            found.append(Turn("user", row.content))
        elif row.type == Message.Type.AI_RESPONSE:
            found.append(Turn("assistant", row.content, wire_state=row.wire_state))
        elif row.type not in TYPES or row.tool_name in without:
            # What was said beside such a call may be signed together with it.
            if row.tool_name in without and found and found[-1].role == "assistant":
                found[-1] = Turn("assistant", found[-1].text, found[-1].tool_calls)
        elif row.type == Message.Type.TOOL_CALL:
            _call(found, row)
        else:
            _result(found, row)
    return found


def _call(found: list[Turn], row: Message) -> None:
    data = row.tool_data if isinstance(row.tool_data, dict) else {}
    call = ToolCall(row.tool_call_id, row.tool_name, data, row.content)
    last = found[-1] if found else None
    if last is None or last.role != "assistant":
        found.append(Turn("assistant", "", (call,), wire_state=row.wire_state))
    else:
        found[-1] = Turn("assistant", last.text, (*last.tool_calls, call), (), last.wire_state)


def _result(found: list[Turn], row: Message) -> None:
    answer = ToolAnswer(row.tool_call_id, row.tool_name, row.content, bool(row.error_code))
    last = found[-1] if found else None
    if last is not None and last.role == "tool":
        found[-1] = Turn("tool", tool_results=(*last.tool_results, answer))
    else:
        found.append(Turn("tool", tool_results=(answer,)))
