"""Tool calls as they arrive in pieces: by index, with or without ids, as text that may not be JSON."""

import hashlib
import json
import math
import re
import uuid
from dataclasses import dataclass
from typing import Any

from chat.events import ToolCall

UNREADABLE = "The arguments are not a JSON object: call the tool again with valid JSON."


@dataclass(slots=True)
class Pending:
    index: int
    id: str = ""
    name: str = ""
    text: str = ""


class Calls:
    """The calls of one answer, in the order in which they began."""

    def __init__(self) -> None:
        self.pending: list[Pending] = []
        # Fields beyond the protocol's that a server wants back with the call (signatures).
        self.extras: dict[str, dict[str, Any]] = {}

    def __bool__(self) -> bool:
        return bool(self.pending)

    def add(self, part: dict[str, Any]) -> None:
        """One delta of the OpenAI kind."""
        function = part.get("function") or {}
        call = self._at(part.get("index"), part.get("id") or "", function.get("name") or "")
        call.id = call.id or part.get("id") or f"call_{uuid.uuid4().hex[:24]}"
        name = function.get("name") or ""
        if not call.text and name != call.name:
            call.name += name
        arguments = function.get("arguments")
        call.text += json.dumps(arguments) if isinstance(arguments, dict) else arguments or ""
        if part.get("extra_content"):
            self.extras[call.id] = {"extra_content": part["extra_content"]}

    def _at(self, index: int | None, id: str, name: str) -> Pending:
        """The call this piece belongs to. Some servers number every call 0, some give no number."""
        last = self.pending[-1] if self.pending else None
        if index is None:
            if last and not (id and id != last.id) and not (name and last.text):
                return last
            index = len(self.pending)
        else:
            for call in reversed(self.pending):
                if call.index == index and not (id and call.id and id != call.id and name):
                    return call
        self.pending.append(Pending(index))
        return self.pending[-1]

    def finished(self) -> list[ToolCall]:
        seen: set[str] = set()
        calls = []
        for pending in self.pending:
            if pending.id in seen:
                pending.id = f"call_{uuid.uuid4().hex[:24]}"
            seen.add(pending.id)
            calls.append(parse(pending.id, pending.name, pending.text))
        return calls


def parse(id: str, name: str, text: str) -> ToolCall:
    """A whole call; arguments that can't be read become a problem that the model is told of."""
    try:
        arguments = load(text) if text.strip() else {}
        if isinstance(arguments, str):
            # Some models encode twice.
            arguments = load(arguments)
    except (ValueError, RecursionError):
        return ToolCall(id, name, problem=UNREADABLE)
    if arguments is None:
        arguments = {}
    return (
        ToolCall(id, name, arguments)
        if isinstance(arguments, dict)
        else ToolCall(id, name, problem=UNREADABLE)
    )


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
