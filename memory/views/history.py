"""The history of MEMORY.md: revisions and backups, each with its diff and a way back."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from memory.longterm import revisions
from memory.manager import MemoryManager, UndoError
from memory.models import Revision
from memory.storage.atomic import StorageError
from memory.views import diff
from people.access import UserRequest

PAGE = 30


@login_required
@require_safe
def history(request: UserRequest) -> HttpResponse:
    """Revisions, newest first and the next page by `?before=`, and the backups."""
    memory = MemoryManager(request.user)
    memory.long_term.notice_outside_edit()
    rows = revisions.history(request.user).defer("before", "after")
    before = request.GET.get("before", "")
    if before.isdecimal() and len(before) < 19:
        rows = rows.filter(id__lt=int(before))
    found = list(rows[: PAGE + 1])
    context = {
        "revisions": found[:PAGE],
        "next": found[PAGE - 1].pk if len(found) > PAGE else None,
        "backups": memory.files.list_backups(),
    }
    return render(request, "memory/_revisions.html" if request.htmx else "memory/history.html", context)


@login_required
@require_safe
def revision(request: UserRequest, revision_id: int) -> HttpResponse:
    found = get_object_or_404(Revision, owner=request.user, pk=revision_id)
    context = {"revision": found, "lines": diff.lines(found.before, found.after)}
    return render(request, "memory/revision.html", context)


@login_required
@require_POST
def undo(request: UserRequest, revision_id: int) -> HttpResponse:
    """Take one change back; from a chat's chip the answer is the chip again."""
    found = get_object_or_404(Revision, owner=request.user, pk=revision_id)
    try:
        MemoryManager(request.user).undo(found.pk)
    except (UndoError, StorageError) as error:
        outcome = str(error)
        messages.error(request, outcome)
    else:
        outcome = "Undone."
        messages.success(request, outcome)
    if request.htmx:
        return render(request, "memory/_undone.html", {"outcome": outcome, "revision": found.pk})
    return redirect("memory:home" if request.POST.get("from") == "entries" else "memory:history")


@login_required
@require_safe
def backup(request: UserRequest, name: str) -> HttpResponse:
    """What restoring a backup would change."""
    memory = MemoryManager(request.user)
    text = memory.files.read_backup(name)
    if text is None:
        raise Http404("No such backup.")
    lines = diff.lines(memory.read_long_term_memory(), text)
    return render(request, "memory/backup.html", {"name": name, "lines": lines})


@login_required
@require_POST
def restore(request: UserRequest, name: str) -> HttpResponse:
    memory = MemoryManager(request.user)
    if memory.files.read_backup(name) is None:
        raise Http404("No such backup.")
    if memory.restore_backup(name):
        messages.success(request, "Restored. The previous text is in the history.")
    else:
        messages.error(request, "This backup is empty, so it was not restored.")
    return redirect("memory:history")
