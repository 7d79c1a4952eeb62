"""Charts: the coordinates of the calendar and the growth line, drawn by templates as SVG."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

CELL = 12  # a day's square with its gap
HEAD = 16  # the names of the months
WEEKS = 53


@dataclass(frozen=True, slots=True)
class Day:
    """One square of the calendar: where it stands and how dark it is (0 to 4)."""

    date: date
    count: int
    level: int
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Month:
    name: str
    x: int


@dataclass(frozen=True, slots=True)
class Weekday:
    name: str
    y: int


@dataclass(frozen=True, slots=True)
class Calendar:
    days: list[Day]
    months: list[Month]
    weekdays: list[Weekday]
    # The shades that a day can have.
    levels: list[int]
    width: int
    height: int
    # Entries of the busiest day.
    most: int = 0


def year_calendar(counts: Mapping[date, int], today: date) -> Calendar:
    """The last 53 weeks by weekday, Monday first, ending with today's week."""
    start = today - timedelta(days=today.weekday(), weeks=WEEKS - 1)
    most = max((n for day, n in counts.items() if start <= day <= today), default=0)
    days: list[Day] = []
    months: list[Month] = []
    for offset in range((today - start).days + 1):
        day = start + timedelta(days=offset)
        week, weekday = divmod(offset, 7)
        days.append(
            Day(day, counts.get(day, 0), level(counts.get(day, 0), most), week * CELL, weekday * CELL + HEAD)
        )
        if day.day == 1 and week < WEEKS - 2:
            months.append(Month(day.strftime("%b"), week * CELL))
    weekdays = [Weekday(name, row * CELL + HEAD + 9) for row, name in ((0, "Mon"), (2, "Wed"), (4, "Fri"))]
    levels = sorted({level(count, most) for count in range(most + 1)})
    return Calendar(days, months, weekdays, levels, WEEKS * CELL, 7 * CELL + HEAD, most)


def level(count: int, most: int) -> int:
    """Quarters of the busiest day, so that one long day does not pale the rest to nothing."""
    if count <= 0 or most <= 0:
        return 0
    return min(4, 1 + (4 * count - 1) // most)


@dataclass(frozen=True, slots=True)
class GrowthLine:
    """A growth line: points for <polyline>, and the labels at its ends."""

    points: str
    area: str
    width: int
    height: int
    first: date
    last: date
    most: float


def growth_line(
    series: Sequence[tuple[date, float]], width: int = 640, height: int = 160
) -> GrowthLine | None:
    """Points of a series over time, scaled to the box; None with fewer than two days."""
    if len(series) < 2:
        return None
    ordered = sorted(series)
    first, last = ordered[0][0], ordered[-1][0]
    span = max((last - first).days, 1)
    most = max(value for _, value in ordered) or 1.0
    pairs = [
        f"{(day - first).days / span * width:.1f},{height - value / most * height:.1f}"
        for day, value in ordered
    ]
    points = " ".join(pairs)
    return GrowthLine(points, f"0,{height} {points} {width},{height}", width, height, first, last, most)
