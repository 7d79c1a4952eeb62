"""The three wire protocols: each turns a ModelRequest into a stream of the same events."""

from collections.abc import AsyncGenerator
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

from chat.adapters import anthropic, gemini, openai
from chat.adapters.request import ModelRequest, ToolAnswer, Turn
from chat.events import Event

if TYPE_CHECKING:
    from chat.models import Provider

__all__ = ["Adapter", "ModelRequest", "ToolAnswer", "Turn", "adapter_for", "stream"]

BY_KIND: dict[str, ModuleType] = {"openai": openai, "anthropic": anthropic, "gemini": gemini}


class Adapter(Protocol):
    def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]: ...


def adapter_for(provider: "Provider") -> Adapter:
    return BY_KIND[provider.kind]


def stream(request: ModelRequest) -> AsyncGenerator[Event, None]:
    """The answer, by the adapter of the request's kind."""
    adapter: Adapter = BY_KIND[request.kind]
    return adapter.stream(request)
