"""`manage.py worker`: the django-q2 cluster; `up` starts it."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone
from django_q.cluster import Cluster
from django_q.models import OrmQ

from oneclaw import wiring
from oneclaw.server import lifespan


class Command(BaseCommand):
    help = "Run background tasks (started by `up`)."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        lifespan.call((release_interrupted_tasks, *wiring.ON_WORKER_START))
        Cluster().start()


def release_interrupted_tasks() -> None:
    """Make tasks that a killed worker had taken due now: the only cluster there is, is just starting."""
    OrmQ.objects.filter(lock__gt=timezone.now()).update(lock=timezone.now())
