"""Calls from the page's script: it was hidden, it is back, remove the entries of deleted chats."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from memory.manager import MemoryManager
from memory.models import RemovedEntries
from memory.triggers import MemoryTriggers
from people.access import UserRequest


@login_required
@require_POST
def hidden(request: UserRequest) -> HttpResponse:
    """The beacon of a page that went to the background, with the chat it showed."""
    MemoryTriggers(request.user).on_app_background(request.POST.get("session", "")[:64] or None)
    return HttpResponse(status=204)


@login_required
@require_POST
def returned(request: UserRequest) -> HttpResponse:
    """The page is looked at again, perhaps on another day."""
    MemoryTriggers(request.user).on_return()
    return HttpResponse(status=204)


@login_required
@require_POST
def forget(request: UserRequest) -> HttpResponse:
    """Remove the log entries that came from the chats named in `id`; the answer offers undo."""
    ids = [each for each in request.POST.getlist("id")[:1000] if _is_uuid(each)]
    removed = MemoryManager(request.user).remove_log_entries_of(ids)
    if not request.htmx:
        return redirect("memory:logs")
    return render(request, "memory/_forgotten.html", {"removed": removed})


@login_required
@require_POST
def remember(request: UserRequest, removed_id: int) -> HttpResponse:
    """Undo of a removal."""
    removed = get_object_or_404(RemovedEntries, owner=request.user, pk=removed_id)
    days = {saved["day"] for saved in removed.entries}
    count = MemoryManager(request.user).put_back_log_entries(removed)
    if not request.htmx:
        messages.success(request, f"{count} {'entry' if count == 1 else 'entries'} restored.")
        return redirect("memory:day", *days) if len(days) == 1 else redirect("memory:logs")
    return render(request, "memory/_forgotten.html", {"back": count})


def _is_uuid(value: str) -> bool:
    try:
        UUID(value)
    except ValueError:
        return False
    return True
