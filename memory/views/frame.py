"""What the frame of every page tells of memory: long work that goes on, and what stops it being written."""

from pathlib import Path
from time import monotonic
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import SimpleLazyObject
from django.views.decorators.http import require_safe

from memory.jobs import ledger, progress
from oneclaw import datafolder
from people.access import UserRequest
from people.models import User

# The disk is asked by writing to it: not with every page.
ASKED_EVERY = 60.0
STOPS = ("full", "not writable", "gone")

_asked: dict[str, tuple[float, str]] = {}


@login_required
@require_safe
def work(request: UserRequest) -> HttpResponse:
    return render(request, "memory/_work.html")


def in_progress(request: HttpRequest) -> dict[str, Any]:
    """What goes on, read only where a template shows it."""
    user = request.user
    return {"work": SimpleLazyObject(lambda: progress.current(user))} if isinstance(user, User) else {}


def announced(response: HttpResponse) -> HttpResponse:
    """Have the page look at once what goes on: this answer has begun something long."""
    response["HX-Trigger"] = "work"
    return response


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
