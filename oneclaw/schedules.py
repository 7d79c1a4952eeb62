"""Schedules: everything that runs by the clock, in one list that migrating writes to the database."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from django_q.models import Schedule


@dataclass(frozen=True, slots=True)
class Recurring:
    """A function, by its dotted name, that the worker calls every so many minutes."""

    name: str
    func: str
    minutes: int
    # How long it may take, where that is longer than the worker gives any task.
    seconds: int = 0

    @property
    def options(self) -> str | None:
        """For django-q2, which reads them from a row's arguments."""
        return repr({"q_options": {"timeout": self.seconds}}) if self.seconds else None


SCHEDULES: tuple[Recurring, ...] = (
    Recurring("Forget expired log-ins", "oneclaw.schedules.clear_sessions", 24 * 60),
    Recurring("Remove deleted chats for good", "chat.tasks.purge_deleted_chats", 24 * 60),
    Recurring("Remove files that were never sent", "chat.tasks.tidy_files", 60),
    Recurring("Close forgotten temporary chats", "chat.tasks.close_temporary_chats", 60),
    Recurring("Forget claims on work that is gone", "memory.tasks.prune_claims", 24 * 60),
    Recurring("Remove archives that nobody fetched", "connect.tasks.prune", 60),
    Recurring("Go on with archives whose process is gone", "connect.tasks.go_on", 5),
    Recurring("Back up to the owner's folder", "oneclaw.backup.schedule.run", 60, seconds=12 * 60 * 60),
    Recurring("Catch up on days without a log", "memory.tasks.every_hour", 60),
)


def sync(schedules: tuple[Recurring, ...] = SCHEDULES) -> None:
    """Make, change and delete rows until they are this list; what is unchanged keeps its next time.

    Work that was put off for once is nobody's schedule: a restart must not drop it.
    """
    others = Schedule.objects.exclude(schedule_type=Schedule.ONCE)
    others.exclude(name__in=[recurring.name for recurring in schedules]).delete()
    for recurring in schedules:
        wanted = {
            "func": recurring.func,
            "minutes": recurring.minutes,
            "schedule_type": Schedule.MINUTES,
            "kwargs": recurring.options,
        }
        row = Schedule.objects.filter(name=recurring.name).first()
        if row is None:
            first = timezone.now() + timedelta(minutes=1)
            Schedule.objects.create(name=recurring.name, next_run=first, repeats=-1, **wanted)
        elif any(getattr(row, field) != value for field, value in wanted.items()):
            Schedule.objects.filter(pk=row.pk).update(**wanted)
    mend()


def mend(schedules: tuple[Recurring, ...] = SCHEDULES) -> None:
    """What a wrong clock put off for days or years is due now that the clock is right."""
    now = timezone.now()
    for recurring in schedules:
        late = now + timedelta(minutes=recurring.minutes + 1)
        Schedule.objects.filter(name=recurring.name, next_run__gt=late).update(next_run=now)


def after_migrate(**kwargs: Any) -> None:
    """Django's signal; in a database that was only partly migrated there is nothing to keep yet."""
    if Schedule._meta.db_table in connection.introspection.table_names():
        sync()


def clear_sessions() -> None:
    """Delete expired log-ins."""
    call_command("clearsessions")
