"""Private pages stay out of the browser's cache: after a log-out the back button shows none of them."""

from django.http import HttpRequest, HttpResponseBase
from django.utils.deprecation import MiddlewareMixin


class NoStore(MiddlewareMixin):
    """For every answer that does not say itself how it may be kept, as what is everybody's does."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not response.has_header("Cache-Control"):
            response["Cache-Control"] = "no-store"
        return response
