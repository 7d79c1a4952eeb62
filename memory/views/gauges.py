"""How full MEMORY.md is: its lines, its share of the token budget, and how near compaction it is."""

from dataclasses import dataclass

from django.conf import settings

from memory.compaction.compactor import SIZE_THRESHOLD_CHARS
from memory.longterm.memory import INJECTED_LINES
from memory.storage.markdown import raw_lines
from oneclaw import tokens


@dataclass(frozen=True, slots=True)
class Gauge:
    """One measure against its limit, with advice once it is passed."""

    name: str
    value: int
    limit: int
    advice: str

    @property
    def over(self) -> bool:
        return self.value > self.limit

    @property
    def near(self) -> int:
        """From here on the bar warns."""
        return self.limit * 4 // 5


@dataclass(frozen=True, slots=True)
class Fullness:
    """All measures of the file; the tightest of them says how full it is."""

    gauges: list[Gauge]

    @property
    def percent(self) -> int:
        return max(round(100 * gauge.value / max(1, gauge.limit)) for gauge in self.gauges)

    @property
    def over(self) -> list[Gauge]:
        return [gauge for gauge in self.gauges if gauge.over]


def fullness(text: str) -> Fullness:
    return Fullness(gauges(text))


def gauges(text: str) -> list[Gauge]:
    lines = len(raw_lines(text))
    return [
        Gauge(
            "Lines",
            lines,
            INJECTED_LINES,
            f"Only the first {INJECTED_LINES} lines are sent with every chat. The rest is found by search: "
            "move what matters most to the top, or shorten the file.",
        ),
        Gauge(
            "Tokens",
            tokens.estimate(text),
            settings.MEMORY_TOKENS * 2 // 3,
            "The file is larger than its share of the memory budget, so its end is left out. "
            "Shorten it, compact it, or raise ONECLAW_MEMORY_TOKENS.",
        ),
        Gauge(
            "Characters",
            len(text),
            SIZE_THRESHOLD_CHARS,
            "Above this size the file is compacted once a day. You can also compact it now.",
        ),
    ]
