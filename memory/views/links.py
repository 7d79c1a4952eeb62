"""Links from a memory to the page on which it can be read and corrected."""

from dataclasses import dataclass
from uuid import UUID

from django.urls import reverse

from memory.models import Source
from memory.search.results import MemorySearchResult


@dataclass(frozen=True, slots=True)
class Placed:
    """A hit with its address and its scores as shares of a hundred, for bars."""

    hit: MemorySearchResult
    url: str
    label: str

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


def placed(hit: MemorySearchResult) -> Placed:
    day = hit.source_date or ""
    return Placed(hit, address(hit.source_type, day, hit.source_key, hit.anchor), label(hit.source_type, day))


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


def label(source_type: str, day: str) -> str:
    """RFC-013's attribution: `Daily log 2026-02-28`."""
    names = {Source.DAILY_LOG: "Daily log", Source.TRANSCRIPT: "Chat"}
    return f"{names[Source(source_type)]} {day}".strip() if source_type in names else "Long-term memory"
