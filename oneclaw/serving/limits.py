"""A limit on request bodies: a larger one is discarded and answered with a page, or in JSON to programs."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from django.template.loader import render_to_string

from oneclaw.site.errors import TOO_LARGE

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]

# What a program is told at a path of its own, of so many bytes at most; None where people look at pages.
InJson = Callable[[str, int], bytes | None]

# A browser shows no answer while it still sends; past this much it is cut off.
DRAINED = 4


class TooLarge(Exception):
    pass


class BodyLimit:
    """An ASGI application around another, which never sees more than `most` bytes of a body."""

    def __init__(self, app: App, most: int, in_json: InJson | None = None) -> None:
        self.app = app
        self.most = most
        self.in_json = in_json

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = Body(receive, self.most)
        try:
            if declared(scope) > self.most:
                raise TooLarge
            await self.app(scope, body.receive, send)
        except TooLarge:
            await body.drain(self.most * DRAINED)
            told = self.in_json(scope["path"], self.most) if self.in_json else None
            await answer(send, told)


class Body:
    """A request's body as it comes in, counted."""

    def __init__(self, receive: Receive, most: int) -> None:
        self.source = receive
        self.most = most
        self.seen = 0
        self.more = True

    async def read(self) -> Message:
        message = await self.source()
        self.seen += len(message.get("body", b""))
        self.more = message["type"] == "http.request" and message.get("more_body", False)
        return message

    async def receive(self) -> Message:
        message = await self.read()
        if self.seen > self.most:
            raise TooLarge
        return message

    async def drain(self, most: int) -> None:
        while self.more and self.seen <= most:
            await self.read()


def declared(scope: Any) -> int:
    """The length in the request's header; 0 when it has none, or nonsense."""
    text = dict(scope["headers"]).get(b"content-length", b"")
    return int(text) if text.isdigit() else 0


async def answer(send: Send, told: bytes | None = None) -> None:
    title, advice = TOO_LARGE
    page = told or render_to_string("error.html", {"title": title, "advice": advice}).encode()
    kind = b"application/json" if told else b"text/html; charset=utf-8"
    headers = [(b"content-type", kind), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": page})
