"""Figures for /metrics. Nothing is counted, and no library loaded, unless ONECLAW_METRICS is on.

Each is this process's own, but for totals: the worker serves no page, so what it does is counted in rows.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from django.conf import settings
from django.db import connection

# Seconds; replies take up to minutes, a search some milliseconds.
FIRST_WORDS = (0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120)
SEARCH = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)


class Figures:
    """All that is counted in a process."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector

        self.registry: CollectorRegistry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.counts: dict[str, Any] = {
            "replies": Counter(
                "oneclaw_replies", "Replies by how they ended", ["outcome"], registry=self.registry
            ),
            "errors": Counter("oneclaw_errors", "Pages that failed", registry=self.registry),
        }
        self.times: dict[str, Any] = {
            "first_words": Histogram(
                "oneclaw_first_words_seconds",
                "From a reply's start to its first words",
                buckets=FIRST_WORDS,
                registry=self.registry,
            ),
            "search": Histogram(
                "oneclaw_search_seconds", "One search of memory", buckets=SEARCH, registry=self.registry
            ),
        }


@cache
def figures() -> Figures:
    return Figures()


def count(name: str, *labels: str) -> None:
    if settings.METRICS:
        counter = figures().counts[name]
        (counter.labels(*labels) if labels else counter).inc()


def observe(name: str, seconds: float) -> None:
    if settings.METRICS:
        figures().times[name].observe(seconds)


ADD = """
    INSERT INTO oneclaw_total (name, number) VALUES (%s, %s)
    ON CONFLICT (name) DO UPDATE SET number = oneclaw_total.number + excluded.number
"""


def add(name: str, *labels: str, number: int = 1) -> None:
    """Count for all processes together, in the transaction that is going on."""
    if settings.METRICS and number:
        with connection.cursor() as cursor:
            cursor.execute(ADD, ["/".join((name, *labels)), number])


def totals(name: str) -> dict[tuple[str, ...], int]:
    """What was counted under a name, by its labels."""
    # The web server reads this module before there are models.
    from oneclaw.models import Total

    found = Total.objects.filter(name__startswith=f"{name}/").values_list("name", "number")
    return {tuple(key.split("/")[1:]): number for key, number in found}


@contextmanager
def timed(name: str) -> Iterator[None]:
    began = time.perf_counter()
    try:
        yield
    finally:
        observe(name, time.perf_counter() - began)
