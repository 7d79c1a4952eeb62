"""One HTTP client per event loop, without redirects or a proxy for this machine, and its key headers."""

import asyncio
import functools
import logging
import ssl
from collections.abc import Coroutine
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import httpx

from chat import errors
from chat.adapters import addresses
from chat.errors import ModelError
from oneclaw import __version__

# At INFO httpx logs every address it asks, which is noise here and someone's business elsewhere.
logging.getLogger("httpx").setLevel(logging.WARNING)
logging.getLogger("httpcore").setLevel(logging.WARNING)

T = TypeVar("T")
CONNECT_SECONDS = 10.0
# Shorter than the five seconds after which common servers hang up, so that none does in mid-question.
KEEP_SECONDS = 3.0
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_clients: "WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient]" = WeakKeyDictionary()


@functools.cache
def certificates() -> ssl.SSLContext:
    """Certificates, read once: that takes longer than everything else a request needs."""
    return httpx.create_ssl_context()


def client() -> httpx.AsyncClient:
    """The running loop's client; connections are kept for the next question."""
    loop = asyncio.get_running_loop()
    if (known := _clients.get(loop)) is None or known.is_closed:
        known = _clients[loop] = httpx.AsyncClient(
            verify=certificates(),
            follow_redirects=False,
            limits=httpx.Limits(
                max_connections=None, max_keepalive_connections=20, keepalive_expiry=KEEP_SECONDS
            ),
            mounts={f"all://{host}": None for host in LOOPBACK},
            headers={"User-Agent": f"OneClaw/{__version__}", "Accept-Encoding": "identity"},
            event_hooks={"request": [addresses.watch], "response": [refuse_packed]},
        )
    return known


async def refuse_packed(response: httpx.Response) -> None:
    """Refuse compressed answers: we ask for none, and a small one could grow a thousandfold."""
    named = response.headers.get("content-encoding", "").split(",")
    if any(encoding.strip().lower() not in ("", "identity") for encoding in named):
        raise ModelError(
            errors.BAD_STREAM, "The provider sent a compressed answer, which it was asked not to do."
        )


async def close() -> None:
    """Close the running loop's client, before the loop itself ends."""
    known = _clients.pop(asyncio.get_running_loop(), None)
    if known is not None:
        await known.aclose()


def run_alone(work: Coroutine[Any, Any, T]) -> T:
    """Run one piece of work from a thread that has no loop, and leave no connection behind."""

    async def alone() -> T:
        try:
            return await work
        finally:
            await close()

    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(alone())
    finally:
        # Unlike asyncio.run this waits for no thread: one may hang in looking up a name.
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def timeouts(silence: float) -> httpx.Timeout:
    return httpx.Timeout(silence, connect=min(CONNECT_SECONDS, silence), pool=None)


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {_carried(key)}"} if key else {}


def key_header(name: str, key: str) -> dict[str, str]:
    return {name: _carried(key)} if key else {}


def _carried(key: str) -> str:
    """The key; one that no header can carry is an error and not a crash."""
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ModelError(errors.AUTH, "The stored API key contains invalid characters: enter it again.")
    return key
