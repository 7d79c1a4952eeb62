"""What a tool is: the values that cross between rooms that offer tools and the chat that runs them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from people.models import User


class NoLongerAllowed(Exception):
    """Whoever began this may not end it: what let them in was taken back meanwhile."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """For whom, and in which chat, a tool runs."""

    user: "User"
    session_id: UUID | None = None
    message_id: int | None = None
    read_only: bool = False
    # Nothing of memory may go to the model, be it in a result.
    write_only: bool = False
    # The program outside that calls; empty for the chat's own model.
    client: str = ""
    # What the user said in the message that is being answered; None where no message is.
    asked: str | None = None
    # Called right before something is written; raises NoLongerAllowed.
    check: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answers the model; `code` is set on an error, `data` is for the page (chips, Undo)."""

    content: str
    code: str = ""
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return not self.code

    @classmethod
    def error(cls, code: str, message: str) -> "ToolResult":
        return cls(content=message, code=code)


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may call: its JSON schema for the model, its handler for us."""

    name: str
    description: str
    parameters: dict[str, Any]
    run: Callable[[ToolContext, dict[str, Any]], ToolResult]
    timeout: float = 30.0
    writes: bool = False
    # Its result tells what memory holds.
    reads: bool = False
