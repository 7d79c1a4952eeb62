"""Usage of models: a page under Settings, and the same of one chat."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from chat.sessions import sessions, usage
from people.access import UserRequest


@login_required
@require_safe
def index(request: UserRequest) -> HttpResponse:
    """What the reader's replies took; admins also see what everybody's did, in numbers alone."""
    rows = usage.by_month(request.user)
    context = {
        "rows": rows,
        "total": usage.total(row.tokens for row in rows),
        "plot": usage.plot(rows, request.user.today()),
        "everyone": usage.of_everyone() if request.user.is_staff else None,
    }
    return render(request, "settings/usage.html", context)


@login_required
@require_safe
def of_chat(request: UserRequest, session_id: UUID) -> HttpResponse:
    chat = sessions.owned(request.user, session_id)
    rows = usage.of_chat(chat)
    context = {"session": chat, "rows": rows, "total": usage.total(tokens for _, tokens in rows)}
    return render(request, "chat/_usage.html" if request.htmx else "chat/usage.html", context)
