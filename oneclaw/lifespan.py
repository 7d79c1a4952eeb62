"""The web process's start and stop, for rooms that have something to put in order then."""

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

from django.db import connections
from django.utils.module_loading import import_string

from oneclaw.limits import App, Receive, Send

logger = logging.getLogger(__name__)


class Lifespan:
    """An ASGI application around another: calls functions, by dotted name, before serving and at the end."""

    def __init__(self, app: App, on_start: Iterable[str] = (), on_stop: Iterable[str] = ()) -> None:
        self.app = app
        self.on_start = tuple(on_start)
        self.on_stop = tuple(on_stop)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await self.app(scope, receive, send)
            return
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await asyncio.to_thread(call, self.on_start)
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await asyncio.to_thread(call, self.on_stop)
                await send({"type": "lifespan.shutdown.complete"})
                return


def call(names: Iterable[str]) -> None:
    """Each in turn; one that fails is logged, and the server starts or stops all the same."""
    for name in names:
        try:
            import_string(name)()
        except Exception:
            logger.exception("%s failed", name)
    connections.close_all()
