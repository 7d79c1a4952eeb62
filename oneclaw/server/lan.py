"""The addresses at which other devices on the network reach this machine."""

import ipaddress
import socket
from contextlib import suppress

ANY = {"0.0.0.0", "::"}  # noqa: S104  (compared with, not bound to)
# From the block for documentation: choosing a route to it sends nothing.
ELSEWHERE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))


def addresses(host: str = "::") -> list[str]:
    """This machine's own addresses beyond loopback that `host` stands for, its main one first."""
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
    reached = [address for address in plain if host == "::" or ":" not in address]
    return list(dict.fromkeys(address for address in reached if not is_loopback(address)))


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches that host; a port after it and brackets around it are fine."""
    name = host.rsplit(":", 1)[0] if host.count(":") == 1 or "]:" in host else host
    if name.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    # A socket for both families sees IPv4 as ::ffff:127.0.0.1.
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def in_url(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def own_hosts(host: str) -> list[str]:
    """What a browser may call this machine when the server listens on `host`."""
    loopback = ["localhost", "127.0.0.1", "[::1]"]
    if host in ANY:
        name = socket.gethostname().lower()
        return [*loopback, *map(in_url, addresses(host)), name, f"{name.split('.')[0]}.local"]
    return [*loopback, in_url(host)]
