"""A client on the machine itself: at the other end of a real connection, which the system can tell of."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.test import Client


class Neighbour(Client):
    """Every request names its connection, as a server would."""

    def __init__(self, ports: dict[str, str]) -> None:
        super().__init__(headers={"host": "localhost:8000"})
        self.ports = ports

    def request(self, **request: Any) -> Any:
        return super().request(**request | self.ports)


@contextmanager
def neighbour() -> Iterator[Neighbour]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port), timeout=30) as end:
            yield Neighbour({"REMOTE_PORT": str(end.getsockname()[1]), "SERVER_PORT": str(port)})
