"""Rows of the project itself: which processes share this database, and what each has in hand."""

from django.db import models
from django.db.models import TextChoices
from django.utils import timezone


class Process(models.Model):
    """A web or worker process on PostgreSQL. It renews its lease every few seconds; who doesn't is dead."""

    class Kind(TextChoices):
        WEB = "web", "Web"
        WORKER = "worker", "Worker"

    # Made by oneclaw.server.presence.
    id = models.CharField(primary_key=True, max_length=60)
    kind = models.CharField(max_length=6, choices=Kind.choices)
    host = models.CharField(max_length=100)
    # All three by the database's clock.
    started_at = models.DateTimeField()
    # Since when the lease was renewed without a gap.
    steady_since = models.DateTimeField()
    until = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.get_kind_display()} on {self.host}"


class Installation(models.Model):
    """The one row that says which secret.key belongs to this database, where the two are on two machines."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    # Made with the key, and no way back to it.
    key_digest = models.CharField(max_length=64)

    def __str__(self) -> str:
        return "This installation"


class Total(models.Model):
    """A count that only grows, of all processes together; rows that it counted may be gone."""

    name = models.CharField(primary_key=True, max_length=100)
    number = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.name}: {self.number}"


class TakenTask(models.Model):
    """A queued task that a worker has taken. When that worker dies, the task is due again at once."""

    # Of django-q2's queue, which has no place for a holder.
    task_id = models.BigIntegerField(primary_key=True)
    process_id = models.CharField(max_length=60, db_index=True)
    taken_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"Task {self.task_id}"
