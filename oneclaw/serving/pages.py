"""Pages: each is made in one thread, goes before what runs beside it, and is kept by no browser."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

# So long other work waits for pages at each of its steps: replies go on, however many pages are asked for.
COURTESY = 0.05
# So many messages are taken in at once. All need the interpreter: more would only slow each other down.
SENDING = 3


class PageHandler(ASGIHandler):
    """Django's handler, with everything up to the response in one thread.

    Its own goes back to the event loop around each view, and waits there twice behind all replies.
    """

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = await sync_to_async(self.get_response)(request)
        return response


class Line:
    """Who goes first: a page that somebody waits for, then messages, then what makes replies."""

    def __init__(self) -> None:
        self._pages = 0
        self._changed = threading.Condition()
        self._turns = threading.BoundedSemaphore(SENDING)

    def enter(self) -> None:
        with self._changed:
            self._pages += 1

    def leave(self) -> None:
        with self._changed:
            self._pages -= 1
            if not self._pages:
                self._changed.notify_all()

    def let_pages_pass(self) -> None:
        """Wait until no page is being made, but not for long."""
        if self._pages:
            with self._changed:
                self._changed.wait_for(lambda: not self._pages, COURTESY)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """For the short work of taking in a message."""
        with self._turns:
            self.let_pages_pass()
            yield


line = Line()


class PagesFirst:
    """Notes which pages are being made; streams and forms are none."""

    sync_capable, async_capable = True, False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            return self.get_response(request)
        finally:
            if getattr(request, "goes_first", False):
                line.leave()

    def process_view(self, request: HttpRequest, view: Callable[..., Any], *_: object) -> None:
        if request.method == "GET" and not iscoroutinefunction(view):
            setattr(request, "goes_first", True)  # noqa: B010
            line.enter()


class NoStore(MiddlewareMixin):
    """Adds `no-store` to every answer without cache headers of its own.

    After logging out, the back button shows no private page.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not response.has_header("Cache-Control"):
            response["Cache-Control"] = "no-store"
        return response
