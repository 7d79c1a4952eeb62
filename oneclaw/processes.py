"""Which processes `up` keeps running. A further one is a further Child in this list."""

import sys
from collections.abc import Sequence
from socket import socket

from django.conf import settings
from django.db import connections
from django.utils.module_loading import import_string

from oneclaw.supervisor import Child


def manage(*command: str) -> tuple[str, ...]:
    return (sys.executable, str(settings.BASE_DIR / "manage.py"), *command)


def children(sockets: Sequence[socket]) -> list[Child]:
    listening = tuple(listener.fileno() for listener in sockets)
    return [
        Child("web", (sys.executable, "-m", "oneclaw.web", *map(str, listening)), descriptors=listening),
        Child("worker", manage("worker")),
        Child("model", manage("modelserver"), wanted=model_wanted),
    ]


def model_wanted() -> str:
    """Which model file is to be served on this machine; nothing when none is."""
    try:
        wanted: str = import_string(settings.LOCAL_MODEL_WANTED)()
        return wanted
    finally:
        # Asked in a thread that may never come back.
        connections.close_all()
