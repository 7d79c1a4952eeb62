"""The web process's start and stop, for rooms that have something to put in order then."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any

from django.db import connections

from oneclaw.server.limits import App, Receive, Send

logger = logging.getLogger(__name__)
Hook = Callable[[], object]


class Lifespan:
    """An ASGI application around another: calls functions before serving and at the end."""

    def __init__(self, app: App, on_start: Iterable[Hook] = (), on_stop: Iterable[Hook] = ()) -> None:
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


def call(hooks: Iterable[Hook]) -> None:
    """Each in turn; one that fails is logged, and the server starts or stops all the same."""
    for hook in hooks:
        try:
            hook()
        except Exception:
            logger.exception("%s failed", hook.__name__)
    connections.close_all()
