"""From chats to daily logs (RFC-013): what is new, who summarises it, and the flush itself."""

from memory.dailylog.clock import Time
from memory.dailylog.messages import Part, parts, skip_to_now, unlogged, writable
from memory.dailylog.summarisers import ModelSummariser, NoSummary, Summariser, summariser_for
from memory.dailylog.writer import BUDGET, DailyLogWriter, Flush

__all__ = [
    "BUDGET",
    "DailyLogWriter",
    "Flush",
    "ModelSummariser",
    "NoSummary",
    "Part",
    "Summariser",
    "Time",
    "parts",
    "skip_to_now",
    "summariser_for",
    "unlogged",
    "writable",
]
