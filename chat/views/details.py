"""What a page asks for about a chat or a reply: its title, its text for copying, the memory in it."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from chat.commands import notes
from chat.models import Message, Session
from chat.replies import versions
from chat.sessions import sessions, thread
from memory.manager import MemoryManager
from people.access import UserRequest


@login_required
@require_safe
def message(request: UserRequest, session_id: UUID, message_id: int) -> HttpResponse:
    """A user's message as it stands, after editing it was cancelled."""
    chat = sessions.owned(request.user, session_id)
    row = versions.users_message(chat, message_id)
    if not request.htmx:
        return redirect("chat:session", chat.id)
    return render(request, "chat/_item.html", {"session": chat, "item": next(iter(thread.items([row])))})


@login_required
@require_safe
def text(request: UserRequest, session_id: UUID, message_id: int) -> HttpResponse:
    """The Markdown of a reply, as the Copy button wants it."""
    item = thread.reply_with(sessions.owned(request.user, session_id), message_id)
    return HttpResponse(item.text, content_type="text/plain; charset=utf-8")


@login_required
@require_POST
def record(request: UserRequest, session_id: UUID, message_id: int) -> HttpResponse:
    """Take a message and its reply off the record, or with `on` put them back on it."""
    chat = sessions.owned(request.user, session_id)
    said = versions.users_message(chat, message_id)
    memory, note = MemoryManager(request.user), None
    if "on" in request.POST:
        memory.put_on_record(message_id)
    elif memory.take_off_record(message_id):
        said.refresh_from_db(fields=["silenced_at"])
        note = notes.offer_what_is_written(chat, said)
    if not request.htmx:
        return redirect("chat:session", chat.id)
    shown = Message.objects.filter(Q(id=message_id) | Q(run__prompt_id=message_id), session=chat)
    context = {
        "session": chat,
        "marked": shown.filter(type__in=[Message.Type.USER, Message.Type.AI_RESPONSE]),
        "page": thread.since(chat, note.id - 1) if note else None,
    }
    return render(request, "chat/_recorded.html", context)


@login_required
@require_safe
def receipt(request: UserRequest, session_id: UUID, message_id: int) -> HttpResponse:
    """Which memory went into a reply, with scores, tokens and what was left out."""
    chat = sessions.owned(request.user, session_id)
    item = thread.reply_with(chat, message_id)
    if not item.receipt:
        raise Http404("No memory went into this reply.")
    memory = MemoryManager(request.user)
    sent, exact = memory.injected_entries(item.receipt.get("long_term", {}))
    about = item.receipt.get("matched", []) + item.receipt.get("memories", [])
    left_out = item.receipt.get("cut", {}).get("list", [])
    titles = Session.titles(request.user, {str(line.get("key")) for line in about + left_out})
    context = {
        "session": chat,
        "item": item,
        "receipt": item.receipt,
        "sent": memory.with_those_gone([{"source": "long_term", "text": text} for text in sent]),
        "sent_is_exact": exact,
        "about": memory.with_those_gone(named(about, titles)),
        "left_out": memory.with_those_gone(named(left_out, titles)),
    }
    return render(request, "chat/_receipt.html" if request.htmx else "chat/receipt.html", context)


def named(lines: list[dict[str, Any]], titles: dict[str, str]) -> list[dict[str, Any]]:
    """Lines of a receipt; those of a chat with its title, which is empty for a chat that is gone."""
    return [
        line | {"title": titles.get(str(line.get("key")), "")} if line.get("source") == "transcript" else line
        for line in lines
    ]


@login_required
@require_safe
def heading(request: UserRequest, session_id: UUID) -> HttpResponse:
    """The title and the list again: after a reply the chat is on top and may have a better name."""
    chat = sessions.followed(request.user, session_id)
    return render(request, "chat/_heading.html", {"session": chat}) if chat else HttpResponse(status=204)
