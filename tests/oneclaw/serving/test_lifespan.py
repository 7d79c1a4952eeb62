"""The web process's start and stop: functions are called, and one that fails stops nothing."""

import gc
from typing import Any

from oneclaw.serving.lifespan import Lifespan, load_pages

called: list[str] = []


def begin() -> None:
    called.append("begin")


def end() -> None:
    called.append("end")


def fail() -> None:
    raise RuntimeError("no")


async def test_functions_are_called_at_start_and_stop_and_failures_are_survived():
    called.clear()
    sent: list[str] = []
    waiting = ["lifespan.startup", "lifespan.shutdown"]

    async def receive() -> dict[str, Any]:
        return {"type": waiting.pop(0)}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    async def app(scope: Any, receive: Any, send: Any) -> None:
        called.append(scope["type"])

    around = Lifespan(app, [fail, begin], [end, fail])
    await around({"type": "lifespan"}, receive, send)
    await around({"type": "http"}, receive, send)
    assert called == ["begin", "end", "http"]
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_what_is_there_for_good_is_not_looked_through_again():
    gc.unfreeze()  # a server that an earlier test started has frozen most of it already
    try:
        load_pages()
        assert gc.get_freeze_count() > 10_000
        assert len(gc.get_objects()) < 10_000
    finally:
        gc.unfreeze()
