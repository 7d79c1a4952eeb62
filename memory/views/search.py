"""The search page: memories for a question as it is typed, each with a link to where it can be corrected."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from chat.models import Session
from memory.manager import MemoryManager
from memory.models import Source
from memory.search.results import MemorySearchResult
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
        titles = Session.titles(request.user, {hit.source_key for hit in found})
        hits = [placed(hit, titles) for hit in found]
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


@dataclass(frozen=True, slots=True)
class Placed:
    """A hit with its address and its scores as shares of a hundred, for bars."""

    hit: MemorySearchResult
    url: str
    label: str
    day: date | None

    @property
    def keyword(self) -> int:
        return percent(self.hit.held)

    @property
    def meaning(self) -> int:
        return percent(self.hit.cosine)

    @property
    def total(self) -> int:
        return percent(self.hit.match)


def percent(share: float) -> int:
    return round(100 * min(max(share, 0.0), 1.0))


def placed(hit: MemorySearchResult, titles: Mapping[str, str]) -> Placed:
    url = address(hit.source_type, hit.source_date or "", hit.source_key, hit.anchor)
    return Placed(hit, url, label(hit, titles), day(hit.source_date or ""))


def address(source_type: str, day: str, source_key: str, anchor: int | None) -> str:
    """The editor, the day's log, or the message in its chat."""
    if source_type == Source.DAILY_LOG and day:
        return reverse("memory:day", args=[day])
    if source_type == Source.TRANSCRIPT:
        try:
            url = reverse("chat:session", args=[UUID(source_key.removeprefix("chat:"))])
        except ValueError:
            return ""
        return f"{url}?at={anchor}#message-{anchor}" if anchor else url
    return reverse("memory:home")


def label(hit: MemorySearchResult, titles: Mapping[str, str]) -> str:
    """RFC-013's attribution, in the reader's words: the title of a chat, or what kind of file it is."""
    if hit.source_type == Source.TRANSCRIPT:
        return titles.get(hit.source_key, "Chat")
    return "Daily log" if hit.source_type == Source.DAILY_LOG else "Long-term memory"
