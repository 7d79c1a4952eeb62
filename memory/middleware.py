"""Middleware that says on a page that the memory folder can't be read or written."""

from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from memory.storage.atomic import StorageError
from oneclaw.site import errors


class SayStorageErrors(MiddlewareMixin):
    """For every view that has no better place to say it."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, StorageError):
            return None
        return errors.page(request, 503, "Memory is unavailable", str(exception))
