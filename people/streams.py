"""Long streams: each ends soon after its reader is disabled or logged out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

from asgiref.sync import sync_to_async
from django.contrib.auth import get_user
from django.db import connection
from django.http import HttpRequest

# Seconds between two looks at the reader's account.
EVERY = 3.0


async def while_welcome(
    request: HttpRequest, events: AsyncIterator[str], last: str = ""
) -> AsyncIterator[str]:
    """The events while the request's log-in is valid; `last` is sent once it no longer is."""
    loop = asyncio.get_running_loop()
    following = aiter(events)
    coming: asyncio.Future[str] | None = None
    look_at = loop.time() + EVERY
    try:
        while True:
            coming = coming or asyncio.ensure_future(cast(Any, anext(following)))
            await asyncio.wait({coming}, timeout=max(0.0, look_at - loop.time()))
            if loop.time() >= look_at:
                if not await sync_to_async(is_welcome)(request):
                    yield last
                    return
                look_at = loop.time() + EVERY
            if coming.done():
                try:
                    text = coming.result()
                except StopAsyncIteration:
                    return
                coming = None
                yield text
    finally:
        if coming is not None:
            coming.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration):
                await coming
        await cast(Any, following).aclose()


def is_welcome(request: HttpRequest) -> bool:
    """Whether a request with the same cookie would be let in now."""
    store = request.session
    fresh = SimpleNamespace(session=type(store)(store.session_key))
    try:
        return get_user(cast(HttpRequest, fresh)).is_authenticated
    finally:
        # A stream lasts minutes; no database connection does.
        if not connection.in_atomic_block:
            connection.close()
