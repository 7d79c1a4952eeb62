"""The stream that a page follows a run by."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.db import connection
from django.http import Http404, HttpResponseBase, StreamingHttpResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.http import require_safe

from chat.models import Run, Session
from chat.replies import elsewhere, running, stream
from chat.sessions import thread
from chat.sessions.thread import MessagePage
from people.access import UserRequest
from people.models import User
from people.streams import while_welcome


@login_required
@require_safe
async def follow(request: UserRequest, session_id: UUID, run_id: UUID) -> HttpResponseBase:
    """Server-sent events of one of the user's runs, from where the page was."""
    user: Any = await request.auser()
    await sync_to_async(_owned)(user, session_id, run_id)
    mark = request.headers.get("Last-Event-ID", "") or request.GET.get("after", "")

    async def final() -> str:
        return await sync_to_async(finished)(request, run_id)

    events = while_welcome(request, _events(run_id, mark, final), last=stream.event("close", ""))
    response = StreamingHttpResponse(events, content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    # Proxies that buffer would hold the words back.
    response["X-Accel-Buffering"] = "no"
    return response


async def _events(run_id: UUID, mark: str, final: Any) -> AsyncIterator[str]:
    waited = False
    while (live := running.get(run_id)) is None and await sync_to_async(_waits)(run_id):
        if await sync_to_async(_is_elsewhere)(run_id):
            with elsewhere.followed(run_id) as live:
                async for text in stream.follow(live, mark, final):
                    yield text
            return
        # Queued behind another reply, or about to begin.
        yield stream.event("note", "Waiting…") if not waited else ": still here\n\n"
        await running.next_start(1.0)
        waited = True
    if live is None:
        yield await stream.ended(final)
        return
    async for text in stream.follow(live, mark, final):
        yield text


def _owned(user: User, session_id: UUID, run_id: UUID) -> None:
    own = Run.objects.filter(id=run_id, session_id=session_id, session__owner=user, session__deleted_at=None)
    if not own.exists():
        raise Http404("No such run.")
    _let_go()


def _waits(run_id: UUID) -> bool:
    waiting = Run.objects.filter(id=run_id, status__in=Run.OPEN).exists()
    _let_go()
    return waiting


def _is_elsewhere(run_id: UUID) -> bool:
    """Whether another process makes this reply."""
    found = bool(elsewhere.holder_of(run_id))
    _let_go()
    return found


def finished(request: UserRequest, run_id: UUID) -> str:
    """The reply as it stays on the page."""
    run = Run.objects.select_related("session").get(id=run_id)
    item = thread.reply(run)
    session: Session = run.session
    html = ""
    if item is not None:
        page = MessagePage((item,))
        # The request's own time zone was that of its answer's first byte.
        with timezone.override(request.user.zone):
            html = render_to_string("chat/_finished.html", {"page": page, "session": session}, request)
    _let_go()
    return html


def _let_go() -> None:
    """Close the database connection: a stream lasts for minutes."""
    if not connection.in_atomic_block:
        connection.close()
