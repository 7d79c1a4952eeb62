"""What a request may hold: no NUL, wherever it came in."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, QueryDict, UnreadablePostError
from django.http.response import HttpResponseBase

NUL = "\0"


class WithoutNul:
    """Takes NUL out of cookies, of the query and of forms, so that no view has to think of it.

    PostgreSQL has no place for it in a text and calls it an error, even in a question; nobody types it. JSON
    and files are read, and cleaned, by those who know their shape.
    """

    sync_capable, async_capable = True, False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # A cookie may write it as "\000".
        if any(NUL in value for value in request.COOKIES.values()):
            request.COOKIES = {name: value.replace(NUL, "") for name, value in request.COOKIES.items()}
        if has_nul(request.GET):
            setattr(request, "GET", cleaned(request.GET))  # noqa: B010
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Callable[..., Any], *_: object) -> None:
        if NUL in request.path_info:
            raise Http404("No address holds NUL.")
        # A view without CSRF's check reads its body itself, and can't once it was read as a form.
        if request.method != "POST" or getattr(view, "csrf_exempt", False):
            return
        try:
            if has_nul(request.POST):
                setattr(request, "POST", cleaned(request.POST))  # noqa: B010
        except UnreadablePostError:
            pass  # the browser went away; CSRF's check answers that


def has_nul(given: QueryDict) -> bool:
    return any(NUL in text for name, values in given.lists() for text in (name, *values))


def cleaned(given: QueryDict) -> QueryDict:
    """The same fields, without NUL in names and values."""
    fields = [(name, value) for name, values in given.lists() for value in values]
    return QueryDict(urlencode(fields).replace("%00", ""))
