"""What is asked of a model, in values that belong to no protocol."""

import base64
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from django.conf import settings

from chat.adapters.events import ToolCall
from chat.errors import AUTH, ModelError
from oneclaw.toolkit import Tool
from oneclaw.vault import SecretUnreadable

if TYPE_CHECKING:
    from chat.models import AiModel

Role = Literal["user", "assistant", "tool"]
INTERRUPTED = "This call was interrupted before it gave a result."
PIXELS_A_TOKEN = 750
LEAST_PICTURE_TOKENS, MOST_PICTURE_TOKENS = 85, 1_600


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A tool's result on its way back to the model."""

    call_id: str
    name: str
    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture on its way to a model that sees: PNG, JPEG, WebP or GIF, already small enough for it."""

    media_type: str
    data: bytes = field(repr=False)
    name: str = ""
    width: int = 0
    height: int = 0

    @property
    def base64(self) -> str:
        return base64.b64encode(self.data).decode("ascii")

    @property
    def tokens(self) -> int:
        """What it may cost: by Anthropic's rule, and at most what a picture of the largest size costs."""
        area = self.width * self.height or MOST_PICTURE_TOKENS * PIXELS_A_TOKEN
        return min(MOST_PICTURE_TOKENS, max(LEAST_PICTURE_TOKENS, area // PIXELS_A_TOKEN))


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One turn of the conversation: the user's text, the model's text and calls, or the tools' results."""

    role: Role
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_results: tuple[ToolAnswer, ...] = ()
    # From the Finished event that ended this turn; other protocols and models ignore it.
    wire_state: dict[str, Any] | None = None
    # What the user shows with the text, in order.
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Whether tools are called: as the model likes, not at all, or at least one, which may be named."""

    mode: Literal["auto", "none", "required"] = "auto"
    name: str = ""

    @property
    def is_forced(self) -> bool:
        return self.mode == "required"


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """JSON instead of words; with a schema, JSON of that shape."""

    schema: dict[str, Any] | None = None
    name: str = "answer"
    description: str = ""
    strict: bool | None = None


Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """Wishes for how words are chosen and how much is thought; what a protocol lacks is left out."""

    top_p: float | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    effort: Effort | None = None
    # Whether one answer may hold several calls.
    parallel_calls: bool | None = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request: whom to ask, what was said, and how to answer."""

    kind: str
    base_url: str
    model: str
    messages: tuple[ChatTurn, ...]
    key: str = field(default="", repr=False)
    # Whether the machine's owner set the provider up, so that its address is no visitor's choice.
    given: bool = False
    # Parts that stay the same from message to message come first, so that prompt caches hold.
    system: tuple[str, ...] = ()
    # Notes for the newest message alone: they go with it, after all that providers can cache.
    notes: str = ""
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = ToolChoice()
    answer_format: AnswerFormat | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    sampling: Sampling = Sampling()
    thinking: bool = False
    stream: bool = True
    # Seconds without a byte, and for the whole answer.
    silence: float = 300.0
    deadline: float = 3600.0

    @classmethod
    def to(
        cls,
        model: "AiModel",
        messages: Iterable[ChatTurn],
        *,
        system: str | Sequence[str] = (),
        notes: str = "",
        tools: Iterable[Tool] = (),
        tool_choice: ToolChoice | None = None,
        answer_format: AnswerFormat | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        stop: Iterable[str] = (),
        sampling: Sampling | None = None,
        thinking: bool | None = None,
        deadline: float | None = None,
    ) -> "ModelRequest":
        """A request to this model, with its provider's address and key. Reads `model.provider`."""
        provider = model.provider
        try:
            key = provider.key()
        except SecretUnreadable as error:
            raise ModelError(AUTH, f"{provider.name}: {error}") from None
        parts = (system,) if isinstance(system, str) else tuple(system)
        return cls(
            kind=provider.kind,
            base_url=provider.base_url.rstrip("/"),
            model=model.name,
            messages=tuple(messages),
            key=key,
            given=provider.is_given,
            system=tuple(part for part in parts if part.strip()),
            notes=notes,
            tools=tuple(tools) if model.supports_tools else (),
            tool_choice=tool_choice or ToolChoice(),
            answer_format=answer_format,
            temperature=temperature,
            max_tokens=max_tokens,
            stop=tuple(stop),
            sampling=sampling or Sampling(),
            thinking=model.supports_thinking if thinking is None else thinking,
            silence=settings.MODEL_SILENCE,
            deadline=deadline or settings.MODEL_DEADLINE,
        )

    def sends_tools(self, without: Collection[str]) -> bool:
        """Whether tools go along: a provider that refused some gets none, unless one must be called."""
        return bool(self.tools) and ("tools" not in without or self.tool_choice.is_forced)

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.key,) if self.key else ()


def newest(turns: Sequence[ChatTurn]) -> int:
    """Where the user spoke last; -1 where nobody did."""
    return max((at for at, turn in enumerate(turns) if turn.role == "user"), default=-1)


def conversation(request: ModelRequest) -> list[ChatTurn]:
    """The request's turns, settled, with its notes where the user spoke last."""
    turns = settled(request.messages)
    at = newest(turns)
    if request.notes.strip() and at >= 0:
        turns[at] = replace(turns[at], text=f"{request.notes}\n\n{turns[at].text}")
    return turns


def settled(messages: Iterable[ChatTurn]) -> list[ChatTurn]:
    """The turns with a result for every call and a call for every result, as all protocols demand.

    Empty turns go, and neighbours of one role become one: a crash, a stop or a deleted message leaves such.
    """
    turns: list[ChatTurn] = []
    waiting: dict[str, ToolCall] = {}
    for turn in messages:
        if turn.role == "tool":
            answers = tuple(answer for answer in turn.tool_results if waiting.pop(answer.call_id, None))
            if answers:
                _join(turns, replace(turn, text="", tool_results=answers))
            continue
        if not (turn.text.strip() or turn.tool_calls or turn.pictures):
            continue
        _close(turns, waiting)
        _join(turns, turn)
        waiting = {call.id: call for call in turn.tool_calls}
    _close(turns, waiting)
    return turns


def contents(turn: ChatTurn) -> Iterator[str | Picture]:
    """What a turn of the user's holds, pictures before the words about them, several by name."""
    for number, picture in enumerate(turn.pictures, 1):
        if len(turn.pictures) > 1:
            yield f"Picture {number}: {picture.name}".rstrip(": ")
        yield picture
    if turn.text.strip():
        yield turn.text


def begun_by_user(turns: list[ChatTurn]) -> list[ChatTurn]:
    """The turns, with a word from the user first where the oldest were left out."""
    return (
        turns
        if turns and turns[0].role == "user"
        else [ChatTurn("user", "(Earlier messages left out.)"), *turns]
    )


def _close(turns: list[ChatTurn], waiting: dict[str, ToolCall]) -> None:
    if waiting:
        missing = tuple(ToolAnswer(call.id, call.name, INTERRUPTED, True) for call in waiting.values())
        _join(turns, ChatTurn("tool", tool_results=missing))
        waiting.clear()


def _join(turns: list[ChatTurn], turn: ChatTurn) -> None:
    last = turns[-1] if turns else None
    if last is None or last.role != turn.role or last.tool_calls:
        turns.append(turn)
    elif turn.role == "tool":
        turns[-1] = replace(last, tool_results=last.tool_results + turn.tool_results)
    else:
        text = "\n\n".join(filter(None, [last.text, turn.text]))
        turns[-1] = replace(turn, text=text, wire_state=None, pictures=last.pictures + turn.pictures)
