"""What every page's frame shows of the chat: the list of chats, read only when a template draws it."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from chat import sessions


def chats(request: HttpRequest) -> dict[str, Any]:
    if not request.user.is_authenticated:
        return {}
    user = request.user
    return {"list": SimpleLazyObject(lambda: sessions.page(user))}
