"""The web process's start and stop, for rooms that have something to put in order then."""

import asyncio
import gc
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connections
from django.template.loader import get_template
from django.urls import get_resolver

from oneclaw.postgres import is_postgres
from oneclaw.serving.limits import App, Receive, Send

logger = logging.getLogger(__name__)
# Connections to SQLite that wait for the next page.
MOST_KEPT = 8
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


def keep_connections() -> None:
    """From now on, a page's connection to SQLite goes on to the next page."""
    if not is_postgres():
        from oneclaw.sqlite.base import DatabaseWrapper

        DatabaseWrapper.most_kept = MOST_KEPT


def load_pages() -> None:
    """Load what the first pages would, and take what is there for good out of the garbage collector's sight.

    Looking through all of it takes a tenth of a second, in which nobody's page goes on.
    """
    # The addresses both ways: what a path leads to, and what a link on a page is made of.
    assert get_resolver().reverse_dict
    folder = Path(settings.BASE_DIR) / "templates"
    for file in folder.rglob("*.html"):
        get_template(str(file.relative_to(folder)))
    gc.collect()
    gc.freeze()
