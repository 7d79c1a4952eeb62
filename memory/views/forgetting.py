"""Forgetting: what holds something, to pick from; what deleted chats left; what stays forgotten."""

from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from chat.models import Session
from memory.forgetting.holding import Holding
from memory.manager import MemoryManager, UndoError
from memory.models import Forgotten
from memory.storage.atomic import StorageError
from people.access import UserRequest

LONGEST = 500  # characters of what to look for
MOST_CHATS, MOST_REQUESTS = 50, 20


@dataclass(frozen=True, slots=True)
class DeletedChat:
    """A deleted chat of which memory still keeps something."""

    id: UUID
    title: str
    kept: int


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def forgetting(request: UserRequest) -> HttpResponse:
    """Look for something, or at what deleted chats left, and forget what is picked."""
    memory = MemoryManager(request.user)
    if request.method == "POST":
        return _forget(request, memory)
    words = request.GET.get("q", "").strip()[:LONGEST]
    chats = [each for each in request.GET.getlist("chat")[:MOST_CHATS] if _is_uuid(each)]
    found = memory.left_of_chats(chats) if chats else memory.would_forget(words)
    context = {
        "words": words,
        "asked": bool(words or chats),
        "of_chats": bool(chats),
        "holdings": found,
        "deleted": _deleted(request, memory),
        "requests": Forgotten.objects.filter(owner=request.user)[:MOST_REQUESTS],
    }
    return render(request, "memory/forgetting.html", context)


def _forget(request: UserRequest, memory: MemoryManager) -> HttpResponse:
    refs = request.POST.getlist("ref")[:1000]
    try:
        done = memory.forget(refs) if refs else None
    except StorageError as error:
        messages.error(request, str(error))
        return redirect("memory:forgetting")
    if done and done.row:
        messages.success(request, str(done))
        return redirect("memory:forgetting")
    messages.error(request, str(done) if done else "Choose at least one.")
    words = request.POST.get("q", "")[:LONGEST]
    return redirect(f"{reverse('memory:forgetting')}?{urlencode({'q': words})}")


def _deleted(request: UserRequest, memory: MemoryManager) -> list[DeletedChat]:
    """Deleted chats that left something, as long as they are kept for undo."""
    rows = Session.objects.filter(owner=request.user, deleted_at__isnull=False).order_by("-deleted_at")
    chats = {str(chat.id): chat for chat in rows[:MOST_CHATS]}
    left: list[Holding] = memory.left_of_chats(list(chats)) if chats else []
    counts = {id: sum(each.session == id for each in left) for id in chats}
    return [DeletedChat(chat.id, str(chat), counts[id]) for id, chat in chats.items() if counts[id]]


@login_required
@require_POST
def act(request: UserRequest, forgotten_id: int, action: str) -> HttpResponse:
    """Undo a request to forget, purge it from history, or let it be remembered again."""
    row = get_object_or_404(Forgotten, owner=request.user, pk=forgotten_id)
    memory = MemoryManager(request.user)
    try:
        if action == "undo":
            memory.undo_forgetting(row.pk)
            messages.success(request, "It is remembered again.")
        elif action == "purge":
            memory.purge_forgotten(row.pk)
            messages.success(request, "Purged from the history and backups of MEMORY.md.")
        elif action == "allow":
            row.delete()
            messages.success(request, "It may be remembered again when it is next said.")
        else:
            raise Http404("No such action.")
    except (UndoError, StorageError) as error:
        messages.error(request, str(error))
    return redirect("memory:forgetting")


@login_required
@require_POST
def purge_history(request: UserRequest) -> HttpResponse:
    """Delete all history and backups of MEMORY.md."""
    count = MemoryManager(request.user).purge_history()
    messages.success(request, f"{count} changes and backups purged. MEMORY.md itself is as it was.")
    return redirect("memory:history")


def _is_uuid(value: str) -> bool:
    try:
        UUID(value)
    except ValueError:
        return False
    return True
