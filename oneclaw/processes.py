"""Which processes `up` keeps running. A further one is a further Child in this list."""

import sys
from collections.abc import Sequence
from socket import socket

from django.conf import settings

from oneclaw.supervisor import Child


def manage(*command: str) -> tuple[str, ...]:
    return (sys.executable, str(settings.BASE_DIR / "manage.py"), *command)


def children(sockets: Sequence[socket]) -> list[Child]:
    listening = tuple(listener.fileno() for listener in sockets)
    return [
        Child("web", (sys.executable, "-m", "oneclaw.web", *map(str, listening)), descriptors=listening),
        Child("worker", manage("worker")),
    ]
