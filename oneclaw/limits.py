"""Request bodies have a limit: more than that is read away and answered with a page."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from django.template.loader import render_to_string

from oneclaw.errors import TOO_LARGE

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]

# A browser shows no answer while it still sends; past this much it is cut off.
DRAINED = 4


class TooLarge(Exception):
    pass


class BodyLimit:
    """An ASGI application around another, which never sees more than `most` bytes of a body."""

    def __init__(self, app: App, most: int) -> None:
        self.app = app
        self.most = most

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.most:
                raise TooLarge
            return message

        try:
            if declared(scope) > self.most:
                raise TooLarge
            await self.app(scope, counted, send)
        except TooLarge:
            await self.drain(receive, seen)
            await answer(send)

    async def drain(self, receive: Receive, seen: int) -> None:
        more = True
        while more and seen <= self.most * DRAINED:
            message = await receive()
            seen += len(message.get("body", b""))
            more = message["type"] == "http.request" and message.get("more_body", False)


def declared(scope: Any) -> int:
    """The length in the request's header; 0 when it has none, or nonsense."""
    text = dict(scope["headers"]).get(b"content-length", b"")
    return int(text) if text.isdigit() else 0


async def answer(send: Send) -> None:
    title, advice = TOO_LARGE
    page = render_to_string("error.html", {"title": title, "advice": advice}).encode()
    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": page})
