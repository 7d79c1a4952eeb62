"""Keeps private pages out of the browser's cache: after logging out, the back button shows none of them."""

from django.http import HttpRequest, HttpResponseBase
from django.utils.deprecation import MiddlewareMixin


class NoStore(MiddlewareMixin):
    """Adds `no-store` to every answer without cache headers of its own."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not response.has_header("Cache-Control"):
            response["Cache-Control"] = "no-store"
        return response
