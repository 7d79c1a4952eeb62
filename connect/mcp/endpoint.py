"""The address at which programs speak MCP over HTTP: an ASGI application of its own, beside Django's pages.

It has no use for sessions, forms or cookies, and a search should cost what the search costs.
"""

import asyncio
import io
import json
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest

from chat.replies.threads import in_thread, reading
from connect.tokens import keys
from connect.tokens.access import Refused, caller_of, refuse_other_sites
from oneclaw.serving.limits import App, Receive, Send
from oneclaw.site.errors import UNKNOWN_HOST

PATH = "/mcp"
# Bytes of one request: an entry has 5,000 characters at most.
LONGEST = 2**20
INVALID_REQUEST = -32600  # of JSON-RPC
ALWAYS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


class McpEndpoint:
    """An ASGI application around another: answers at one path, and leaves the rest alone."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH:
            await self.app(scope, receive, send)
            return
        try:
            status, headers, body = await _answered(scope, receive)
        except Refused as refused:
            status, headers = refused.status, refused.headers | {"Content-Type": "application/json"}
            body = told(refused.message)
        # Each name once, however it is spelled: strict clients refuse an answer that tells its length twice.
        sent = {name.lower(): value for name, value in headers.items()}
        sent |= ALWAYS | {"content-length": str(len(body))}
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in sent.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})
        await send({"type": "http.response.body", "body": body})


def told(message: str) -> bytes:
    """A refusal as an error of the protocol, to no request in particular."""
    error = {"code": INVALID_REQUEST, "message": message}
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()


async def _answered(scope: Any, receive: Receive) -> tuple[int, dict[str, str], bytes]:
    """One message of the protocol and its answer. A token lets in; cookies are not looked at."""
    # Django's own reading of hosts, proxies and addresses.
    request = ASGIRequest(scope, io.BytesIO())
    _check_host(request)
    if request.method != "POST":
        raise Refused(405, "Send messages by POST.", allow="POST")
    refuse_other_sites(request)
    caller = await in_thread(reading, caller_of, request)
    body = await _body(receive)
    exchange = await asyncio.to_thread(_exchange) if not _loaded else _loaded[0]
    given = await exchange.answer(caller, request.headers, body)
    try:
        # Once more: what was looked up meanwhile is told to nobody whose token was revoked.
        await in_thread(reading, keys.check, caller)
    except keys.Revoked as revoked:
        raise Refused(401, str(revoked)) from None
    return given.status, given.headers, bytes(given.body)


def _check_host(request: HttpRequest) -> None:
    try:
        request.get_host()
    except SuspiciousOperation:
        raise Refused(400, UNKNOWN_HOST) from None


async def _body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Refused(400, "The request broke off.")
        body += message.get("body", b"")
        if len(body) > LONGEST:
            raise Refused(413, "This request is too large.")
        if not message.get("more_body"):
            return bytes(body)


_loaded: list[Any] = []


def _exchange() -> Any:
    """The SDK is loaded when the first program comes, beside the loop that serves pages."""
    from connect.mcp import exchange

    _loaded[:] = [exchange]
    return exchange
