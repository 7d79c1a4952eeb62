"""The worker's sign of life, and whose tasks are whose.

On one machine it is a file that the cluster's guard touches while it goes round; on PostgreSQL it is a lease.
"""

import logging
import time
from datetime import timedelta
from pathlib import Path
from time import sleep
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.utils import timezone
from django_q.brokers.orm import ORM
from django_q.conf import Conf
from django_q.models import OrmQ

from oneclaw.models import Process, TakenTask
from oneclaw.postgres import is_postgres
from oneclaw.server import presence
from oneclaw.server.presence import Roll

logger = logging.getLogger(__name__)

EVERY = 5.0
# A guard that is busy starting a worker again may miss a few beats.
LATE_AFTER = 60.0


class Broker(ORM):
    """django-q2's ORM broker; the status that the guard saves on each round becomes the heartbeat."""

    beaten_at = 0.0

    def set_stat(self, key: str, value: str, timeout: int) -> None:
        now = time.monotonic()
        if now - self.beaten_at >= EVERY:
            self.beaten_at = now
            beat()

    def dequeue(self) -> list[tuple[int, str]] | None:
        """Take what is due. Several workers on PostgreSQL note who took what, in the same moment."""
        if not is_postgres():
            taken: list[tuple[int, str]] | None = super().dequeue()
            return taken
        now = timezone.now()
        with transaction.atomic():
            due = self.get_connection().filter(key=self.list_key, lock__lt=now).order_by("id")
            tasks = list(due.select_for_update(skip_locked=True)[: Conf.BULK])
            OrmQ.objects.filter(id__in=[task.pk for task in tasks]).update(
                lock=now + timedelta(seconds=Conf.RETRY)
            )
            TakenTask.objects.bulk_create(
                [TakenTask(task_id=task.pk, process_id=presence.me()) for task in tasks],
                update_conflicts=True,
                update_fields=["process_id", "taken_at"],
                unique_fields=["task_id"],
            )
        if not tasks:
            sleep(Conf.POLL)
            return None
        return [(task.pk, task.payload) for task in tasks]

    def delete(self, task_id: Any) -> None:
        super().delete(task_id)
        if is_postgres():
            TakenTask.objects.filter(task_id=task_id).delete()


def file() -> Path:
    return Path(settings.DATA_DIR) / "worker.beat"


def beat() -> None:
    if not is_postgres():
        file().touch()
        return
    try:
        presence.renew(Process.Kind.WORKER)
        roll = presence.call_roll()
        release_tasks(roll)
        presence.forget(roll)
    except DatabaseError as error:
        # The guard goes on: it would take the whole worker down with it.
        logger.warning("The worker can't reach the database: %s", error)
        connection.close()


def release_tasks(roll: Roll) -> int:
    """Make tasks that a dead worker had taken due now."""
    if not roll.dead:
        return 0
    taken = TakenTask.objects.filter(process_id__in=roll.dead)
    tasks = list(taken.values_list("task_id", flat=True))
    now = timezone.now()
    released = OrmQ.objects.filter(id__in=tasks, lock__gt=now).update(lock=now) if tasks else 0
    taken.filter(task_id__in=tasks).delete()
    return released


def age() -> float | None:
    """Seconds since the last beat; None when there never was one."""
    try:
        # One from the future is of a clock that was set back: it says as little as an old one.
        return abs(time.time() - file().stat().st_mtime)
    except FileNotFoundError:
        return None


def is_alive() -> bool:
    """Whether a worker lives, on this machine or on another that shares the database."""
    if is_postgres():
        return bool(presence.call_roll().of(Process.Kind.WORKER))
    seconds = age()
    return seconds is not None and seconds < LATE_AFTER


def was_there() -> bool:
    """Whether a worker has ever been heard of."""
    if is_postgres():
        return Process.Kind.WORKER in presence.call_roll().kinds.values()
    return age() is not None
