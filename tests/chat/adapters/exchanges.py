"""Asking the scripted server through an adapter, and what came of it."""

from typing import Any

from chat import adapters
from chat.adapters import ChatTurn, ModelRequest
from chat.adapters.events import Event, TextDelta, ThinkingDelta, ToolCall
from chat.errors import ModelError
from oneclaw.toolkit import Tool, ToolResult
from tests.modelserver import ModelServer

KINDS = ["openai", "anthropic", "gemini"]
SECRET = "sk-secret-0123456789-wxyz"
CLOCK = Tool("get_current_time", "Now", {"type": "object", "properties": {}}, lambda *_: ToolResult(""))
SEARCH = Tool(
    "search_memory",
    "Look",
    {
        "type": "object",
        "properties": {"query": {"type": "string", "maxLength": 500}, "top_k": {"type": ["integer", "null"]}},
        "required": ["query"],
        "additionalProperties": False,
    },
    lambda *_: ToolResult(""),
)


def request_to(kind: str, server: ModelServer, text: str = "Hi", **fields: Any) -> ModelRequest:
    messages = fields.pop("messages", (ChatTurn("user", text),))
    values = {"model": "scripted-model", "base_url": server.base_url(kind), "key": SECRET, **fields}
    return ModelRequest(kind=kind, messages=messages, **values)


async def answer(request: ModelRequest) -> list[Event]:
    return [event async for event in adapters.stream(request)]


async def failure(request: ModelRequest) -> tuple[ModelError, list[Event]]:
    """The error that ended the answer, and what came before it."""
    events: list[Event] = []
    try:
        async for event in adapters.stream(request):
            events.append(event)
    except ModelError as error:
        return error, events
    raise AssertionError(f"No error, but {events}")


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def thinking_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, ThinkingDelta))


def calls_of(events: list[Event]) -> tuple[ToolCall, ...]:
    return tuple(event for event in events if isinstance(event, ToolCall))
