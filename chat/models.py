"""Providers and their models, agents, chats and what was said in them."""

import json
import re
import uuid
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator, MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q, QuerySet, TextChoices
from django.utils import timezone

from oneclaw import vault
from people.models import User

# How memory names a chat as a source.
CHAT_KEY = re.compile(r"chat:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def validate_base_url(url: str) -> None:
    """http or https, a host, and nothing secret or odd in it."""
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port is None or 0 < parts.port < 65536
    except ValueError:
        raise ValidationError("Enter an address such as https://api.example.org/v1.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_fine:
        raise ValidationError("Enter an address that begins with http:// or https://.")
    if parts.username or parts.password:
        raise ValidationError("Put the key in its own field, not in the address.")
    if parts.query or parts.fragment or any(letter.isspace() for letter in url) or not url.isprintable():
        raise ValidationError("Leave out everything after the path: no ?, # or spaces.")


class Shallow(json.JSONDecoder):
    """Decodes a stored value; one that nests too deep for Python is None rather than a broken page."""

    def decode(self, text: str, *rest: Any) -> Any:
        try:
            return super().decode(text, *rest)
        except RecursionError:
            return None


class Provider(models.Model):
    """A model provider: its wire protocol, address and key, and what it is trusted with."""

    class Kind(TextChoices):
        OPENAI = "openai", "OpenAI-compatible"
        ANTHROPIC = "anthropic", "Anthropic"
        GEMINI = "gemini", "Gemini"

    class Origin(TextChoices):
        FORM = "form", "Added by hand"
        ENVIRONMENT = "environment", "From the environment"
        FOUND = "found", "Found on this machine"
        LOCAL = "local", "Local model file"
        STARTER = "starter", "Starter model"

    name = models.CharField(max_length=100, unique=True)
    kind = models.CharField(max_length=16, choices=Kind.choices)
    base_url = models.CharField(max_length=500, validators=[validate_base_url])
    # Encrypted by oneclaw.vault; never shown, logged or exported.
    sealed_key = models.TextField(blank=True, default="", editable=False)
    origin = models.CharField(max_length=16, choices=Origin.choices, default=Origin.FORM)
    enabled = models.BooleanField(default=True)
    send_memory = models.BooleanField(default=True)
    can_write_memory = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_given(self) -> bool:
        """Whether the environment or the local server sets it up at every start, so that a form can't."""
        return self.origin in (self.Origin.ENVIRONMENT, self.Origin.LOCAL, self.Origin.STARTER)

    def set_key(self, key: str) -> None:
        """Seal a key for storing; an empty one takes it away. The caller saves."""
        self.sealed_key = vault.seal(key.strip())

    def key(self) -> str:
        """The key itself, for a request's header and nothing else."""
        return vault.unseal(self.sealed_key)

    @property
    def masked_key(self) -> str:
        """The last four characters, which is all that is ever shown of a key."""
        try:
            key = self.key()
        except vault.SecretUnreadable:
            return "unreadable"
        return f"••••{key[-4:]}" if len(key) >= 12 else "••••" if key else ""


class AiModels(QuerySet["AiModel"]):
    """Queries for models to choose from."""

    def usable(self) -> "AiModels":
        """Models whose provider is enabled, with the provider."""
        return self.filter(provider__enabled=True).select_related("provider")

    def default(self) -> "AiModel | None":
        return self.usable().filter(is_default=True).first()


class AiModel(models.Model):
    """One model of a provider, by the name it has on the wire."""

    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="models")
    name = models.CharField(max_length=200)
    label = models.CharField(max_length=200, blank=True, default="")
    # Tokens; null where the provider does not say, and a cautious default is used.
    context_window = models.PositiveIntegerField(null=True, blank=True)
    supports_tools = models.BooleanField(default=True)
    supports_thinking = models.BooleanField(default=False)
    supports_images = models.BooleanField(default=False)
    is_default = models.BooleanField(default=False)

    objects = AiModels.as_manager()

    class Meta:
        ordering = ["provider__name", "name"]
        constraints = [
            models.UniqueConstraint(fields=["provider", "name"], name="model_once_per_provider"),
            models.UniqueConstraint(
                fields=["is_default"], condition=Q(is_default=True), name="exactly_one_default_model"
            ),
        ]

    def __str__(self) -> str:
        return self.label or self.name

    @property
    def may_write_memory(self) -> bool:
        """Whether what it writes may become memory: titles, summaries, the daily log."""
        return self.provider.can_write_memory

    @property
    def may_keep_memory(self) -> bool:
        """Whether it may see memory and change it: memory tools, compaction."""
        return self.provider.send_memory and self.provider.can_write_memory


class Agent(models.Model):
    """A prompt with a name; the one without an owner is built in and belongs to everybody."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="agents"
    )
    name = models.CharField(max_length=100)
    description = models.CharField(max_length=200, blank=True, default="")
    prompt = models.TextField(blank=True, default="", validators=[MaxLengthValidator(50_000)])
    model = models.ForeignKey(AiModel, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    temperature = models.FloatField(
        null=True, blank=True, validators=[MinValueValidator(0.0), MaxValueValidator(2.0)]
    )
    # Both only narrow: a chat's mode and a provider's trust hold all the same.
    reads_memory = models.BooleanField(default=True)
    writes_memory = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_built_in(self) -> bool:
        return self.owner_id is None


class Session(models.Model):
    """A chat. It is made with its first message and deleted softly, so that undo works."""

    class MemoryMode(TextChoices):
        NORMAL = "normal", "Memory on"
        READ_ONLY = "read_only", "Memory read-only"
        OFF = "off", "Memory off"

    class TitleBy(TextChoices):
        TEXT = "text", "First words"
        MODEL = "model", "Model"
        USER = "user", "User"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="sessions")
    title = models.CharField(max_length=200, blank=True, default="")
    title_by = models.CharField(max_length=8, choices=TitleBy.choices, default=TitleBy.TEXT)
    # The first words of the newest message, for the list.
    preview = models.CharField(max_length=160, blank=True, default="")
    agent = models.ForeignKey(Agent, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    # Chosen for this chat alone; otherwise the agent's model, otherwise the default one.
    model = models.ForeignKey(AiModel, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    memory_mode = models.CharField(max_length=12, choices=MemoryMode.choices, default=MemoryMode.NORMAL)
    # The program that it was held with, where that was not a page of OneClaw's.
    via = models.CharField(max_length=60, blank=True, default="")
    # Never remembered, listed, found, exported or backed up, and deleted for good when it is closed.
    temporary = models.BooleanField(default=False, editable=False)
    pinned = models.BooleanField(default=False)
    archived_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    # The time of the newest message: what the list is sorted by.
    active_at = models.DateTimeField(default=timezone.now)
    # RFC-013's lastLoggedMessageId: messages up to this one are in the daily log.
    last_logged_message = models.ForeignKey(
        "Message", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    # Auto-compact: what the messages up to `summary_until` said, in short.
    summary = models.TextField(blank=True, default="")
    summary_until = models.ForeignKey(
        "Message", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ["-active_at"]
        indexes = [
            models.Index(fields=["owner", "deleted_at", "archived_at", "pinned", "-active_at", "-id"]),
            models.Index(fields=["deleted_at"]),
            models.Index(fields=["active_at"], condition=Q(temporary=True), name="temporary_chats"),
        ]

    def __str__(self) -> str:
        return self.title or "New chat"

    @classmethod
    def titles(cls, owner: User, keys: Iterable[str]) -> dict[str, str]:
        """Titles by the keys that memory knows chats by (`chat:<id>`); one that is deleted has none."""
        wanted = {key.removeprefix("chat:"): key for key in keys if CHAT_KEY.fullmatch(key)}
        found = cls.objects.filter(owner=owner, pk__in=wanted, deleted_at=None).only("title")
        return {wanted[str(chat.pk)]: str(chat) for chat in found}

    def resolve_model(self) -> AiModel | None:
        """The chat's own choice, else the agent's, else the default; a disabled provider's is passed over."""
        usable = AiModel.objects.usable()
        for chosen in (self.model_id, self.agent.model_id if self.agent else None):
            if chosen and (model := usable.filter(pk=chosen).first()):
                return model
        return usable.order_by("-is_default", "id").first()

    @property
    def is_off_record(self) -> bool:
        """Whether what is said now must never become memory."""
        agent_writes = self.agent is None or self.agent.writes_memory
        return self.memory_mode == self.MemoryMode.OFF or not (self.owner.memory_enabled and agent_writes)


class OpenPage(models.Model):
    """A page that shows a temporary chat: when the last one is gone, so is the chat."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="pages")
    token = models.CharField(max_length=32, unique=True)
    opened_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"Page of {self.session_id}"


class Run(models.Model):
    """One reply being made. It belongs to the server: pages come and go, the run goes on."""

    class Status(TextChoices):
        QUEUED = "queued", "Waiting"
        RUNNING = "running", "Answering"
        DONE = "done", "Done"
        STOPPED = "stopped", "Stopped"
        FAILED = "failed", "Failed"
        INTERRUPTED = "interrupted", "Interrupted"

    OPEN = (Status.QUEUED, Status.RUNNING)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="runs")
    # The user's message that this run answers.
    prompt = models.ForeignKey("Message", on_delete=models.CASCADE, related_name="+")
    # Chosen for this reply alone; otherwise the chat's.
    model = models.ForeignKey(AiModel, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.QUEUED)
    stop_requested = models.BooleanField(default=False)
    # The process that makes it, by oneclaw.server.presence; its death ends the run.
    holder = models.CharField(max_length=60, blank=True, default="", editable=False)
    error_code = models.CharField(max_length=40, blank=True, default="")
    error = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["session", "status"]), models.Index(fields=["status"])]

    def __str__(self) -> str:
        return f"{self.get_status_display()} {self.id}"


class Message(models.Model):
    """One thing said in a chat. Never altered once finished; an edit or a new answer is a new version."""

    class Type(TextChoices):
        USER = "user", "User"
        AI_RESPONSE = "ai_response", "Reply"
        TOOL_CALL = "tool_call", "Tool call"
        TOOL_RESULT = "tool_result", "Tool result"
        ERROR = "error", "Error"
        SYSTEM = "system", "Note"

    id = models.BigAutoField(primary_key=True)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="messages")
    type = models.CharField(max_length=12, choices=Type.choices)
    content = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.SET_NULL, related_name="messages")
    thinking = models.TextField(blank=True, default="")
    # How long that took; null where nobody measured it.
    thinking_ms = models.PositiveIntegerField(null=True, blank=True)
    tool_call_id = models.CharField(max_length=200, blank=True, default="")
    tool_name = models.CharField(max_length=100, blank=True, default="")
    # A tool call's arguments, or what a tool result has for the page (chips, Undo).
    tool_data = models.JSONField(null=True, blank=True, decoder=Shallow)
    error_code = models.CharField(max_length=40, blank=True, default="")
    # Opaque state that a protocol wants sent back (signatures of thinking).
    wire_state = models.JSONField(null=True, blank=True, decoder=Shallow)
    model_name = models.CharField(max_length=200, blank=True, default="")
    # Said by a provider that may not write memory: neither a log nor a later chat takes it for true.
    untrusted = models.BooleanField(default=False)
    # Said while memory was off, for the chat or its owner: it never becomes memory, whatever is set later.
    off_record = models.BooleanField(default=False)
    # When its owner took it off the record: such a message can be put back, others never were on it.
    silenced_at = models.DateTimeField(null=True, blank=True)
    # The message this one repeats in a branch: said there, so here it is no news to memory and costs nothing.
    copied_from = models.BigIntegerField(null=True, blank=True, editable=False)
    # Unknown is null, never 0.
    input_tokens = models.PositiveIntegerField(null=True, blank=True)
    output_tokens = models.PositiveIntegerField(null=True, blank=True)
    # What memory went into the request that this message answers.
    receipt: "models.JSONField[Any, Any]" = models.JSONField(null=True, blank=True)
    # Versions: the first of its group, and the version with which it was set aside (null: on the page).
    version_of = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="versions"
    )
    shelf = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="shelved"
    )

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["session", "shelf", "id"]),
            models.Index(
                fields=["copied_from"], condition=Q(copied_from__isnull=False), name="messages_in_branches"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_type_display()}: {self.content[:60]}"

    @property
    def said_id(self) -> int:
        """Where this was said: the message itself, or the one it repeats."""
        return self.copied_from or self.id

    @property
    def arguments_text(self) -> str:
        """A tool call's arguments to read."""
        try:
            return json.dumps(self.tool_data or {}, ensure_ascii=False, indent=2)
        except RecursionError:
            return "{…}"


class Attachment(models.Model):
    """A picture or a file in a message, or in the composer of a chat until it is sent.

    Its bytes are kept once by content under their owner; what a model reads of a file is here as text.
    """

    class Kind(TextChoices):
        IMAGE = "image", "Picture"
        TEXT = "text", "Text"
        PDF = "pdf", "PDF"
        DOCX = "docx", "Word document"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="attachments")
    # The chat in whose composer it waits, none for a new one; later the chat of its message.
    session = models.ForeignKey(
        Session, null=True, blank=True, on_delete=models.CASCADE, related_name="attachments"
    )
    message = models.ForeignKey(
        Message, null=True, blank=True, on_delete=models.CASCADE, related_name="attachments"
    )
    position = models.PositiveSmallIntegerField(default=0)
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    # Of the bytes that are kept, which for a picture are not those that came.
    media_type = models.CharField(max_length=100)
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()
    width = models.PositiveIntegerField(null=True, blank=True)
    height = models.PositiveIntegerField(null=True, blank=True)
    pages = models.PositiveIntegerField(null=True, blank=True)
    text = models.TextField(blank=True, default="")
    # What of the file was not read, in a sentence.
    note = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["position", "created_at"]
        indexes = [
            models.Index(fields=["owner", "sha256"]),
            models.Index(fields=["owner", "session"], condition=Q(message=None), name="attachment_waiting"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_image(self) -> bool:
        return self.kind == self.Kind.IMAGE
