"""The chat's pages: a new chat, an open one, its older messages and what came since."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from chat import memory
from chat.attachments import uploads
from chat.commands import notes
from chat.models import Session
from chat.replies import temporary
from chat.sessions import options, sessions, thread
from chat.views import replies
from oneclaw.outside import number
from people.access import UserRequest

OPEN_CHAT = "open_chat"


def composer(request: UserRequest, session: Session | None = None) -> dict[str, Any]:
    """What the frame around any chat needs: the list, and the choices of the composer."""
    memory.returned(request.user)
    return {
        "session": session,
        "list": sessions.page(request.user),
        "waiting": uploads.waiting(request.user, session),
    } | options.offered(request.user, session)


@login_required
@require_safe
def home(request: UserRequest) -> HttpResponse:
    """A new chat; nothing is stored until its first message."""
    text = request.GET.get("text", "")[:2000]
    context: dict[str, Any] = {"text": text, "temporary": "temporary" in request.GET}
    if not context["temporary"]:
        context["note"] = notes.kept(request.session)
    return render(request, "chat/session.html", composer(request) | context)


@login_required
@require_safe
def session(request: UserRequest, session_id: UUID) -> HttpResponse:
    chat = sessions.owned(request.user, session_id)
    note_switch(request, chat)
    at = place(request, "at")
    context: dict[str, Any] = {"page": thread.around(chat, at) if at else thread.newest(chat), "at": at}
    if chat.temporary:
        context |= {"temporary": True, "open_page": temporary.opened(chat)}
    return render(request, "chat/session.html", composer(request, chat) | context)


@login_required
@require_safe
def older(request: UserRequest, session_id: UUID) -> HttpResponse:
    """The page of messages before one that the reader has scrolled up to."""
    chat = sessions.owned(request.user, session_id)
    messages = thread.newest(chat, before=place(request, "before"))
    return render(request, "chat/_messages.html", {"session": chat, "page": messages})


@login_required
@require_safe
def updates(request: UserRequest, session_id: UUID) -> HttpResponse:
    """What was said since, by another tab or a run that was queued; 204 when nothing."""
    chat = sessions.followed(request.user, session_id)
    after = place(request, "after") or 0
    if chat is None:
        return HttpResponse(status=204)
    if thread.has_turned(chat, after) or thread.is_far_behind(chat, after):
        return replies.messages(request, chat)
    messages = thread.since(chat, after)
    if not messages.items:
        return HttpResponse(status=204)
    return render(request, "chat/_messages.html", {"session": chat, "page": messages})


def place(request: HttpRequest, name: str) -> int | None:
    """The message that a parameter of the address names."""
    value = request.GET.get(name, "")
    found = number(value)
    if value and found is None:
        raise Http404("No such message.")
    return found


def note_switch(request: UserRequest, chat: Session) -> None:
    """Opening another chat than the last one is RFC-023's session switch."""
    previous = request.session.get(OPEN_CHAT)
    if previous == str(chat.id):
        return
    request.session[OPEN_CHAT] = None if chat.temporary else str(chat.id)
    if previous:
        memory.switched(request.user, UUID(previous), chat.id)
