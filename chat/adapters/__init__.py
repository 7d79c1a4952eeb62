"""The three wire protocols: each turns a ModelRequest into a stream of the same events."""

from collections.abc import AsyncGenerator

from chat.adapters import anthropic, gemini, openai
from chat.adapters.events import Event
from chat.adapters.http import Wire, converse
from chat.adapters.request import ChatTurn, ModelRequest, Picture, ToolAnswer

__all__ = ["ChatTurn", "ModelRequest", "Picture", "ToolAnswer", "stream"]

WIRES: dict[str, Wire] = {"openai": openai.WIRE, "anthropic": anthropic.WIRE, "gemini": gemini.WIRE}


def stream(request: ModelRequest) -> AsyncGenerator[Event, None]:
    """The answer, in the protocol of the request's kind."""
    return converse(request, WIRES[request.kind])
