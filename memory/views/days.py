"""Daily logs for reading: days with what they say first, their entries, and how busy a year was."""

import hashlib
import re
from bisect import bisect_left
from dataclasses import dataclass
from datetime import date, timedelta

from memory.storage.files import MemoryFileStorage
from memory.storage.log_entries import HIGHLIGHTS, LogEntry, entries_of
from memory.storage.markdown import bare_lines

PAGE = 30
YEAR = timedelta(weeks=53)
# What a preview can do without: list marks, headings, emphasis.
MARKS = re.compile(r"^[-+>#\s]+|[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")


@dataclass(frozen=True, slots=True)
class DayLine:
    """One day in the list."""

    date: date
    count: int
    preview: str


@dataclass(frozen=True, slots=True)
class Page:
    days: list[DayLine]
    next: str


@dataclass(frozen=True, slots=True)
class Shown:
    """An entry on the page of its day; `key` names it for the forms beside it."""

    number: int
    key: str
    body: str
    session: str
    made: str
    highlights: bool


def page(files: MemoryFileStorage, before: str = "") -> Page:
    """The next days of the list, newest first."""
    dates = [day for day in files.list_daily_log_dates() if not before or day < before]
    days = [_line(files, date.fromisoformat(day)) for day in dates[:PAGE]]
    return Page(days, dates[PAGE - 1] if len(dates) > PAGE else "")


def _line(files: MemoryFileStorage, day: date) -> DayLine:
    found = entries_of(files.read_daily_log(day) or "")
    lines = [line.strip() for entry in found for line in bare_lines(entry.body) if line.strip()]
    # A heading such as "Highlights, quoted:" tells nothing of the day.
    first = next((line for line in lines if not line.endswith(":")), "")
    return DayLine(day, len(found), MARKS.sub("", first).strip()[:160])


def activity(files: MemoryFileStorage, today: date) -> dict[date, int]:
    """How many entries each day of the last year has."""
    days = (date.fromisoformat(day) for day in files.list_daily_log_dates())
    return {day: len(entries_of(files.read_daily_log(day) or "")) for day in days if day > today - YEAR}


def entries(text: str) -> list[Shown]:
    return [_shown(number, entry) for number, entry in enumerate(entries_of(text))]


def key_of(entry: LogEntry) -> str:
    """Changes with any letter of the entry, so that a form never acts on another one."""
    return hashlib.sha256(entry.raw.encode("utf-8", "replace")).hexdigest()[:16]


def _shown(number: int, entry: LogEntry) -> Shown:
    marker = entry.marker
    return Shown(
        number,
        key_of(entry),
        entry.body,
        marker.session if marker else "",
        marker.made if marker else "",
        bool(marker and marker.by == HIGHLIGHTS),
    )


def neighbours(files: MemoryFileStorage, day: date) -> tuple[str, str]:
    """The days with a log before and after this one, empty where there is none."""
    dates = sorted(files.list_daily_log_dates())
    at = bisect_left(dates, day.isoformat())
    return dates[at - 1] if at else "", dates[at + 1] if at + 1 < len(dates) else ""


def growth(files: MemoryFileStorage) -> list[tuple[date, float]]:
    """Bytes of all daily logs up to each of their days."""
    total, series = 0, list[tuple[date, float]]()
    for day in sorted(files.list_daily_log_dates()):
        total += files.daily_path(day).stat().st_size
        series.append((date.fromisoformat(day), float(total)))
    return series
