"""The pages of daily logs: a year at a glance, one day to read, and what its owner may do to it."""

from datetime import UTC, date, datetime, timedelta
from time import time

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from chat.models import AiModel
from memory.jobs import claims
from memory.manager import MemoryManager
from memory.models import LedgerEntry, RemovedEntries
from memory.storage.atomic import is_too_large
from memory.triggers import MemoryTriggers
from memory.views import days
from memory.views.charts import year_calendar
from oneclaw.outside import number
from people.access import UserRequest

# How long a page waits for a summary that it asked for.
PATIENCE = timedelta(minutes=5)
MOST_SHOWN = 200  # entries of one day on its page


@login_required
@require_safe
def logs(request: UserRequest) -> HttpResponse:
    """The calendar of the last year and the list of days, next page by `?before=`."""
    files = MemoryManager(request.user).files
    page = days.page(files, before=request.GET.get("before", ""))
    if request.htmx:
        return render(request, "memory/_days.html", {"page": page})
    calendar = year_calendar(days.activity(files, request.user.today()), request.user.today())
    return render(
        request, "memory/logs.html", {"page": page, "calendar": calendar, "removed": just_removed(request)}
    )


@login_required
@require_safe
def day(request: UserRequest, day: date) -> HttpResponse:
    files = MemoryManager(request.user).files
    text = files.read_daily_log(day)
    if text is None:
        raise Http404("There is no log of that day.")
    older, newer = days.neighbours(files, day)
    entries = days.entries(text)
    context = {
        "day": day,
        "entries": entries[:MOST_SHOWN],
        "not_shown": max(0, len(entries) - MOST_SHOWN),
        "too_large": [f"{day}.md"] if is_too_large(files.daily_path(day)) else [],
        "older": older,
        "newer": newer,
        "removed": just_removed(request),
    }
    return render(request, "memory/day.html", context | redo_state(request, day, entries))


@login_required
@require_POST
def summarise(request: UserRequest, day: date) -> HttpResponse:
    """Have a day's highlights summarised by the model that is there now."""
    must_have_a_log(request, day)
    MemoryTriggers(request.user).redo_highlights(day.isoformat())
    return redirect(f"{reverse('memory:day', args=[day])}?asked={int(time())}")


def redo_state(request: UserRequest, day: date, entries: list[days.Shown]) -> dict[str, object]:
    """Whether the day is being summarised again, how that ended, and who could do it for highlights."""
    asked = number(request.GET.get("asked", ""), digits=11)
    since = None if asked is None else datetime.fromtimestamp(asked, UTC)
    tried = LedgerEntry.objects.filter(owner=request.user, kind="flush", trigger="manual")
    runs = list(tried.filter(started_at__gte=since).order_by("-pk")) if since else []
    queued = claims.redo_day(request.user, day), claims.redo_highlights(request.user, day)
    waiting = any(map(claims.waiting, queued)) or any(run.outcome == "running" for run in runs)
    patient = since is not None and timezone.now() - since < PATIENCE
    model = AiModel.objects.default()
    trusted = model if model and model.may_write_memory else None
    return {
        "summariser": trusted if any(entry.highlights for entry in entries) else None,
        "redoing": patient and (waiting or not runs),
        "again": waiting and not patient,
        "redone": runs[0] if runs and not waiting else None,
    }


@login_required
@require_POST
def remove(request: UserRequest, day: date) -> HttpResponse:
    """Delete one entry by its key, or the whole day; the next page offers undo."""
    key = request.POST.get("key", "")
    memory = MemoryManager(request.user)
    removed = memory.remove_log_entries([day], lambda entry: not key or days.key_of(entry) == key)
    if removed is None:
        messages.error(request, "That entry was changed or removed in the meantime.")
        return redirect("memory:logs")
    left = memory.files.read_daily_log(day) is not None
    target = reverse("memory:day", args=[day]) if left else reverse("memory:logs")
    return redirect(f"{target}?removed={removed.pk}")


@login_required
@require_POST
def redo(request: UserRequest, day: date) -> HttpResponse:
    """Have the model summarise the day again; the old entries stay until the new ones are there."""
    must_have_a_log(request, day)
    MemoryTriggers(request.user).redo_day(day.isoformat())
    return redirect(f"{reverse('memory:day', args=[day])}?asked={int(time())}")


def must_have_a_log(request: UserRequest, day: date) -> None:
    """No task is noted for a day that was made up."""
    if MemoryManager(request.user).files.read_daily_log(day) is None:
        raise Http404("There is no log of that day.")


def just_removed(request: UserRequest) -> RemovedEntries | None:
    """What was removed on the page before, for its undo."""
    wanted = number(request.GET.get("removed", "")) or 0
    rows = RemovedEntries.objects.filter(owner=request.user, pk=wanted)
    return rows.first()
