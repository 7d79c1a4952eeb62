"""Whose failed log-ins are counted together."""

import unicodedata
from typing import Any

from django.http import HttpRequest


def username(request: HttpRequest | None, credentials: dict[str, Any] | None = None) -> str | None:
    """The name as the log-in understands it, so that writing it otherwise earns no further attempts."""
    name = credentials.get("username") if credentials else None
    if name is None and request is not None:
        name = request.POST.get("username")
    return None if name is None else unicodedata.normalize("NFKC", str(name)).strip().lower()
