"""The Anthropic Messages protocol."""

from collections.abc import AsyncGenerator

from chat.adapters.request import ModelRequest
from chat.events import Event


def stream(request: ModelRequest) -> AsyncGenerator[Event, None]:
    raise NotImplementedError
