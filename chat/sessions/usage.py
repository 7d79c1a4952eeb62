"""Usage: how many tokens replies took, by month and model, of one person or of one chat."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import TruncMonth

from chat.models import Message, Session
from people.models import User

MONTHS = 12
# Models with a colour of their own in the plot; the others share one.
COLOURS = 5
WIDTH, HEIGHT, GAP, FOOT = 640, 200, 12, 24


@dataclass(frozen=True, slots=True)
class Tokens:
    """Requests to models and what they took. What no provider reported is unknown, and not 0."""

    requests: int
    reported: int
    input: int | None
    output: int | None

    @property
    def unknown(self) -> int:
        return self.requests - self.reported

    @property
    def total(self) -> int:
        return (self.input or 0) + (self.output or 0)


@dataclass(frozen=True, slots=True)
class Row:
    """One model in one month."""

    month: date
    model: str
    tokens: Tokens


COUNTS = {
    "requests": Count("id"),
    "reported": Count("id", filter=Q(input_tokens__isnull=False, output_tokens__isnull=False)),
    "input": Sum("input_tokens"),
    "output": Sum("output_tokens"),
}


def _tokens(row: Mapping[str, Any]) -> Tokens:
    return Tokens(*(row[name] for name in COUNTS))


def asked(owner: User) -> QuerySet[Message]:
    """What models were asked for. A branch's copies cost nothing; what is not logged costs all the same."""
    rows = Message.objects.filter(session__owner=owner, copied_from=None).exclude(model_name="")
    return rows.order_by()


def by_month(user: User) -> list[Row]:
    """Newest month first, the model that took most first."""
    rows = asked(user).annotate(month=TruncMonth("created_at", tzinfo=user.zone))
    found = rows.values("month", "model_name").annotate(**COUNTS)
    made = [Row(each["month"].date(), each["model_name"], _tokens(each)) for each in found]
    return sorted(made, key=lambda row: (-row.month.toordinal(), -row.tokens.total, row.model))


def of_chat(session: Session) -> list[tuple[str, Tokens]]:
    """What each model took in one chat, versions that are set aside included."""
    found = asked(session.owner).filter(session=session).values("model_name").annotate(**COUNTS)
    made = [(each["model_name"], _tokens(each)) for each in found]
    return sorted(made, key=lambda row: (-row[1].total, row[0]))


def of_everyone() -> list[tuple[str, Tokens]]:
    """For admins: what each person's replies took, as numbers and nothing else."""
    rows = Message.objects.filter(copied_from=None).exclude(model_name="").order_by()
    found = rows.values(name=F("session__owner__username")).annotate(**COUNTS)
    return sorted((each["name"], _tokens(each)) for each in found)


def total(tokens: Iterable[Tokens]) -> Tokens:
    """All together; a side that nobody reported stays unknown."""
    every = list(tokens)
    inputs = [each.input for each in every if each.input is not None]
    outputs = [each.output for each in every if each.output is not None]
    return Tokens(
        sum(each.requests for each in every),
        sum(each.reported for each in every),
        sum(inputs) if inputs else None,
        sum(outputs) if outputs else None,
    )


@dataclass(frozen=True, slots=True)
class Bar:
    """A model's part of a month's column; `colour` is 0 for the models that share one."""

    x: float
    y: float
    width: float
    height: float
    colour: int
    label: str


@dataclass(frozen=True, slots=True)
class MonthLabel:
    name: str
    x: float


@dataclass(frozen=True, slots=True)
class Plot:
    """Columns of the last months, drawn by a template as SVG."""

    bars: list[Bar]
    labels: list[MonthLabel]
    legend: list[tuple[int, str]]
    most: int
    width: int = WIDTH
    height: int = HEIGHT + FOOT
    base: int = HEIGHT


def plot(rows: Sequence[Row], today: date) -> Plot | None:
    """Tokens by month, the models stacked; None while nothing was reported."""
    months = _last_months(today)
    shown = [row for row in rows if row.month in months and row.tokens.total]
    if not shown:
        return None
    largest: dict[str, int] = {}
    for row in shown:
        largest[row.model] = largest.get(row.model, 0) + row.tokens.total
    ranked = sorted(largest, key=lambda name: (-largest[name], name))
    colours = {name: number + 1 if number < COLOURS else 0 for number, name in enumerate(ranked)}
    most = max(sum(row.tokens.total for row in shown if row.month == month) for month in months)
    step = WIDTH / MONTHS
    bars: list[Bar] = []
    for at, month in enumerate(months):
        top = float(HEIGHT)
        for row in sorted((r for r in shown if r.month == month), key=lambda r: ranked.index(r.model)):
            height = row.tokens.total / most * (HEIGHT - GAP)
            top -= height
            label = f"{row.model}, {month:%B %Y}: {row.tokens.total:,} tokens"
            bars.append(Bar(at * step + GAP / 2, top, step - GAP, height, colours[row.model], label))
    legend = [(colours[name], name) for name in ranked if colours[name]]
    if len(ranked) > COLOURS:
        legend.append((0, "Other models"))
    labels = [MonthLabel(f"{month:%b}", (at + 0.5) * step) for at, month in enumerate(months)]
    return Plot(bars, labels, legend, most)


def _last_months(today: date) -> list[date]:
    count = today.year * 12 + today.month - 1
    return [date(each // 12, each % 12 + 1, 1) for each in range(count - MONTHS + 1, count + 1)]
