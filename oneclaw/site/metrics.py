"""/metrics for Prometheus, where ONECLAW_METRICS is on: counts and times, never whose."""

from ipaddress import ip_address

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_q.models import OrmQ

from oneclaw import __version__, wiring
from oneclaw.server import measures
from oneclaw.site import health


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """This process's figures, and those that rows tell."""
    if not settings.METRICS or not is_near(request):
        raise Http404("No such page.")
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest

    shared = CollectorRegistry()
    Gauge("oneclaw_info", "The version", ["version"], registry=shared).labels(__version__).set(1)
    Gauge("oneclaw_healthy", "1 while /healthz says ok", registry=shared).set(
        health.report()["status"] == "ok"
    )
    Gauge("oneclaw_queue", "Tasks that wait for the worker", registry=shared).set(OrmQ.objects.count())
    written = Gauge(
        "oneclaw_memory_runs",
        "Summaries and compactions that the activity still lists, by how they ended",
        ["kind", "outcome"],
        registry=shared,
    )
    for (kind, outcome), number in wiring.memory_outcomes().items():
        written.labels(kind, outcome).set(number)
    body = generate_latest(measures.figures().registry) + generate_latest(shared)
    return HttpResponse(body, content_type=CONTENT_TYPE_LATEST)


def is_near(request: HttpRequest) -> bool:
    """Whether it comes straight from this machine or its own network, and not through a proxy."""
    if any(name in request.headers for name in ("X-Forwarded-For", "Forwarded", "X-Real-Ip")):
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_private
    except ValueError:
        return False
