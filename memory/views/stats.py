"""The statistics page: what is kept, how it grew, whether search finds it, and the ledger."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from memory import embedding
from memory.index import rebuild
from memory.index.resident.shelf import shelf
from memory.jobs import ledger
from memory.manager import MemoryManager
from memory.models import LedgerEntry
from memory.search import selftest
from memory.triggers import MemoryTriggers
from memory.views import days, frame
from memory.views.charts import growth_line, year_calendar
from oneclaw.sqlite.vectors import has_vectors
from people.access import UserRequest


@login_required
@require_safe
def stats(request: UserRequest) -> HttpResponse:
    memory = MemoryManager(request.user)
    today = request.user.today()
    context = {
        "stats": memory.get_stats(),
        "too_large": memory.files.too_large(),
        "engine": embedding.engine(),
        "has_vectors": has_vectors(),
        "answering": shelf.answering(request.user.pk),
        "growth": growth_line(days.growth(memory.files)),
        "calendar": year_calendar(days.activity(memory.files, today), today),
        "rows": ledger.recent(request.user, limit=30),
        "rebuild": rebuild.state(request.user),
    }
    return render(request, "memory/stats.html", context)


@login_required
@require_POST
def self_test(request: UserRequest) -> HttpResponse:
    """Questions made from the user's own logs: how many are answered in the first five."""
    report = selftest.run(request.user)
    return render(
        request, "memory/_selftest.html" if request.htmx else "memory/selftest.html", {"report": report}
    )


@login_required
@require_POST
def retry(request: UserRequest, entry_id: int) -> HttpResponse:
    """Run a failed flush or compaction again, in the background."""
    rows = LedgerEntry.objects.filter(owner=request.user).exclude(kind=LedgerEntry.Kind.CLIENT)
    row = get_object_or_404(rows, pk=entry_id)
    if MemoryTriggers(request.user).retry(row):
        messages.success(request, "Retrying in the background.")
    else:
        messages.success(request, "It is already waiting to run.")
    return redirect("memory:stats")


@login_required
@require_POST
def start_rebuild(request: UserRequest) -> HttpResponse:
    MemoryTriggers(request.user).rebuild_index()
    if request.htmx:
        return frame.announced(_rebuild(request))
    messages.success(request, "The index is being rebuilt. You can keep searching.")
    return redirect("memory:stats")


@login_required
@require_safe
def rebuild_progress(request: UserRequest) -> HttpResponse:
    return _rebuild(request)


def _rebuild(request: UserRequest) -> HttpResponse:
    return render(request, "memory/_rebuild.html", {"rebuild": rebuild.state(request.user)})
