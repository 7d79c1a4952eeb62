"""Pages for when something is wrong: each says what happened and what to do."""

from django.core.exceptions import DisallowedHost, RequestDataTooBig, TooManyFieldsSent
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

TOO_LARGE = ("Too large", "What you sent is larger than OneClaw takes. Send less of it at once.")


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
            "OneClaw does not know this host name. If it is yours, add it to ONECLAW_HOSTS and restart.",
        )
    return page(request, 400, "That did not make sense", "Go back, reload the page and try again.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    advice = str(exception) or "Your account may not do this. Ask an admin."
    return page(request, 403, "Not allowed", advice)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return page(
        request,
        403,
        "This page is out of date",
        "You logged in or out since it was opened, or cookies are off. Reload the page and send it again.",
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return page(request, 404, "Not found", "There is nothing at this address, or it is not yours.")


def too_large(request: HttpRequest) -> HttpResponse:
    return page(request, 413, *TOO_LARGE)


def server_error(request: HttpRequest) -> HttpResponse:
    """Says so even when the database is what failed: the template asks nobody who is logged in."""
    return page(
        request, 500, "Something broke", "It is in OneClaw's log. What was saved before is safe; try again."
    )
