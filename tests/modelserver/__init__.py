"""A scripted model server: speaks the three protocols over real HTTP and does as the test says.

    model_server.reply("Hello there")
    model_server.tool_calls(("get_current_time", {}))
    model_server.error(401, {"error": {"message": "bad key"}})
    ...
    assert "secret" not in model_server.requests[0].text

Scripts are used in order, each once; one with `match=` waits for a request that holds those words (or for
which the function says yes), so that titles and summaries don't take a reply's script. With no script
left the server answers `default`.
"""

import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.modelserver import protocols
from tests.modelserver.script import Gate, Recorded, Script

__all__ = ["Gate", "ModelServer", "Recorded", "Script"]


class ModelServer:
    """The server and its queue of scripts. Starts at once on a free port."""

    def __init__(self, port: int = 0) -> None:
        self.scripts: list[Script] = []
        self.requests: list[Recorded] = []
        self.default: Script | str = "Hello from the scripted model."
        self.models = ["scripted-model", "scripted-mini"]
        # Other JSON pages by their path, for what a server tells besides its models.
        self.pages: dict[str, Any] = {}
        self.closing = threading.Event()
        self._lock = threading.Lock()
        handler = type("BoundHandler", (Handler,), {"scripted": self})
        self._http = QuietServer(("127.0.0.1", port), handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.closing.set()
        for script in self.scripts:
            if script.gate:
                script.gate.release()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def base_url(self, kind: str = "openai") -> str:
        return {"openai": f"{self.url}/v1", "anthropic": self.url, "gemini": f"{self.url}/v1beta"}[kind]

    # What to answer

    def add(self, script: Script) -> Script:
        with self._lock:
            self.scripts.append(script)
        return script

    def reply(self, text: str = "", **how: Any) -> Script:
        return self.add(Script(text=text, **how))

    def thinking(self, thinking: str, text: str = "", **how: Any) -> Script:
        return self.add(Script(text=text, thinking=thinking, **how))

    def tool_calls(self, *calls: tuple[str, Any], **how: Any) -> Script:
        return self.add(Script(calls=calls, **how))

    def error(
        self, status: int, body: Any = None, headers: dict[str, str] | None = None, **how: Any
    ) -> Script:
        raw = (
            body
            if isinstance(body, bytes)
            else json.dumps(body or {"error": {"message": "scripted"}}).encode()
        )
        given = {"Content-Type": "application/json", **(headers or {})}
        return self.add(Script(status=status, body=raw, headers=given, **how))

    def raw(
        self, body: bytes, content_type: str = "text/event-stream", status: int = 200, **how: Any
    ) -> Script:
        return self.add(Script(status=status, body=body, headers={"Content-Type": content_type}, **how))

    def pour(
        self, pieces: Callable[[], Iterable[bytes]], content_type: str = "text/event-stream", **how: Any
    ) -> Script:
        """A body of raw pieces, which may be endless; `headers` come on top of its type."""
        headers = {"Content-Type": content_type, **how.pop("headers", {})}
        return self.add(Script(pour=pieces, headers=headers, **how))

    def html(self, status: int = 200) -> Script:
        return self.raw(b"<!doctype html><title>Router</title><p>Log in", "text/html", status)

    def redirect(self, location: str = "https://example.org/v1/elsewhere", status: int = 302) -> Script:
        return self.error(status, headers={"Location": location})

    def cut(self, text: str = "This answer never", after: int = 2, **how: Any) -> Script:
        """An answer whose connection breaks after so many messages of the stream."""
        return self.add(Script(text=text, cut_after=after, **how))

    def hang(self, text: str = "", after: int = 0) -> Script:
        """Silence: at once, or after so many messages of the stream."""
        return self.add(Script(text=text, hang=True, gate_after=after))

    def gated(self, text: str, after: int = 1, **how: Any) -> Gate:
        """An answer that stops after so many messages until the gate is released."""
        gate = Gate()
        self.add(Script(text=text, gate=gate, gate_after=after, **how))
        return gate

    def function(self, answer: Callable[[Recorded], Script | str], **how: Any) -> Script:
        return self.add(Script(function=answer, **how))

    # What was asked

    @property
    def last(self) -> Recorded:
        return self.requests[-1]

    @property
    def asked(self) -> list[Recorded]:
        """The requests for an answer, without those for lists of models."""
        return [request for request in self.requests if request.method == "POST"]

    def take(self, request: Recorded) -> Script:
        with self._lock:
            self.requests.append(request)
            chosen = next((script for script in self.scripts if script.answers(request)), None)
            if chosen is not None:
                self.scripts.remove(chosen)
        answer: Script | str = self.default if chosen is None else chosen
        while isinstance(answer, Script) and answer.function:
            answer = answer.function(request)
        return Script(text=answer) if isinstance(answer, str) else answer


class QuietServer(ThreadingHTTPServer):
    """A client that goes away in the middle is no news here."""

    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


class Handler(BaseHTTPRequestHandler):
    """One connection. Which protocol is spoken follows from the path."""

    protocol_version = "HTTP/1.1"
    scripted: ModelServer

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: what was asked is in `requests`."""

    def record(self, raw: bytes = b"") -> Recorded:
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = None
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Recorded(self.command, self.path, headers, raw, body)

    def do_GET(self) -> None:
        request = self.record()
        with self.scripted._lock:
            waiting = next((s for s in self.scripted.scripts if s.match == "models"), None)
            if waiting:
                self.scripted.scripts.remove(waiting)
            self.scripted.requests.append(request)
        if self.path in self.scripted.pages:
            self.send_json(200, self.scripted.pages[self.path])
        elif waiting:
            self.given(waiting)
        elif self.path.split("?")[0].endswith("/models"):
            self.send_json(200, self.models())
        else:
            self.send_json(404, {"error": {"message": "no such page"}})

    def models(self) -> dict[str, Any]:
        names = self.scripted.models
        if "v1beta" in self.path:
            methods = ["generateContent"]
            rows = [{"name": f"models/{n}", "supportedGenerationMethods": methods} for n in names]
            return {"models": rows}
        return {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path == "/script":
            self.queue(raw)
            return
        request = self.record(raw)
        script = self.scripted.take(request)
        try:
            self.answer(script, request)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def queue(self, raw: bytes) -> None:
        """Another process queues a script: {"text": …, "calls": [[name, args]], "delay": …}."""
        fields = json.loads(raw)
        if isinstance(body := fields.get("body"), str):
            fields["body"] = body.encode()
        self.scripted.add(Script(**fields))
        self.send_json(200, {"queued": len(self.scripted.scripts)})

    def answer(self, script: Script, request: Recorded) -> None:
        if script.hang and not script.gate_after:
            self.scripted.closing.wait(30)
            self.close_connection = True
        elif script.body is not None or script.pour:
            self.given(script)
        else:
            kind = "gemini" if "enerateContent" in self.path else "openai"
            kind = "anthropic" if self.path.endswith("/messages") else kind
            asked = "streamGenerateContent" in self.path or bool((request.json or {}).get("stream"))
            if asked if script.stream is None else script.stream:
                self.flow(script, list(protocols.STREAMS[kind](script)))
            else:
                time.sleep(script.delay)
                self.send_json(200, protocols.WHOLES[kind](script))

    def given(self, script: Script) -> None:
        """What the script says to the byte."""
        if script.pour is None:
            self.plain(script.status, script.body or b"", script.headers)
            return
        self.send_response(script.status)
        for name, value in script.headers.items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for piece in script.pour():
                if self.scripted.closing.is_set():
                    break
                if piece:  # an empty one would end the body
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True

    def flow(self, script: Script, messages: list[bytes]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if script.fragment:
            whole = b"".join(messages)
            messages = [whole[at : at + script.fragment] for at in range(0, len(whole), script.fragment)]
        for at, message in enumerate(messages):
            if script.cut_after is not None and at >= script.cut_after:
                self.close_connection = True
                return
            if at == script.gate_after and script.gate:
                script.gate.hold()
            if at == script.gate_after and script.hang:
                self.scripted.closing.wait(30)
                self.close_connection = True
                return
            self.wfile.write(b"%x\r\n%s\r\n" % (len(message), message))
            self.wfile.flush()
            if script.delay:
                time.sleep(script.delay)
        self.wfile.write(b"0\r\n\r\n")

    def plain(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_json(self, status: int, data: Any) -> None:
        self.plain(status, json.dumps(data).encode(), {"Content-Type": "application/json"})


def echo(request: Recorded) -> Script:
    """A default for trying things by hand: says what the user said."""
    return replace(Script(), text=f"You said: {request.last_user}", delay=0.05)
