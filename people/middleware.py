"""What is between every request and its page: the way to the log-in and back, and the reader's clock."""

from collections.abc import Callable
from urllib.parse import urlsplit

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin
from django.utils.http import url_has_allowed_host_and_scheme


class ReturnAfterLogin(MiddlewareMixin):
    """Mends the redirect to the log-in for htmx and for forms, whose own address is no page to return to."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.status_code != 302 or not response["Location"].startswith(f"{reverse('login')}?next="):
            return response
        htmx = getattr(request, "htmx", None)
        if htmx:
            # The whole page goes to the log-in; a redirect would be swapped into its middle.
            url = redirect_to_login(page_behind(request, htmx.current_url or "")).url
            return HttpResponse(status=204, headers={"HX-Redirect": url})
        if request.method not in ("GET", "HEAD"):
            return redirect_to_login(page_behind(request, request.META.get("HTTP_REFERER", "")))
        return response


def page_behind(request: HttpRequest, url: str) -> str:
    """The page that a fragment or a form was on, if the browser told one of ours."""
    if not url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure()):
        return reverse("home")
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


class OwnTimeZone:
    """Pages tell times and days as the clock on their reader's wall does.

    It knows no other way than to run in a thread, and as the last in line it brings the others there too:
    one change of threads for a page, and not two for each of them.
    """

    sync_capable, async_capable = True, False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return self.get_response(request)
        with timezone.override(request.user.zone):
            return self.get_response(request)
