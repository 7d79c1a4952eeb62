"""What the scripted server answers with, in values that belong to no protocol."""

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


class Gate:
    """Holds an answer in the middle until the test lets it go on."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._open = threading.Event()

    def release(self) -> None:
        self._open.set()

    def wait_until_reached(self, timeout: float = 10) -> None:
        assert self._reached.wait(timeout), "The answer never got to its gate."

    def hold(self, timeout: float = 60) -> None:
        self._reached.set()
        self._open.wait(timeout)


@dataclass(frozen=True)
class Recorded:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    json: Any = None

    @property
    def text(self) -> str:
        """The whole body as text, for looking for words that must or must not be in it."""
        return self.raw.decode("utf-8", "replace")

    @property
    def system(self) -> str:
        """The system prompt, whatever the protocol calls it."""
        body = self.json or {}
        if "systemInstruction" in body:
            return "\n\n".join(part.get("text", "") for part in body["systemInstruction"]["parts"])
        if "system" in body:
            blocks = body["system"]
            return blocks if isinstance(blocks, str) else "\n\n".join(block["text"] for block in blocks)
        return "\n\n".join(m["content"] for m in body.get("messages", []) if m["role"] == "system")

    @property
    def last_user(self) -> str:
        """The newest thing the user said, without the notes from memory that came with it."""
        body = self.json or {}
        for message in reversed(body.get("messages") or body.get("contents") or []):
            if message["role"] == "user":
                content = message.get("content") or message.get("parts") or ""
                text = content if isinstance(content, str) else "".join(p.get("text", "") for p in content)
                if text:
                    return NOTES.sub("", text)
        return ""

    @property
    def tool_names(self) -> list[str]:
        body = self.json or {}
        names = []
        for tool in body.get("tools") or []:
            for each in tool.get("functionDeclarations", [tool]):
                names.append(each.get("name") or each["function"]["name"])
        return names


NOTES = re.compile(r"\A<oneclaw-memory>.*?</oneclaw-memory>\s*", re.S)
Match = str | Callable[[Recorded], bool] | None


@dataclass(frozen=True)
class Script:
    """One answer. With nothing set it is an empty reply."""

    text: str = ""
    chunks: Sequence[str] = ()
    thinking: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    usage: tuple[int, int] | None = (11, 7)
    finish: str = ""
    # How it travels
    delay: float = 0.0
    fragment: int = 0
    cut_after: int | None = None
    gate: Gate | None = None
    gate_after: int = 1
    stream: bool | None = None
    # Instead of an answer
    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    # A body in raw pieces, sent for as long as they come and somebody listens.
    pour: Callable[[], Iterable[bytes]] | None = None
    hang: bool = False
    function: Callable[[Recorded], "Script | str"] | None = None
    match: Match = None

    @property
    def pieces(self) -> list[str]:
        """The text in pieces of a few words, or as the test cut it."""
        if self.chunks:
            return list(self.chunks)
        words = self.text.split(" ")
        return [word if at == 0 else " " + word for at, word in enumerate(words)] if self.text else []

    def answers(self, request: Recorded) -> bool:
        if self.match is None:
            return True
        return self.match in request.text if isinstance(self.match, str) else self.match(request)
