"""The processes that `up` keeps running; another one is another Child in this list."""

import sys
from collections.abc import Sequence
from pathlib import Path
from socket import socket

from django.conf import settings

from oneclaw import datafolder
from oneclaw.server.supervisor import Child


def manage(*command: str) -> tuple[str, ...]:
    return (sys.executable, str(settings.BASE_DIR / "manage.py"), *command)


def children(sockets: Sequence[socket], only: str = "") -> list[Child]:
    """All three; one of several machines may run only the web server or only the worker."""
    listening = tuple(listener.fileno() for listener in sockets)
    web = (sys.executable, "-m", "oneclaw.server.web", *map(str, listening))
    known = [
        Child("web", web, descriptors=listening),
        Child("worker", manage("worker")),
        # A model on this machine answers at an address that no other machine knows.
        Child("model", manage("modelserver"), wanted=str(Path(settings.DATA_DIR) / datafolder.MODEL_WANTED)),
    ]
    return [child for child in known if only in ("", child.name)]
