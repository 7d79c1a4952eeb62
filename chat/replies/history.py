"""A chat's rows as the turns of a request, whole rounds of tools together."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from chat.adapters import ChatTurn, ToolAnswer
from chat.adapters.events import ToolCall
from chat.attachments.framing import Enclosed
from chat.models import Message

TYPES = (
    Message.Type.USER,
    Message.Type.AI_RESPONSE,
    Message.Type.TOOL_CALL,
    Message.Type.TOOL_RESULT,
)

NOTHING = Enclosed()
NO_FILES: Mapping[int, Any] = MappingProxyType({})


def turns(
    messages: Sequence[Message],
    *,
    without: Collection[str] = (),
    files: Mapping[int, Enclosed] = NO_FILES,
) -> list[ChatTurn]:
    """The rows as turns; calls of the tools named in `without` and their results are left out."""
    found: list[ChatTurn] = []
    for row in messages:
        if row.type == Message.Type.USER:
            came = files.get(row.id, NOTHING)
            text = "\n\n".join(filter(None, [came.text, row.content]))
            found.append(ChatTurn("user", text, pictures=came.pictures))
        elif row.type == Message.Type.AI_RESPONSE:
            found.append(ChatTurn("assistant", row.content, wire_state=row.wire_state))
        elif row.type not in TYPES or row.tool_name in without:
            # What was said beside such a call may be signed together with it.
            if row.tool_name in without and found and found[-1].role == "assistant":
                found[-1] = ChatTurn("assistant", found[-1].text, found[-1].tool_calls)
        elif row.type == Message.Type.TOOL_CALL:
            _call(found, row)
        else:
            _result(found, row)
    return found


def _call(found: list[ChatTurn], row: Message) -> None:
    data = row.tool_data if isinstance(row.tool_data, dict) else {}
    call = ToolCall(row.tool_call_id, row.tool_name, data, row.content)
    last = found[-1] if found else None
    if last is None or last.role != "assistant":
        found.append(ChatTurn("assistant", "", (call,), wire_state=row.wire_state))
    else:
        found[-1] = ChatTurn("assistant", last.text, (*last.tool_calls, call), (), last.wire_state)


def _result(found: list[ChatTurn], row: Message) -> None:
    answer = ToolAnswer(row.tool_call_id, row.tool_name, row.content, bool(row.error_code))
    last = found[-1] if found else None
    if last is not None and last.role == "tool":
        found[-1] = ChatTurn("tool", tool_results=(*last.tool_results, answer))
    else:
        found.append(ChatTurn("tool", tool_results=(answer,)))
