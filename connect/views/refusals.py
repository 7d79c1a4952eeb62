"""What is refused before any view is asked: programs are told in their protocol's form, people by a page."""

import json

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse

from connect.mcp import endpoint
from connect.v1 import faults
from oneclaw.site import errors


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    body = _told(request.path) if isinstance(exception, DisallowedHost) else None
    if body is None:
        return errors.bad_request(request, exception)
    return HttpResponse(body, status=400, content_type="application/json")


def _told(path: str) -> bytes | None:
    """What a program is told that calls OneClaw by a name it does not have; None at the paths of pages."""
    if f"{path}/".startswith("/v1/"):
        return json.dumps(faults.unknown_host(errors.UNKNOWN_HOST).body).encode()
    if f"{path}/".startswith(f"{endpoint.PATH}/"):
        return endpoint.told(errors.UNKNOWN_HOST)
    return None
