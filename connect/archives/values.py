"""What a reader gives of an archive, whichever program wrote it."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeAlias

from django.utils import timezone

# A date outside these was never said: a clock at its zero, or a number that is no date.
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
AHEAD = timedelta(days=1)
MOST_TEXT = 1_000_000  # characters of one message
MOST_RESULT = 30_000  # of what a tool answered, as for tools of OneClaw's own
MOST_TITLE = 200
MOST_ODD = 40  # of what stands where a date should
MOST_MEMORIES, MOST_MEMORY = 2_000, 2_000  # things that another program remembered, and characters of one
DEEPEST_VALUE = 32
TOO_LONG = f"It is longer than {MOST_MEMORY:,} characters."
TOO_MANY = f"Only the first {MOST_MEMORIES:,} memories are taken."
CUT = "\n\n[… the rest was left out: it is too long]"


class Kind:
    """Who wrote an archive; stored with everything that was imported from it."""

    ONECLAW = "oneclaw"
    CHATGPT = "chatgpt"
    CLAUDE = "claude"
    OPEN_WEBUI = "openwebui"
    LIBRECHAT = "librechat"
    MARKDOWN = "markdown"

    LABELS = {
        ONECLAW: "OneClaw",
        CHATGPT: "ChatGPT",
        CLAUDE: "Claude",
        OPEN_WEBUI: "Open WebUI",
        LIBRECHAT: "LibreChat",
        MARKDOWN: "Markdown notes",
    }


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """A picture or a file of a message; `entry` is where the archive has it, if it does, or what it holds."""

    name: str
    entry: str = ""
    mime: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """One row of a chat: as a reader found it, then with its place among the versions."""

    key: str
    type: str
    content: str = ""
    at: datetime | None = None
    thinking: str = ""
    tool_name: str = ""
    tool_call_id: str = ""
    tool_data: Any = None
    error_code: str = ""
    model: str = ""
    files: tuple[ForeignFile, ...] = ()
    # Names of other rows: the first of its versions, the one it was set aside with, its reply's first row,
    # the message that the reply answers.
    version_of: str = ""
    shelf: str = ""
    reply: str = ""
    prompt: str = ""
    # What OneClaw's own archives know besides.
    own: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignChat:
    """A conversation, its rows in the order in which they are stored."""

    kind: str
    id: str
    title: str
    created_at: datetime | None
    rows: tuple[Said, ...]
    archived: bool = False
    pinned: bool = False
    own: Mapping[str, Any] = field(default_factory=dict)
    # What stands there for its date, and for those of messages, and can't be one.
    odd_date: str = ""
    odd_dates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ForeignMemory:
    """One thing that another program remembered."""

    kind: str
    text: str
    day: date | None = None
    category: str = "notes"
    odd_date: str = ""


@dataclass(frozen=True, slots=True)
class ForeignNote:
    """The notes of one day. `entries` keep their markers where the archive is OneClaw's own."""

    kind: str
    day: date
    text: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A whole MEMORY.md, with what OneClaw's own archives know of its entries."""

    kind: str
    text: str
    name: str = ""
    entries: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ForgottenTraces:
    """What keeps things forgotten, from an archive of OneClaw's own."""

    key: str
    traces: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class PastChange:
    """A change of MEMORY.md in the history of an archive of OneClaw's own; `before` is None if it goes on."""

    key: str
    author: str
    writer: str
    reason: str
    at: datetime | None
    after: str
    before: str | None = None
    chat: str = ""
    undone_by: str = ""


@dataclass(frozen=True, slots=True)
class ForeignAgent:
    """A prompt with a name, an agent's or a project's; `model` is what its model is called."""

    kind: str
    name: str
    description: str = ""
    prompt: str = ""
    model: str = ""
    temperature: float | None = None
    reads_memory: bool = True
    writes_memory: bool = True


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that is left out, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Redated:
    """Something that comes with another date than the archive says, and why."""

    what: str
    why: str


Item: TypeAlias = (
    ForeignChat
    | ForeignMemory
    | ForeignNote
    | MemoryFile
    | ForgottenTraces
    | PastChange
    | ForeignAgent
    | Skipped
)


def text_of(value: object, most: int = MOST_TEXT) -> str:
    """A string that a database and a page can hold; anything else is nothing."""
    if not isinstance(value, str):
        return ""
    text = value.replace("\0", "").replace("\r\n", "\n")
    if len(text) > most:
        text = text[:most] + CUT
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            # Half of a surrogate pair is no character.
            text = text.encode("utf-8", "replace").decode()
    return text


def title_of(value: object) -> str:
    """A title in one line, without what steers a terminal or turns the direction of writing."""
    text = text_of(value, 10 * MOST_TITLE)
    printable = (letter if letter.isprintable() else " " for letter in text)
    return " ".join("".join(printable).split())[:MOST_TITLE]


def unpacked(text: str) -> Any:
    """What a string holds as JSON; the string itself if that is nothing, or nests too deep to be stored."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    level = [value]
    for _ in range(DEEPEST_VALUE):
        level = [each for outer in level for each in _within(outer)]
        if not level:
            return value
    return text


def as_json(value: object) -> str:
    """A value as text for a page; nothing for none."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _within(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def key_of(value: object) -> str:
    """A name that another program gave: a short string, or nothing."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return text_of(value, 200).strip()[:200] if isinstance(value, str) else ""


def moment(value: object) -> datetime | None:
    """A time as programs write it: seconds or milliseconds since 1970, or ISO 8601; None if it can't be."""
    found: datetime | None = None
    try:
        if isinstance(value, bool) or value is None:
            return None
        if isinstance(value, int | float):
            found = _since_1970(float(value))
        elif isinstance(value, str) and 8 <= len(value) <= 40:
            found = datetime.fromisoformat(value.strip())
            found = found if found.tzinfo else found.replace(tzinfo=UTC)
        elif isinstance(value, dict) and len(value) == 1:
            # MongoDB's way of writing a date.
            return moment(next(iter(value.values())))
    except (ValueError, OverflowError, OSError):
        return None
    if found is None or not EARLIEST <= found <= timezone.now() + AHEAD:
        return None
    return found.astimezone(UTC)


def _since_1970(number: float) -> datetime | None:
    if not math.isfinite(number) or number > 1e20:
        return None
    while number > 1e11:
        # Milliseconds, microseconds, nanoseconds.
        number /= 1000
    return datetime.fromtimestamp(number, UTC)


def odd_date(*values: object) -> str:
    """What stands there for a date and can't be one, as people read it; nothing where one of them can."""
    if any(map(moment, values)):
        return ""
    return next((_shown(value) for value in values if value not in (None, "")), "")


def odd_dates(messages: Iterable[Sequence[object]]) -> tuple[str, ...]:
    """The same of each message that has such a date, by all that each says of when it was."""
    return tuple(filter(None, (odd_date(*values) for values in messages)))


def _shown(value: object) -> str:
    try:
        if isinstance(value, int | float) and (found := _since_1970(float(value))):
            return found.date().isoformat()
    except (ValueError, OverflowError, OSError):
        pass
    return title_of(value if isinstance(value, str) else as_json(value))[:MOST_ODD]


def real_day(text: str) -> date | None:
    """A day as YYYY-MM-DD; None if it can't be."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if moment(f"{day.isoformat()}T12:00:00Z") else None


def mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
