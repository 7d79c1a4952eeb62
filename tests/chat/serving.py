"""Real servers for the tests of streams: in a thread, or in a process that can be killed."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import uvicorn
from django.conf import settings
from django.db import connection
from django.test import Client

from people.models import User
from tests.chat.conftest import until
from tests.limits import Mortal


def browser(address: str, user: User) -> httpx.Client:
    """An HTTP client with the user's log-in."""
    client = Client()
    client.force_login(user)
    cookies = {name: morsel.value for name, morsel in client.cookies.items()}
    token = "t" * 32
    return httpx.Client(
        base_url=address,
        cookies=cookies | {"csrftoken": token},
        headers={"X-CSRFToken": token, "HX-Request": "true"},
        timeout=30,
    )


@contextmanager
def in_thread() -> Iterator[str]:
    config = uvicorn.Config("oneclaw.asgi:application", port=0, log_config=None, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)


class Process:
    """A web process with the tests' database, which can be killed and started again."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process: Mortal[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "oneclaw.settings",
            "TEST_DATABASE": str(connection.settings_dict["NAME"]),
        }
        command = [sys.executable, "-m", "uvicorn", "tests.chat.served:application", "--port", str(self.port)]
        self.process = Mortal[bytes](
            command,
            env=environment,
            cwd=settings.BASE_DIR,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            try:
                httpx.get(f"{self.address}/login/", timeout=5)
                return
            except httpx.TransportError:
                time.sleep(0.1)
        raise AssertionError("The web process never answered.")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)
            self.process = None
