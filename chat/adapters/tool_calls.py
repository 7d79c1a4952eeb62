"""Tool calls as they arrive in pieces: by index, with or without ids, as text that may not be JSON."""

import hashlib
import json
import math
import re
import uuid
from dataclasses import dataclass, field
from typing import Any

from chat.adapters.bounds import DEEPEST, MOST_ARGUMENTS, MOST_CALLS, Pieces, Room, weight
from chat.adapters.cleaning import clean, clean_json
from chat.adapters.events import ToolCall

UNREADABLE = "The arguments are not a JSON object: call the tool again with valid JSON."
TOO_LONG = f"The arguments are longer than {MOST_ARGUMENTS:,} characters: call the tool again with less."
TOO_DEEP = f"The arguments nest deeper than {DEEPEST} levels: call the tool again with simpler ones."
# What the columns of the database hold.
LONGEST_ID, LONGEST_NAME = 200, 100


@dataclass(slots=True)
class Pending:
    index: int
    id: str = ""
    name: str = ""
    text: Pieces = field(default_factory=lambda: Pieces(MOST_ARGUMENTS))


class Calls:
    """The calls of one answer, in the order in which they began."""

    def __init__(self) -> None:
        self.pending: list[Pending] = []
        # Fields beyond the protocol's that a server wants back with the call (signatures).
        self.extras: dict[str, dict[str, Any]] = {}
        self.room = Room()

    def __bool__(self) -> bool:
        return bool(self.pending)

    def add(self, part: dict[str, Any]) -> None:
        """One delta of the OpenAI kind."""
        function = part.get("function") or {}
        name = function.get("name") or ""
        call = self._at(part.get("index"), part.get("id") or "", name)
        if call is None:
            return
        call.id = call.id or clean(part.get("id") or "")[:LONGEST_ID] or made_id()
        if not call.text and name != call.name:
            call.name = (call.name + name)[:LONGEST_NAME]
        arguments = function.get("arguments")
        call.text.add(json.dumps(arguments) if isinstance(arguments, dict) else arguments or "")
        extra = part.get("extra_content")
        if extra and self.room.take(extra):
            self.extras[call.id] = {"extra_content": clean_json(extra)}

    def _at(self, index: int | None, id: str, name: str) -> Pending | None:
        """The call this piece belongs to; None past the most that one answer may make.

        Some servers number every call 0, some give no number.
        """
        last = self.pending[-1] if self.pending else None
        if index is None:
            if last and not (id and id != last.id) and not (name and last.text):
                return last
            index = len(self.pending)
        else:
            for call in reversed(self.pending):
                if call.index == index and not (id and call.id and id != call.id and name):
                    return call
        if len(self.pending) >= MOST_CALLS:
            return None
        self.pending.append(Pending(index))
        return self.pending[-1]

    def finished(self) -> list[ToolCall]:
        seen: set[str] = set()
        calls = []
        for pending in self.pending:
            if pending.id in seen:
                pending.id = made_id()
            seen.add(pending.id)
            problem = TOO_LONG if pending.text.too_long else ""
            calls.append(parse(pending.id, pending.name, str(pending.text), self.room, problem))
        return calls


def made_id() -> str:
    return f"call_{uuid.uuid4().hex[:24]}"


def parse(id: str, name: str, text: str, room: Room, problem: str = "") -> ToolCall:
    """A whole call; arguments that can't be read or kept become a problem that the model is told of."""
    id, name = clean(id)[:LONGEST_ID], clean(name)[:LONGEST_NAME]
    if problem or len(text) > MOST_ARGUMENTS:
        return ToolCall(id, name, problem=problem or TOO_LONG)
    try:
        arguments = load(text) if text.strip() else {}
        if isinstance(arguments, str):
            # Some models encode twice.
            arguments = load(arguments)
    except (ValueError, RecursionError):
        return ToolCall(id, name, problem=UNREADABLE)
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        return ToolCall(id, name, problem=UNREADABLE)
    if not room.take(arguments):
        return ToolCall(id, name, problem=TOO_DEEP if weight(arguments) is None else TOO_LONG)
    return ToolCall(id, name, clean_json(arguments))


def load(text: str) -> Any:
    """JSON as RFC 8259 has it: Python reads NaN and Infinity too, and the database takes neither."""
    return json.loads(text, parse_constant=finite, parse_float=finite)


def finite(text: str) -> float:
    """The number; 1e999 is an infinity as well."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number in JSON")
    return number


def digest_id(id: str, quirks: dict[str, Any]) -> str:
    """The id, or nine letters made from it for the one provider that insists on nine."""
    if not quirks.get("short_ids") or re.fullmatch(r"[A-Za-z0-9]{9}", id):
        return id
    return hashlib.sha256(id.encode()).hexdigest()[:9]
