"""Daily logs (RFC-013): which messages are new, who summarises them, and the flush itself."""

from memory.dailylog.writer import DailyLogWriter

__all__ = ["DailyLogWriter"]
