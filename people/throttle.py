"""Whose failed log-ins are counted together, and when an address has failed too often."""

import hashlib
import ipaddress
import unicodedata
from datetime import timedelta
from typing import Any

from axes.helpers import get_cool_off
from axes.models import AccessAttempt
from django.conf import settings
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from people.models import User

# Failures of one address under any names, within the time that they are held against it. A household that
# has forgotten its passwords stays below; a list of names and common passwords does not.
MOST_FROM_AN_ADDRESS = 30
# Who has logged in with this browser: they get in even while somebody else at their address guesses.
DEVICE, DEVICE_DAYS, DEVICE_NAMES = "device", 180, 8


def username(request: HttpRequest | None, credentials: dict[str, Any] | None = None) -> str | None:
    """The name as the log-in understands it, so that writing it otherwise earns no further attempts.

    A name that nobody has is kept as a digest: it may be a password, typed into the wrong field.
    """
    name = credentials.get("username") if credentials else None
    if name is None and request is not None:
        name = request.POST.get("username")
    if name is None:
        return None
    name = unicodedata.normalize("NFKC", str(name)).strip().lower()
    if User.objects.filter(username__iexact=name).exists():
        return name
    return f"unknown:{hashlib.sha256(f'{settings.SECRET_KEY}:{name}'.encode()).hexdigest()[:32]}"


def address(request: HttpRequest) -> str | None:
    """The address that a log-in comes from; of IPv6 the network, all of which is one machine's."""
    try:
        found = ipaddress.ip_address(request.META.get("REMOTE_ADDR", "").partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False).network_address)
    return str(found)


def is_guessing(request: HttpRequest) -> bool:
    """Whether too many log-ins from this address failed lately, and this browser is no known one."""
    if username(request) in known_here(request):
        return False
    since = timezone.now() - (get_cool_off(request) or timedelta())
    failed = AccessAttempt.objects.filter(ip_address=address(request), attempt_time__gt=since)
    return (failed.aggregate(total=Sum("failures_since_start"))["total"] or 0) >= MOST_FROM_AN_ADDRESS


def known_here(request: HttpRequest) -> list[str]:
    """The names that logged in with this browser, newest first."""
    age = DEVICE_DAYS * 24 * 60 * 60
    names = request.get_signed_cookie(DEVICE, default="", salt=__name__, max_age=age)
    return [name for name in (names or "").split("/") if name]


def remember_device(request: HttpRequest, response: HttpResponse, user: User) -> None:
    """Note in the browser who has just logged in. A name holds no slash."""
    name = username(None, {"username": user.username}) or ""
    names = [name, *(other for other in known_here(request) if other != name)][:DEVICE_NAMES]
    response.set_signed_cookie(
        DEVICE,
        "/".join(names),
        salt=__name__,
        max_age=DEVICE_DAYS * 24 * 60 * 60,
        path=reverse("login"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
