"""What every page's frame shows of the chat: the list of chats, read only when a template draws it."""

import re
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from chat.sessions import sessions


def chats(request: HttpRequest) -> dict[str, Any]:
    if not request.user.is_authenticated:
        return {}
    user = request.user
    return {"list": SimpleLazyObject(lambda: sessions.page(user)), "open_chat": open_chat(request)}


def path_of_page(request: HttpRequest) -> str:
    """The path in the browser's address, also when a fragment is asked for."""
    htmx = getattr(request, "htmx", None)
    return urlsplit((htmx.current_url_abs_path if htmx else "") or request.path).path


def open_chat(request: HttpRequest) -> str:
    """The id of the chat in the browser's address."""
    match = re.match(r"/chat/([0-9a-f-]{36})/", path_of_page(request))
    return match[1] if match else ""
