"""The processes that `up` keeps running; another one is another Child in this list."""

import sys
from collections.abc import Sequence
from socket import socket

from django.conf import settings
from django.db import connections

from oneclaw import wiring
from oneclaw.server.supervisor import Child


def manage(*command: str) -> tuple[str, ...]:
    return (sys.executable, str(settings.BASE_DIR / "manage.py"), *command)


def children(sockets: Sequence[socket]) -> list[Child]:
    listening = tuple(listener.fileno() for listener in sockets)
    return [
        Child(
            "web", (sys.executable, "-m", "oneclaw.server.web", *map(str, listening)), descriptors=listening
        ),
        Child("worker", manage("worker")),
        Child("model", manage("modelserver"), wanted=model_wanted),
    ]


def model_wanted() -> str:
    """Which model file is to be served on this machine; nothing when none is."""
    try:
        return wiring.local_model_wanted()
    finally:
        # Asked in a thread that may never come back.
        connections.close_all()
