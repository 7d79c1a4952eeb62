"""Who is at the other end of a connection: a proxy, or a program of the account that runs OneClaw."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

from oneclaw.server import lan

# Headers that proxies add and browsers never send.
PROXIED = (
    "HTTP_CF_CONNECTING_IP",
    "HTTP_FORWARDED",
    "HTTP_TRUE_CLIENT_IP",
    "HTTP_VIA",
    "HTTP_X_CLIENT_IP",
    "HTTP_X_REAL_IP",
)
# Where Linux lists connections, each with the account that opened it.
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


def came_by_proxy(request: HttpRequest) -> bool:
    """Any sign of a proxy: behind one on this machine, every stranger seems to be local."""
    if any(name in PROXIED or name.startswith("HTTP_X_FORWARDED") for name in request.META):
        return True
    # nginx up to 1.28 with nothing but proxy_pass adds no header and names itself as the host, in HTTP 1.0.
    scope: dict[str, Any] = getattr(request, "scope", {})
    if scope.get("http_version", request.META.get("SERVER_PROTOCOL", "")).endswith("1.0"):
        return True
    # A browser's own word for where it is.
    places = (urlsplit(request.META.get(name, "")) for name in ("HTTP_ORIGIN", "HTTP_REFERER"))
    return any(place.netloc and not lan.is_loopback(place.netloc) for place in places)


def is_owner_at_home(request: HttpRequest) -> bool:
    """Whether a program of this process's own account asks, on this machine and through no proxy."""
    if settings.HTTPS or came_by_proxy(request):
        return False
    at_home = lan.is_loopback(request.META.get("REMOTE_ADDR", "")) and lan.is_loopback(request.get_host())
    return at_home and is_own_account(request)


def is_own_account(request: HttpRequest) -> bool:
    """Whether a program of this process's own account sent it; False where the system doesn't tell.

    A proxy that leaves no trace in its requests still runs as somebody else: nginx as www-data.
    """
    ports = [str(request.META.get(name, "")) for name in ("REMOTE_PORT", "SERVER_PORT")]
    if not all(port.isdecimal() and len(port) < 6 for port in ports):
        return False
    return os.geteuid() in accounts(int(ports[0]), int(ports[1]))


def accounts(port: int, to: int) -> set[int]:
    """The accounts that have a connection from one port of this machine to another, over loopback."""
    found = set[int]()
    for table in TABLES:
        with suppress(OSError, ValueError):
            found |= {
                account
                for one, other, account in connections(table.read_text())
                if (one, other) == (port, to)
            }
    return found


def connections(table: str) -> Iterator[tuple[int, int, int]]:
    """Port, the other end's port and account of each connection over loopback."""
    for row in table.splitlines()[1:]:
        _, here, there, _, _, _, _, account, *_ = row.split()
        (address, port), (other, other_port) = here.split(":"), there.split(":")
        if is_loopback(address) and is_loopback(other):
            yield int(port, 16), int(other_port, 16), int(account)


def is_loopback(words: str) -> bool:
    """Of an address as the table has it: words of four bytes, each in the machine's own order."""
    plain = bytes.fromhex(words)
    if sys.byteorder == "little":
        plain = b"".join(plain[at : at + 4][::-1] for at in range(0, len(plain), 4))
    return lan.is_loopback(str(ip_address(plain)))
