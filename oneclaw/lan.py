"""The addresses at which other devices on the network reach this machine."""

import ipaddress
import socket
from contextlib import suppress

ANY = {"0.0.0.0", "::"}  # noqa: S104  (compared with, not bound to)
# From the block for documentation: choosing a route to it sends nothing.
ELSEWHERE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))


def addresses() -> list[str]:
    """This machine's own addresses beyond loopback, the one it reaches others with first."""
    found = []
    for family, destination in ELSEWHERE:
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((destination, 9))
                found.append(probe.getsockname()[0])
        except OSError:
            continue
    with suppress(OSError):
        found += [str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None)]
    plain = [address.split("%")[0] for address in found]
    return list(dict.fromkeys(address for address in plain if not is_loopback(address)))


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches that host; a port after it and brackets around it are fine."""
    name = host.rsplit(":", 1)[0] if host.count(":") == 1 or "]:" in host else host
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def in_url(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def own_hosts(host: str) -> list[str]:
    """What a browser may call this machine when the server listens on `host`."""
    loopback = ["localhost", "127.0.0.1", "[::1]"]
    if host in ANY:
        name = socket.gethostname().lower()
        return [*loopback, *map(in_url, addresses()), name, f"{name.split('.')[0]}.local"]
    return [*loopback, in_url(host)]
