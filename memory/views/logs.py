"""The daily logs: a year at a glance, one day to read, and what its owner may do to it."""

from datetime import date

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memory import logbook
from memory.charts import year_calendar
from memory.manager import MemoryManager
from people.access import UserRequest


@login_required
@require_safe
def logs(request: UserRequest) -> HttpResponse:
    """The calendar of the last year and the list of days, next page by `?before=`."""
    files = MemoryManager(request.user).files
    page = logbook.page(files, before=request.GET.get("before", ""))
    if request.htmx:
        return render(request, "memory/_days.html", {"page": page})
    calendar = year_calendar(logbook.activity(files, request.user.today()), request.user.today())
    return render(request, "memory/logs.html", {"page": page, "calendar": calendar})


@login_required
@require_safe
def day(request: UserRequest, day: date) -> HttpResponse:
    files = MemoryManager(request.user).files
    text = files.read_daily_log(day)
    if text is None:
        raise Http404("There is no log of that day.")
    older, newer = logbook.neighbours(files, day)
    context = {"day": day, "entries": logbook.entries(text), "older": older, "newer": newer}
    return render(request, "memory/day.html", context)
