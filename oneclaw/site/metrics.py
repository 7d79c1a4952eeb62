"""/metrics for Prometheus, where ONECLAW_METRICS is on: counts and times, never whose."""

from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_q.models import OrmQ

from oneclaw import __version__
from oneclaw.server import measures
from oneclaw.site import health

if TYPE_CHECKING:
    from prometheus_client.core import Metric


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """This process's figures, and those that rows tell."""
    if not settings.METRICS or not is_near(request):
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


def is_near(request: HttpRequest) -> bool:
    """Whether it comes straight from this machine or its own network, and not through a proxy."""
    if any(name in request.headers for name in ("X-Forwarded-For", "Forwarded", "X-Real-Ip")):
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_private
    except ValueError:
        return False
