"""The search page: memories for a question, as it is typed."""

from datetime import date

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memory.manager import MemoryManager
from memory.models import Source
from memory.views.links import placed
from people.access import UserRequest

SHOWN = 20


@login_required
@require_safe
def search(request: UserRequest) -> HttpResponse:
    """The best memories for `?q=`, limited by sources and dates."""
    query = request.GET.get("q", "").strip()[:1000]
    chosen = [source for source in request.GET.getlist("source") if source in Source.values]
    since, until = day(request.GET.get("since", "")), day(request.GET.get("until", ""))
    hits = []
    if query:
        memory = MemoryManager(request.user)
        found = memory.search_memory(query, SHOWN, sources=chosen or None, since=since, until=until)
        hits = [placed(hit) for hit in found]
    context = {
        "query": query,
        "hits": hits,
        "sources": Source.choices,
        "chosen": chosen,
        "since": since,
        "until": until,
    }
    return render(request, "memory/_hits.html" if request.htmx else "memory/search.html", context)


def day(text: str) -> date | None:
    """A date from a form; anything else is no limit."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
