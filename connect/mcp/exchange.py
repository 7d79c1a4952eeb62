"""One request and its answer through the SDK's HTTP transport. Nothing is kept, so restarts don't matter."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from connect.mcp import clients
from connect.mcp.server import MemoryServer
from connect.tokens.keys import Caller

SESSION = "Mcp-Session-Id"
# Who it is has been settled before; nothing of the secret goes any further.
KEPT_BACK = {"authorization", "cookie"}


@dataclass(slots=True)
class Answer:
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)

    async def send(self, message: Any) -> None:
        """ASGI's `send`, into this answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            sent = message["headers"]
            self.headers |= {name.decode("latin-1"): value.decode("latin-1") for name, value in sent}
        else:
            self.body += message.get("body", b"")


async def answer(caller: Caller, headers: Mapping[str, str], body: bytes) -> Answer:
    """What the server says to one POST, whole and as JSON."""
    opened = clients.introduced(body)
    server = MemoryServer(caller, opened or clients.named_by(headers.get(SESSION, "")))
    manager = StreamableHTTPSessionManager(
        server.build(), json_response=True, stateless=True, max_request_body_size=max(len(body), 1)
    )
    given = Answer()
    async with manager.run():
        await manager.handle_request(_scope(headers.items()), _receive(body), given.send)
    if opened and given.status == 200:
        given.headers[SESSION] = clients.session_of(opened)
    return given


def _scope(headers: Iterable[tuple[str, str]]) -> dict[str, Any]:
    sent = [
        (name.lower().encode("latin-1", "replace"), value.encode("latin-1", "replace"))
        for name, value in headers
        if name.lower() not in KEPT_BACK
    ]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "root_path": "",
        "query_string": b"",
        "headers": sent,
    }


def _receive(body: bytes) -> Any:
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if parts:
            return parts.pop()
        # Who hangs up has the whole exchange cancelled.
        await asyncio.Event().wait()
        raise AssertionError

    return receive
