"""Actions at a line that a receipt shows: edit, pin, forget, undo."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from memory.manager import EntryChanged, LineChange, MemoryManager, ShownLine, UndoError
from memory.models import Source
from memory.storage.atomic import StorageError
from oneclaw.outside import number
from people.access import UserRequest

MAX_WORDS = 5_000


@login_required
@require_POST
def line(request: UserRequest) -> HttpResponse:
    """Do one thing with one line; the answer is the line as it is then."""
    shown, change, trouble = shown_line(request), None, ""
    try:
        change = act(request, shown)
    except (EntryChanged, UndoError, StorageError, ValueError) as error:
        trouble = str(error)
    if not request.htmx:
        (messages.error if trouble else messages.success)(request, trouble or (change.told if change else ""))
        back = request.POST.get("next", "")
        allowed = url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()})
        return redirect(back if allowed and back.startswith("/") else "memory:home")
    return render(request, "memory/_line.html", {"line": shown, "change": change, "trouble": trouble})


def shown_line(request: UserRequest) -> ShownLine:
    source, anchor = request.POST.get("source", ""), request.POST.get("anchor", "")
    return ShownLine(
        source if source in Source.values else "",
        request.POST.get("text", "").strip(),
        request.POST.get("date", ""),
        number(anchor),
    )


def act(request: UserRequest, shown: ShownLine) -> LineChange:
    memory, action = MemoryManager(request.user), request.POST.get("action")
    words = request.POST.get("words", "").replace("\r\n", "\n").strip()
    if action == "undo":
        memory.undo_line(request.POST.get("undo", ""))
        return LineChange(shown.text, "Undone.")
    if action == "forget":
        return memory.forget_line(shown)
    if action == "pin":
        return memory.pin_line(shown)
    if action != "edit" or not words:
        raise ValueError("Write something to save, or forget the line.")
    if len(words) > MAX_WORDS:
        raise ValueError(f"A line can have {MAX_WORDS:,} characters; this has {len(words):,}.")
    return memory.edit_line(shown, words)
