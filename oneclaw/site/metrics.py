"""/metrics for Prometheus, where ONECLAW_METRICS is on: counts and times, never whose."""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_q.models import OrmQ

from oneclaw import __version__
from oneclaw.server import measures, peers
from oneclaw.site import health

if TYPE_CHECKING:
    from prometheus_client.core import Metric


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """This process's figures, and those that rows tell."""
    if not settings.METRICS or not may_read(request):
        raise Http404("No such page.")
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest

    state = health.report()
    shared = CollectorRegistry()
    Gauge("oneclaw_info", "The version", ["version"], registry=shared).labels(__version__).set(1)
    Gauge("oneclaw_healthy", "1 while /healthz says ok", registry=shared).set(state["status"] == "ok")
    # A database that is away has nothing to tell, and is not waited for again.
    if state["database"] == "ok":
        with suppress(DatabaseError):
            waiting, runs = OrmQ.objects.count(), measures.totals("memory_runs")
            Gauge("oneclaw_queue", "Tasks that wait for the worker", registry=shared).set(waiting)
            shared.register(MemoryRuns(runs))
    body = generate_latest(measures.figures().registry) + generate_latest(shared)
    return HttpResponse(body, content_type=CONTENT_TYPE_LATEST)


class MemoryRuns:
    """Summaries and compactions of all processes, counted in rows as they end."""

    def __init__(self, runs: dict[tuple[str, ...], int]) -> None:
        self.runs = runs

    def collect(self) -> "Iterator[Metric]":
        from prometheus_client.core import CounterMetricFamily

        counted = CounterMetricFamily(
            "oneclaw_memory_runs",
            "Summaries and compactions that ended, of all processes, by how",
            labels=["kind", "outcome"],
        )
        for labels, number in self.runs.items():
            counted.add_metric(labels, number)
        yield counted


def may_read(request: HttpRequest) -> bool:
    """By the token, from anywhere. Without one only OneClaw's own account on this machine.

    An address says nothing: behind a proxy that adds no header, the whole world comes from this machine.
    """
    if not settings.METRICS_TOKEN:
        return peers.is_owner_at_home(request)
    scheme, _, brought = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and constant_time_compare(brought.strip(), settings.METRICS_TOKEN)
