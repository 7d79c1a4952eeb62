"""A model server that answers from a file what was once asked, and may pass on what was not."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

# The marks around data are drawn by chance for each request.
CHANCE = re.compile(r"(<<<(?:end of )?\w+ )[0-9a-f]{16}(>>>)")
PATIENCE = 1_200.0


def key(messages: list[dict[str, Any]]) -> str:
    """What makes two requests the same: every word of them but the marks drawn by chance."""
    text = json.dumps([[each["role"], each["content"]] for each in messages], ensure_ascii=False)
    return hashlib.sha256(CHANCE.sub(r"\1…\2", text).encode()).hexdigest()[:24]


class Recorded:
    """Answers by the key of their request; new ones are added to the file as they come."""

    def __init__(self, file: Path, ask: str = "") -> None:
        self.file, self.ask = file, ask
        self.answers: dict[str, str] = json.loads(file.read_text("utf-8")) if file.exists() else {}
        self.unanswered = 0
        self._lock = threading.Lock()

    def answer(self, messages: list[dict[str, Any]]) -> str | None:
        name = key(messages)
        if name not in self.answers and self.ask:
            body = {"model": "reader", "messages": messages}
            reply = httpx.post(f"{self.ask}/chat/completions", json=body, timeout=PATIENCE).raise_for_status()
            with self._lock:
                self.answers[name] = reply.json()["choices"][0]["message"]["content"] or ""
                text = json.dumps(self.answers, ensure_ascii=False, indent=1, sort_keys=True)
                self.file.write_text(text + "\n", encoding="utf-8")
        if name not in self.answers:
            with self._lock:
                self.unanswered += 1
        return self.answers.get(name)

    @contextmanager
    def serving(self) -> Iterator[str]:
        """The server; its address is that of an OpenAI-compatible provider."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"recorded": self}))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    recorded: Recorded

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = self.recorded.answer(body["messages"])
        if text is None:
            error = {"error": {"message": "No answer to this request is recorded."}}
            self._send(404, "application/json", json.dumps(error).encode())
            return
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": "stop"}
        self._send(
            200,
            "text/event-stream",
            f"data: {json.dumps({'choices': [choice]})}\n\ndata: [DONE]\n\n".encode(),
        )

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
