"""What keeps memory from being written, for a quiet banner on every page."""

from pathlib import Path
from time import monotonic
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from memory.jobs import ledger
from oneclaw import datafolder
from people.models import User

# The disk is asked by writing to it: not with every page.
ASKED_EVERY = 60.0
STOPS = ("full", "not writable")

_asked: dict[str, tuple[float, str]] = {}


def trouble(request: HttpRequest) -> dict[str, Any]:
    """A sentence on what is wrong and what to do, read only where a template shows it."""
    user = request.user
    if not isinstance(user, User) or not user.memory_enabled:
        return {}
    return {"memory_trouble": SimpleLazyObject(lambda: sentence(user))}


def sentence(user: User) -> str:
    state = disk()
    if state in STOPS:
        return datafolder.DISK_TROUBLES[state]
    failed = ledger.failing(user)
    return (
        f"Your chats could not be written to memory three times in a row. {failed.detail}" if failed else ""
    )


def disk() -> str:
    folder = str(settings.DATA_DIR)
    at, state = _asked.get(folder, (-ASKED_EVERY, ""))
    if monotonic() - at >= ASKED_EVERY:
        state = datafolder.disk(Path(folder))
        _asked[folder] = (monotonic(), state)
    return state
