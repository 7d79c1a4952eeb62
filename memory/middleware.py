"""A memory folder that can't be read or written is said on the page, not a broken page."""

from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from memory.disk import StorageError
from oneclaw import errors


class SayStorageErrors(MiddlewareMixin):
    """For every view that has no better place to say it."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, StorageError):
            return None
        return errors.page(request, 503, "Memory can't be reached", str(exception))
