"""Pages for when something is wrong: each says what happened and what to do."""

from django.core.exceptions import DisallowedHost, RequestDataTooBig, TooManyFieldsSent
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

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
        return page(
            request,
            400,
            "Unknown address",
            "OneClaw doesn't know this host name. If it is yours, add it to ONECLAW_HOSTS and restart.",
        )
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


def server_error(request: HttpRequest) -> HttpResponse:
    """Says so even when the database is what failed: the template asks nobody who is logged in."""
    return page(
        request,
        500,
        "Something went wrong",
        "OneClaw's log has the details. What was saved is safe: try again.",
    )
