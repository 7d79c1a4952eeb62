"""Pages for when something is wrong: each says what happened and what to do."""

import sys
from pathlib import Path

from django.conf import settings
from django.core.exceptions import DisallowedHost, RequestDataTooBig, TooManyFieldsSent
from django.db import DatabaseError, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from oneclaw import datafolder
from oneclaw.postgres import is_postgres
from oneclaw.server import measures

UNKNOWN_HOST = "OneClaw doesn't know this host name. If it is yours, add it to ONECLAW_HOSTS and restart."
TOO_LARGE = ("Too large", "What you sent is larger than OneClaw accepts. Send less at once.")


def page(request: HttpRequest, status: int, title: str, advice: str) -> HttpResponse:
    """One template for all of them; htmx gets the sentence alone, for a toast."""
    if getattr(request, "htmx", False):
        return HttpResponse(advice, status=status, content_type="text/plain; charset=utf-8")
    # Without the request: context processors ask who is logged in, and that may be what failed.
    return HttpResponse(render_to_string("error.html", {"title": title, "advice": advice}), status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, (RequestDataTooBig, TooManyFieldsSent)):
        return too_large(request)
    if isinstance(exception, DisallowedHost):
        return page(request, 400, "Unknown address", UNKNOWN_HOST)
    return page(request, 400, "Invalid request", "Go back, reload the page and try again.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    advice = str(exception) or "Your account isn't allowed to do this. Ask an admin."
    return page(request, 403, "Not allowed", advice)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return page(
        request,
        403,
        "This page is out of date",
        "You logged in or out since you opened it, or cookies are disabled. Reload the page and try again.",
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return page(request, 404, "Not found", "There is nothing at this address, or it is not yours.")


def too_large(request: HttpRequest) -> HttpResponse:
    return page(request, 413, *TOO_LARGE)


AWAY = (
    "The database can't be reached just now. What was saved is safe: try again in a moment. "
    "If this stays, start PostgreSQL and see OneClaw's log."
)
DAMAGED = "The database is damaged. Stop OneClaw and restore a backup: manage.py restore FILE.zip"
# What a database says when the fault is not the code's, and what is to be done about it.
DATABASE_TROUBLE = {
    "No space left on device": "The disk of the database server is full. Free up some space there.",
    "read-only transaction": "The database server takes no changes. ONECLAW_DATABASE_URL must name one that "
    "does.",
    "too many clients": "The database server has no connection left. Raise its max_connections, or lower "
    "ONECLAW_DATABASE_CONNECTIONS.",
    "locked": "Something else has been writing to the database for too long. Try again in a moment.",
    "malformed": DAMAGED,
    "not a database": DAMAGED,
}


def trouble() -> str:
    """What is wrong with the machine, in a sentence; nothing when the fault must be the code's."""
    disk = datafolder.disk(Path(settings.DATA_DIR))
    if disk not in ("ok", "low"):
        return f"{datafolder.DISK_TROUBLES[disk]} What was saved before is safe."
    # Django answers from within the handling of the exception, in threads too.
    exception = sys.exc_info()[1]
    if not isinstance(exception, DatabaseError | InterfaceError):
        return ""
    known = (advice for words, advice in DATABASE_TROUBLE.items() if words in str(exception))
    cut_off = is_postgres() and isinstance(exception, OperationalError | InterfaceError)
    return next(known, AWAY if cut_off else "")


def server_error(request: HttpRequest) -> HttpResponse:
    """Says so even when the database is what failed: the template asks nobody who is logged in."""
    measures.count("errors")
    if advice := trouble():
        return page(request, 503, "OneClaw can't do this now", advice)
    return page(
        request,
        500,
        "Something went wrong",
        "OneClaw's log has the details. What was saved is safe: try again.",
    )
