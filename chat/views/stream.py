"""The stream that a page follows a run by."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe


@login_required
@require_safe
async def stream(request: HttpRequest, session_id: UUID, run_id: UUID) -> HttpResponse:
    """Server-sent events of one run."""
    return HttpResponse(status=204)
