"""What connects OneClaw to other programs: personal tokens, archives that came in and those that go out."""

import uuid
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone


class Tally(models.Model):
    """How often something was tried in a while, where several web processes count together."""

    key = models.CharField(max_length=120, primary_key=True)
    # By the database's clock.
    began_at = models.DateTimeField()
    count = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.key}: {self.count}"


class Token(models.Model):
    """A secret by which a program acts for its owner. Only its hash is kept; revoking deletes the row."""

    class Scope(models.TextChoices):
        READ = "read", "Read memory"
        WRITE = "write", "Read and change memory"

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=60)
    scope = models.CharField(max_length=8, choices=Scope.choices, default=Scope.READ)
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=timezone.now)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name

    @property
    def may_write(self) -> bool:
        return self.scope == self.Scope.WRITE


class Import(models.Model):
    """One archive on its way in: uploaded, looked at, taken in, and undone in one step."""

    class Status(models.TextChoices):
        UPLOADING = "uploading", "Uploading"
        CHECKING = "checking", "Being read"
        READY = "ready", "Ready"
        RUNNING = "running", "Importing"
        STOPPED = "stopped", "Stopped"
        DONE = "done", "Imported"
        FAILED = "failed", "Failed"
        UNDOING = "undoing", "Being undone"
        UNDONE = "undone", "Undone"

    # The worker is at it, or about to be.
    AT_WORK = (Status.CHECKING, Status.RUNNING, Status.UNDOING)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="imports")
    file_name = models.CharField(max_length=200)
    # Bytes that the browser announced, and how many have come.
    size = models.PositiveBigIntegerField(default=0)
    received = models.PositiveBigIntegerField(default=0)
    # Who wrote it, in words for the page.
    label = models.CharField(max_length=120, blank=True, default="")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.UPLOADING)
    # What would come, as found by looking: counts, dates, what is skipped and why.
    plan: "models.JSONField[dict[str, Any], dict[str, Any]]" = models.JSONField(default=dict)
    # What has come: chats, messages, memories, days.
    added: "models.JSONField[dict[str, Any], dict[str, Any]]" = models.JSONField(default=dict)
    # Items of the archive that are behind us: where a killed import goes on.
    position = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    stop_requested = models.BooleanField(default=False)
    error = models.TextField(blank=True, default="")
    # What undoing it could not take back, in sentences.
    kept: "models.JSONField[list[str], list[str]]" = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now)
    # Moves with every step: work that has stood still for long was killed.
    moved_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["owner", "-created_at"])]

    def __str__(self) -> str:
        return f"{self.file_name}: {self.get_status_display()}"

    @property
    def path(self) -> Path:
        """Where the upload is kept until the import is over."""
        return Path(settings.DATA_DIR) / "imports" / f"{self.id}.part"

    @property
    def is_at_work(self) -> bool:
        return self.status in self.AT_WORK

    @property
    def percent(self) -> int:
        return min(100, 100 * self.position // self.total) if self.total else 0


class Imported(models.Model):
    """One thing that came from elsewhere, so that it never comes twice and can be taken back."""

    class What(models.TextChoices):
        CHAT = "chat", "Chat"
        MORE = "more", "Messages for a chat"
        LOG = "log", "Log entry"
        FORGOTTEN = "forgotten", "What was forgotten"
        CHANGE = "change", "Change of MEMORY.md"
        AGENT = "agent", "Agent"

    id = models.BigAutoField(primary_key=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    # None once the import was undone and a chat stayed that its owner had gone on with.
    by = models.ForeignKey(Import, null=True, blank=True, on_delete=models.CASCADE, related_name="things")
    # Which program it is from, and what it is called there.
    kind = models.CharField(max_length=12)
    what = models.CharField(max_length=10, choices=What.choices, default=What.CHAT)
    foreign_id = models.CharField(max_length=200)
    session_id = models.UUIDField(null=True, blank=True, db_index=True)
    # The names of its messages there, each with its message here.
    messages: "models.JSONField[dict[str, int], dict[str, int]]" = models.JSONField(default=dict)
    # Where messages stood before others came: what each was a version of and set aside with.
    places: "models.JSONField[dict[str, list[int | None]], dict[str, list[int | None]]]" = models.JSONField(
        default=dict
    )
    # The last message that came, and up to which the daily log has been written of those.
    last_message = models.BigIntegerField(null=True, blank=True)
    logged_until = models.BigIntegerField(null=True, blank=True)
    said_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "imported"
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "kind", "what", "foreign_id"], name="imported_once_per_owner"
            )
        ]
        indexes = [models.Index(fields=["by", "what", "said_at"])]

    def __str__(self) -> str:
        return f"{self.get_what_display()} {self.foreign_id}"

    @property
    def chat_id(self) -> uuid.UUID:
        """The chat here that it became; nobody's where it is something else."""
        return self.session_id or uuid.UUID(int=0)


class KnownMessage(models.Model):
    """A message that came by /v1, by a digest of it and all before it: a chat is known again by its start.

    Programs that send the newest messages alone are known by pairs of neighbours.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    message = models.OneToOneField(
        "chat.Message", on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    digest = models.CharField(max_length=64)
    # Of the message and the one before it alone.
    pair = models.CharField(max_length=64, blank=True, default="")

    class Meta:
        indexes = [
            models.Index(fields=["owner", "digest"]),
            models.Index(fields=["owner", "pair"], condition=~models.Q(pair=""), name="known_pairs"),
        ]

    def __str__(self) -> str:
        return self.digest[:12]


class Export(models.Model):
    """One archive on its way out: everything of a person in a ZIP, kept for a day."""

    class Status(models.TextChoices):
        RUNNING = "running", "Being made"
        DONE = "done", "Ready"
        FAILED = "failed", "Failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="exports")
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.RUNNING)
    chats = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    size = models.PositiveBigIntegerField(default=0)
    error = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"Export of {self.created_at:%Y-%m-%d %H:%M}"

    @property
    def path(self) -> Path:
        return Path(settings.DATA_DIR) / "exports" / f"{self.id}.zip"


class LogWriting(models.Model):
    """Daily logs being written for the chats of an import, the oldest first, by a model its owner chose."""

    class Status(models.TextChoices):
        RUNNING = "running", "Writing"
        STOPPED = "stopped", "Stopped"
        DONE = "done", "Written"
        FAILED = "failed", "Failed"

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    by = models.OneToOneField(Import, on_delete=models.CASCADE, related_name="logs")
    # None quotes the user's own sentences, without a model.
    model = models.ForeignKey(
        "chat.AiModel", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    with_model = models.BooleanField(default=True)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.RUNNING)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    stop_requested = models.BooleanField(default=False)
    error = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    moved_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "log writings"

    def __str__(self) -> str:
        return f"{self.done} of {self.total}"


class Erasure(models.Model):
    """A person's wish to have everything of theirs deleted, and how much that was."""

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    asked_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)
    counts: "models.JSONField[dict[str, Any], dict[str, Any]]" = models.JSONField(default=dict)
    error = models.TextField(blank=True, default="")

    def __str__(self) -> str:
        return "Done" if self.finished_at else "Asked for"
