"""A model without weights, for the demo: speaks OpenAI's protocol and answers from what memory gave it."""

import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NAME = "demo-model"
PACE = 0.03
MOST_QUOTED = 3
NOTES = re.compile(r"<oneclaw-memory>(.*?)</oneclaw-memory>", re.DOTALL)
ITEM = re.compile(r"^- (?:\[[^\]\n]{0,120}\] )?(.{3,300})$", re.MULTILINE)
WORD = re.compile(r"[^\W\d_]{4,}")
REMEMBER = re.compile(r"(?:please )?remember(?: that)?[:,]? (.{3,400})", re.IGNORECASE | re.DOTALL)


class Answer:
    """What to say to one request: thoughts, a call or text."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.messages: list[dict[str, Any]] = body.get("messages") or []
        self.tools = {tool["function"]["name"] for tool in body.get("tools") or []}
        self.system = " ".join(_text(each) for each in self.messages if each["role"] == "system")
        said = [_text(each) for each in self.messages if each["role"] == "user"]
        self.asked = NOTES.sub("", said[-1]).strip() if said else ""
        self.notes = " ".join(NOTES.findall(" ".join([self.system, *said[-1:]])))

    def thoughts(self) -> str:
        if self.is_chore() or not self.tools:
            return ""
        return f"They ask: “{self.asked[:80]}”. I look at what memory says about it before I answer."

    def is_chore(self) -> bool:
        """Titles and summaries are asked for by OneClaw itself."""
        return "You name conversations" in self.system or "## Daily Summary" in self.asked

    def call(self) -> dict[str, Any] | None:
        """Save what Robin wants remembered, once."""
        wanted = REMEMBER.match(self.asked)
        if not wanted or "save_memory" not in self.tools or self.messages[-1]["role"] == "tool":
            return None
        arguments = {"content": wanted[1].strip().rstrip(".")[:400], "user_requested": True}
        return {"id": "call_demo", "name": "save_memory", "arguments": json.dumps(arguments)}

    def text(self) -> str:
        if "You name conversations" in self.system:
            first = re.search(r"User: (.{1,60})(.?)", self.asked)
            if not first:
                return "A short chat"
            whole = first[1] if not first[2] else first[1].rsplit(" ", 1)[0]
            return whole.rstrip(" ,.?")
        if "## Daily Summary" in self.asked:
            said = re.findall(r"\[User\]\n> (.+)", self.asked)
            lines = "\n".join(f"- {line[:120]}" for line in said[:5]) or "- A short chat"
            return f"## Daily Summary\n{lines}\n\n## Long-term Facts\nNone"
        if self.messages and self.messages[-1]["role"] == "tool":
            return (
                "I've noted that. You'll find it under **Memory**, where you can change it or take it back."
            )
        return self.from_memory()

    def from_memory(self) -> str:
        """The notes that share most words with the question, in an answer."""
        wanted = {word.lower() for word in WORD.findall(self.asked)}
        ranked = sorted(
            dict.fromkeys(ITEM.findall(self.notes)),
            key=lambda item: -len(wanted & {word.lower() for word in WORD.findall(item)}),
        )
        if not ranked:
            return (
                "I have nothing in memory about that yet. I'm the scripted model of the demo: connect a real "
                "one under **Settings → Providers**, and everything you see here works the same."
            )
        lines = "\n".join(f"- {item.strip()}" for item in ranked[:MOST_QUOTED])
        return (
            f"Here is what I remember about that:\n\n{lines}\n\n"
            "The line under this reply shows where each of these comes from. *(I'm a scripted model: a real "
            "one would make more of it.)*"
        )

    def deltas(self) -> Iterator[dict[str, Any]]:
        for word in _words(self.thoughts()):
            yield {"reasoning_content": word}
        if call := self.call():
            function = {"name": call["name"], "arguments": call["arguments"]}
            yield {"tool_calls": [{"index": 0, "id": call["id"], "type": "function", "function": function}]}
            return
        for word in _words(self.text()):
            yield {"content": word}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._json({"object": "list", "data": [{"id": NAME, "object": "model", "owned_by": "demo"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        answer = Answer(body)
        pace = 0.0 if answer.is_chore() else PACE
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        said = 0
        for delta in answer.deltas():
            said += 1
            self._event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            time.sleep(pace)
        reason = "tool_calls" if answer.call() else "stop"
        told = {"prompt_tokens": len(json.dumps(body)) // 4, "completion_tokens": said}
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": told})
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _event(self, value: dict[str, Any]) -> None:
        self.wfile.write(f"data: {json.dumps(value)}\n\n".encode())
        self.wfile.flush()

    def _json(self, value: dict[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the terminal is OneClaw's."""

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True


def serve() -> str:
    """Start on a free port of this machine; returns the address that OneClaw asks."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True, name="demo-model").start()
    return f"http://127.0.0.1:{server.server_address[1]}/v1"


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return " ".join(part.get("text") or "" for part in content if isinstance(part, dict))


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+\s*?", text)
