"""`manage.py worker`: the django-q2 cluster; `up` starts it."""

import gc
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone
from django_q.cluster import Cluster
from django_q.models import OrmQ

from oneclaw import wiring
from oneclaw.models import Process
from oneclaw.postgres import is_postgres
from oneclaw.server import heartbeat, presence
from oneclaw.serving import lifespan


class Command(BaseCommand):
    help = "Run background tasks (started by `up`)."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        lifespan.call((release_interrupted_tasks, *wiring.ON_WORKER_START))
        # Collecting garbage would write to every page that the five processes to come share with this one.
        gc.collect()
        gc.freeze()
        Cluster().start()


def release_interrupted_tasks() -> None:
    """Make tasks that a killed worker had taken due now: the only cluster there is, is just starting.

    Where others share the database, they may be at work: then only what the dead had taken is released.
    """
    if is_postgres():
        heartbeat.beat()
    if presence.is_alone(Process.Kind.WORKER):
        OrmQ.objects.filter(lock__gt=timezone.now()).update(lock=timezone.now())
