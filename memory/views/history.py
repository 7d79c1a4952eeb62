"""The history of MEMORY.md: revisions and backups, each with its diff and a way back."""

from dataclasses import dataclass, field
from datetime import datetime

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
from memory.views.diff import DiffLine
from oneclaw.outside import number
from people.access import UserRequest
from people.models import User

PAGE = 30
SHOWN = 2  # changed lines in a row
# Characters of all texts on one page that are compared for the lines they changed.
MOST_COMPARED = 1_000_000
BACKUP_TIME = "%Y-%m-%d_%H-%M-%S"


@dataclass(frozen=True, slots=True)
class Change:
    """A revision as a row shows it: the first lines that changed, and how many more did."""

    revision: Revision
    lines: list[DiffLine] = field(default_factory=list)
    more: int = 0


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy of MEMORY.md, and when it was made; None for a name whose numbers are no time."""

    name: str
    made: datetime | None


@login_required
@require_safe
def history(request: UserRequest) -> HttpResponse:
    """Revisions, newest first and the next page by `?before=`, and the backups."""
    memory = MemoryManager(request.user)
    memory.long_term.notice_outside_edit()
    rows = revisions.history(request.user).defer("before", "after")
    if (before := number(request.GET.get("before", ""))) is not None:
        rows = rows.filter(id__lt=before)
    found = list(rows[: PAGE + 1])
    context = {
        "changes": changes(request.user, found[:PAGE]),
        "next": found[PAGE - 1].pk if len(found) > PAGE else None,
        "backups": [Backup(name, made_at(name)) for name in memory.files.list_backups()],
    }
    return render(request, "memory/_revisions.html" if request.htmx else "memory/history.html", context)


def changes(user: User, rows: list[Revision]) -> list[Change]:
    """Each revision with what it changed; a page of huge texts shows that of the newest only."""
    room, wanted = MOST_COMPARED, list[int]()
    for row in rows:
        room -= row.size
        if room < 0:
            break
        wanted.append(row.pk)
    texts = {
        pk: (before, after)
        for pk, before, after in Revision.objects.filter(owner=user, pk__in=wanted).values_list(
            "pk", "before", "after"
        )
    }
    return [_change(row, *texts[row.pk]) if row.pk in texts else Change(row) for row in rows]


def _change(row: Revision, before: str, after: str) -> Change:
    told = [line for line in diff.lines(before, after, context=0) if line.mark in "+-" and line.text.strip()]
    # A heading says little of what is new under it.
    changed = [line for line in told if not line.text.startswith("#")] or told
    shown = [DiffLine(line.mark, line.text.strip().removeprefix("- ")) for line in changed[:SHOWN]]
    return Change(row, shown, max(0, len(changed) - SHOWN))


def made_at(name: str) -> datetime | None:
    """The local time in a backup's name."""
    try:
        return datetime.strptime("_".join(name.removesuffix(".md").split("_")[2:4]), BACKUP_TIME)
    except ValueError:
        return None


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
    return render(request, "memory/backup.html", {"backup": Backup(name, made_at(name)), "lines": lines})


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
