"""What MCP adds to a search: the same questions asked of memory itself and over HTTP, by turns."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import httpx
import uvicorn

from bench.retrieval.made import Text, fill
from connect.models import Token
from connect.tokens import keys
from memory.manager import MemoryManager
from people.models import User

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
TALK = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


def measure(chunks: int, rounds: int) -> dict[str, float]:
    """Medians in milliseconds, of rounds after those in which everything is loaded."""
    user = User.objects.create_user("mcp")
    manager = MemoryManager(user)
    text = Text()
    fill(user, chunks, text)
    secret = keys.make(user, "bench", Token.Scope.READ)[1]
    with served() as address, httpx.Client(base_url=address, timeout=60) as client:
        headers = TALK | {"Authorization": f"Bearer {secret}"}

        def over_http(query: str) -> None:
            sent = CALL | {"params": {"name": "search_memory", "arguments": {"query": query}}}
            answer = client.post("/mcp", json=sent, headers=headers)
            assert answer.json()["result"]["isError"] is False, answer.text

        ways: dict[str, Callable[[str], Any]] = {"search": manager.search_memory, "over MCP": over_http}
        found: dict[str, list[Taken]] = {name: [] for name in ways}
        for number in range(rounds + 5):
            query = text.question()
            for name, ask in ways.items():
                taken = timed(ask, query)
                if number >= 5:
                    found[name].append(taken)
    pairs = list(zip(found["over MCP"], found["search"], strict=True))
    return {
        "chunks": chunks,
        **{
            f"{name} ms": round(median(each.seconds for each in times) * 1000, 2)
            for name, times in found.items()
        },
        "added ms": round(median(there.seconds - here.seconds for there, here in pairs) * 1000, 2),
        # Less of a busy machine's noise is in it, and all of the client and the HTTP server.
        "added processor ms": round(
            median(there.processor - here.processor for there, here in pairs) * 1000, 2
        ),
    }


@dataclass(frozen=True, slots=True)
class Taken:
    """What one question took: by the clock, and of the processor in all threads."""

    seconds: float
    processor: float


def timed(ask: Callable[[str], Any], query: str) -> Taken:
    start, worked = time.perf_counter(), time.process_time()
    ask(query)
    return Taken(time.perf_counter() - start, time.process_time() - worked)


@contextmanager
def served() -> Iterator[str]:
    """This process's own app, as `up` serves it."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config("oneclaw.asgi:application", log_config=None, lifespan="off", access_log=False)
    )
    # With the loop of `up`: the plain one leaves Nagle's delay on such a socket, 40 ms an answer.
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True, name="bench-web")
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
