"""Taking the port before anything else starts, or saying in a sentence why it can't be had."""

import errno
import socket
import time
from collections.abc import Iterator

from django.core.management.base import CommandError

BACKLOG = 512
# The machine has no such address, or no such family of addresses.
ABSENT = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}


def listen(host: str, port: int, *, patience: float = 0.0) -> list[socket.socket]:
    """Listening sockets for every address that `host` stands for; retried while a killed `up` lets go."""
    deadline = time.monotonic() + patience
    while True:
        sockets: list[socket.socket] = []
        absent: OSError | None = None
        try:
            for family, address in resolve(host, port):
                try:
                    sockets.append(bind(family, address))
                except OSError as error:
                    # `localhost` is ::1 as well, even where IPv6 is switched off.
                    absent = error
                    if error.errno not in ABSENT:
                        raise
            if absent and not sockets:
                raise absent
            return sockets
        except OSError as error:
            for taken in sockets:
                taken.close()
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                raise CommandError(reason(error, host, port)) from None
            time.sleep(0.2)


def resolve(host: str, port: int) -> Iterator[tuple[int, tuple[object, ...]]]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    yield from dict.fromkeys((family, address) for family, _, _, _, address in found)


def bind(family: int, address: tuple[object, ...]) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6 and address[0] == "::":
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def reason(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} is in use. Stop the program that uses it, or try ONECLAW_PORT={port + 1} make run"
        )
    if error.errno == errno.EACCES:
        return f"You are not allowed to use port {port}. Choose 1024 or higher with ONECLAW_PORT."
    return f"ONECLAW_HOST={host!r} is not an address of this machine ({error.strerror or error})."
