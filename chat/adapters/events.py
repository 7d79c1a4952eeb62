"""What an adapter yields while a model answers: the same frozen values for every protocol."""

from dataclasses import dataclass, field
from typing import Any, Literal

Reason = Literal["stop", "length", "tools", "refused"]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of the answer."""

    text: str

    def __post_init__(self) -> None:
        _check(self.text, str)


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """The next piece of what the model thought aloud before or between its answers."""

    text: str

    def __post_init__(self) -> None:
        _check(self.text, str)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A whole call, once its arguments have all arrived; `problem` says why they can't be read."""

    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    problem: str = ""

    def __post_init__(self) -> None:
        _check(self.id, str)
        _check(self.name, str)
        _check(self.arguments, dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; unknown is None, never 0."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None

    @classmethod
    def told(cls, input_tokens: Any, output_tokens: Any, cached_tokens: Any = None) -> "Usage":
        """The provider's number, if it is a count at all."""
        return cls(*(_count(value) for value in (input_tokens, output_tokens, cached_tokens)))


@dataclass(frozen=True, slots=True)
class Finished:
    """Always the last event of a whole answer; `wire_state` goes back with the turn it came with."""

    reason: Reason = "stop"
    wire_state: dict[str, Any] | None = None


Event = TextDelta | ThinkingDelta | ToolCall | Usage | Finished


def _check(value: object, kind: type) -> None:
    """Refuse values of the wrong type: what a provider sends may have any shape."""
    if not isinstance(value, kind):
        raise TypeError(f"{value!r:.40} is not of type {kind.__name__}")


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None
