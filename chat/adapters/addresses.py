"""Where providers may be: with ONECLAW_PRIVATE_PROVIDERS=0 none that a form names is inside the network."""

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any

import httpx
from django.conf import settings

from chat import errors
from chat.errors import ModelError

# Set on requests to what the machine's owner gave: the environment's provider, and the model that runs here.
GIVEN = "oneclaw_given"
INSIDE = (
    "The provider's address is inside a private network, and this server only allows providers on the "
    "internet (ONECLAW_PRIVATE_PROVIDERS)."
)
# A gateway turns these into the IPv4 addresses that they end in.
TRANSLATED = IPv6Network("64:ff9b::/96")


async def watch(request: httpx.Request) -> None:
    """Refuse a request into a private network, by what its name stands for and by whom it reaches."""
    if settings.PRIVATE_PROVIDERS or request.extensions.get(GIVEN):
        return
    host = request.url.raw_host.decode("ascii")
    if any(is_inside(address) for address in await _addresses(host)):
        raise ModelError(errors.UNREACHABLE, INSIDE)
    request.extensions["trace"] = Peer(host).look


class Peer:
    """Looks who answered before anything is said: a name may stand for another address by then."""

    def __init__(self, host: str) -> None:
        self.host = host
        # A proxy is the owner's own choice, and may well be inside.
        self.direct = True

    async def look(self, event: str, info: dict[str, Any]) -> None:
        if event.endswith("connect_tcp.started"):
            self.direct = info["host"] == self.host
        elif event.endswith("connect_tcp.complete") and self.direct:
            stream = info["return_value"]
            peer = stream.get_extra_info("server_addr")
            if not peer or is_inside(peer[0]):
                await stream.aclose()
                raise ModelError(errors.UNREACHABLE, INSIDE)


async def _addresses(host: str) -> list[str]:
    """All that a name stands for here; nothing where it is unknown, which connecting will say itself."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(address[0]) for *_, address in found]


def is_inside(text: str) -> bool:
    """Whether an address is private, loopback, link-local or otherwise none of the internet's."""
    try:
        address = _meant(ip_address(text))
    except ValueError:
        return True
    return not address.is_global or address.is_multicast


def _meant(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that one of version 6 carries, if it does."""
    if isinstance(address, IPv4Address):
        return address
    if address in TRANSLATED:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address
