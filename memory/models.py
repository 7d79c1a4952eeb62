"""What the database keeps for memory: a disposable index, the history of MEMORY.md, and a ledger."""

from django.conf import settings
from django.db import models
from django.utils import timezone


class Source(models.TextChoices):
    DAILY_LOG = "daily_log", "Daily log"
    LONG_TERM = "long_term", "Long-term memory"
    TRANSCRIPT = "transcript", "Past chat"


class Speaker(models.TextChoices):
    """Whose words a piece of a chat holds."""

    USER = "user", "You"
    ASSISTANT = "assistant", "Assistant"
    PASTED = "pasted", "Pasted text"
    PLAYED = "played", "Role-play"


class MemoryIndex(models.Model):
    """One chunk of a file or a chat, with its vector. Every row can be made again from its source."""

    id = models.BigAutoField(primary_key=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    source_type = models.CharField(max_length=12, choices=Source.choices)
    source_date = models.DateField(null=True, blank=True)
    # The file's name in the user's folder, or "chat:<session id>".
    source_key = models.CharField(max_length=80)
    position = models.PositiveIntegerField(default=0)
    # Where the chunk begins: a line of the file, or the id of the message.
    anchor = models.BigIntegerField(null=True, blank=True)
    # Headings and date that are embedded with the text.
    context = models.CharField(max_length=500, blank=True, default="")
    chunk_text = models.TextField()
    # Who said it, in a chat; empty for files.
    speaker = models.CharField(max_length=10, choices=Speaker.choices, blank=True, default="")
    text_hash = models.CharField(max_length=64)
    # What the full-text table holds of this row: its terms, each marked with the owner, in double spaces.
    terms = models.TextField(blank=True, default="")
    term_count = models.PositiveIntegerField(default=0)
    # Float32, little-endian; null until the model has got to it, and where there is no model.
    embedding = models.BinaryField(null=True, blank=True)
    embedded_by = models.CharField(max_length=120, blank=True, default="")
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "memory index"
        indexes = [
            # Whole: a chunk's neighbours are counted without reading any row.
            models.Index(fields=["owner", "source_key", "anchor", "position"]),
            models.Index(fields=["owner", "source_type"]),
            models.Index(fields=["owner", "embedded_by"]),
        ]

    def __str__(self) -> str:
        return self.chunk_text[:80]


class IndexState(models.Model):
    """How far a user's index is: its counts, its model, and what it has seen of files and chats."""

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    # The embedding model whose vectors are searched; empty until there are some.
    model_name = models.CharField(max_length=120, blank=True, default="")
    chunk_count = models.PositiveIntegerField(default=0)
    term_total = models.PositiveBigIntegerField(default=0)
    # One digest of all files as last indexed: the same one means there is nothing to read.
    files_seen = models.CharField(max_length=64, blank=True, default="")
    # Messages up to this one are indexed; later ones are new.
    last_message = models.BigIntegerField(default=0)
    # False after work on a connection without sqlite-vec: the vector table lacks rows until they are listed.
    vectors_listed = models.BooleanField(default=True)
    # True once a chunk that is not English has a joined vector: questions then need the second model too.
    other_languages = models.BooleanField(default=False)
    # True once a question was not English: English chunks are then read by the second model too.
    asked_abroad = models.BooleanField(default=False)
    # When the worker was asked to embed what waits.
    asked_at = models.DateTimeField(null=True, blank=True)
    # Another number after every change of a row; memory.index.changes says which rows they were.
    stamp = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.chunk_count} chunks"


class IndexChange(models.Model):
    """Rows of an index that came, went or were changed together; kept for a while."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    # The index's stamps before and after.
    before = models.BigIntegerField()
    stamp = models.BigIntegerField()
    rows = models.JSONField(default=list)

    class Meta:
        indexes = [models.Index(fields=["owner", "before"])]

    def __str__(self) -> str:
        return f"{len(self.rows)} rows"


class IndexedSource(models.Model):
    """One file or chat as it was when indexed; an empty fingerprint asks for another look."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    source_key = models.CharField(max_length=80)
    fingerprint = models.CharField(max_length=120, blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "source_key"], name="source_once_per_owner"),
        ]
        indexes = [models.Index(fields=["owner", "fingerprint"])]

    def __str__(self) -> str:
        return self.source_key


class Revision(models.Model):
    """One write of MEMORY.md: by whom, why, and the whole text after it."""

    class Author(models.TextChoices):
        USER = "user", "You"
        TOOL = "tool", "Assistant"
        DAILY_LOG = "daily_log", "Daily log"
        COMPACTION = "compaction", "Compaction"
        RESTORE = "restore", "Restore"
        IMPORT = "import", "Import"
        OUTSIDE = "outside", "Outside edit"
        UNDO = "undo", "Undo"
        CLIENT = "client", "Connected program"

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="revisions")
    author = models.CharField(max_length=12, choices=Author.choices)
    # The name of the program, where one wrote it from outside.
    by = models.CharField(max_length=120, blank=True, default="")
    reason = models.CharField(max_length=200, blank=True, default="")
    before = models.TextField(blank=True, default="")
    after = models.TextField(blank=True, default="")
    # SHA-256 of `after`: tells cheaply whether the file is still what this revision left.
    after_digest = models.CharField(max_length=64, blank=True, default="", db_index=True)
    # Characters of both texts, so that history can be held within a size.
    size = models.PositiveIntegerField(default=0)
    session_id = models.UUIDField(null=True, blank=True)
    undone_by = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="undoes"
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["owner", "-id"])]

    def __str__(self) -> str:
        return f"{self.writer}: {self.reason}"

    @property
    def writer(self) -> str:
        return self.by or self.get_author_display()


class LastSaid(models.Model):
    """When an entry of MEMORY.md was last said and in which chat, found by the entry's words."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    # A digest of the words as memory.longterm.dates folds them: moved or marked, an entry keeps its date.
    words = models.CharField(max_length=64)
    # The local date where the user was.
    day = models.DateField()
    session_id = models.UUIDField(null=True, blank=True)
    # When this was last written: of an entry that is gone, the date goes too after a while.
    noted_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "last said"
        constraints = [models.UniqueConstraint(fields=["owner", "words"], name="words_once_per_owner")]

    def __str__(self) -> str:
        return f"{self.day}"


class EntryUse(models.Model):
    """On how many days an entry of MEMORY.md was what a message asked for, found by the entry's words."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    # As in LastSaid.
    words = models.CharField(max_length=64)
    days = models.PositiveIntegerField(default=1)
    last_day = models.DateField()

    class Meta:
        verbose_name_plural = "use of entries"
        constraints = [models.UniqueConstraint(fields=["owner", "words"], name="use_once_per_owner")]

    def __str__(self) -> str:
        return f"{self.days} days"


class LedgerEntry(models.Model):
    """One flush, compaction or write from outside: what asked for it, what it cost, how it ended."""

    class Kind(models.TextChoices):
        FLUSH = "flush", "Daily log"
        COMPACTION = "compaction", "Compaction"
        CLIENT = "client", "Connected program"

    class Trigger(models.TextChoices):
        SESSION_END = "session_end", "Chat ended"
        SESSION_SWITCH = "session_switch", "Another chat opened"
        APP_BACKGROUND = "app_background", "Page hidden"
        DAY_CHANGE = "day_change", "New day"
        PRE_COMPACTION = "pre_compaction", "Before summarising"
        SCHEDULE = "schedule", "Schedule"
        MANUAL = "manual", "Manual"
        TOOL = "tool", "Tool call"
        IMPORT = "import", "Imported chat"

    class Outcome(models.TextChoices):
        RUNNING = "running", "Running"
        WRITTEN = "written", "Written"
        NOTHING = "nothing", "Nothing new"
        REFUSED = "refused", "Refused"
        FAILED = "failed", "Failed"

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="ledger")
    kind = models.CharField(max_length=12, choices=Kind.choices)
    trigger = models.CharField(max_length=16, choices=Trigger.choices)
    session_id = models.UUIDField(null=True, blank=True)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, default=Outcome.RUNNING)
    message_count = models.PositiveIntegerField(default=0)
    model_name = models.CharField(max_length=200, blank=True, default="")
    input_tokens = models.PositiveIntegerField(null=True, blank=True)
    output_tokens = models.PositiveIntegerField(null=True, blank=True)
    # The error or the reason for a refusal, in a sentence.
    detail = models.TextField(blank=True, default="")
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        verbose_name = verbose_name_plural = "activity"
        indexes = [models.Index(fields=["owner", "kind", "-id"])]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} ({self.get_trigger_display()}): {self.get_outcome_display()}"


class Claim(models.Model):
    """Who does a piece of background work now. Taken by a conditional update, so only one does it."""

    # Made by the functions of memory.jobs.claims.
    key = models.CharField(max_length=80, primary_key=True)
    # Asked for and not yet begun: further requests change nothing.
    queued_at = models.DateTimeField(null=True, blank=True)
    held_at = models.DateTimeField(null=True, blank=True)
    holder = models.CharField(max_length=120, blank=True, default="")
    # Asked for again while it was held: the holder goes round once more.
    wanted = models.BooleanField(default=False)
    # The local date for which it was last done, where once a day is enough.
    done_on = models.DateField(null=True, blank=True)

    def __str__(self) -> str:
        return self.key


class PendingEntry(models.Model):
    """A summary that the model has given and that is not yet in the files: a crash loses no answer."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    session_id = models.UUIDField(db_index=True)
    day = models.DateField()
    first = models.BigIntegerField()
    last = models.BigIntegerField()
    trigger = models.CharField(max_length=16)
    by = models.CharField(max_length=200)
    body = models.TextField(blank=True, default="")
    facts = models.JSONField(default=list)
    # A day summarised again: the entries of these messages give way to this one.
    replaces = models.BooleanField(default=False)
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "pending entries"

    def __str__(self) -> str:
        return f"{self.day} {self.session_id}"


class RemovedEntries(models.Model):
    """Log entries that their owner removed, kept for a while so that undo can put them back."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    session_id = models.UUIDField(null=True, blank=True)
    # [{"day", "raw", "before"}]: before is the entry that followed it, or empty at the end.
    entries = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "removed entries"

    def __str__(self) -> str:
        return f"{len(self.entries)} removed"


class Forgotten(models.Model):
    """One request to forget: what keeps it forgotten, and what undo needs. Its words are nowhere in it."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    # [{"terms": keyed hashes, "vector": base64, "model": its name}], one for each text that went.
    traces = models.JSONField(default=list)
    # What was done, for as long as it can be undone.
    revision_id = models.BigIntegerField(null=True, blank=True)
    removed_id = models.BigIntegerField(null=True, blank=True)
    messages = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "forgotten"
        indexes = [models.Index(fields=["owner", "-id"])]

    def __str__(self) -> str:
        return f"{len(self.traces)} forgotten"

    @property
    def can_be_undone(self) -> bool:
        return bool(self.revision_id or self.removed_id or self.messages)


class Proposal(models.Model):
    """A compacted MEMORY.md that waits for its owner to accept it."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    before = models.TextField()
    after = models.TextField()
    detail = models.TextField(blank=True, default="")
    # Why it would not be written without its owner having looked at it; empty if it would.
    doubt = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    applied_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"Proposal of {self.created_at:%Y-%m-%d %H:%M}"


class Rebuild(models.Model):
    """The last rebuild of a user's index that a page asked for, and how it ended."""

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    finished_at = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True, default="")

    def __str__(self) -> str:
        return f"Rebuilt {self.finished_at}"


class WorkInProgress(models.Model):
    """Long work that goes on for a user now; the row goes when the work ends."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=80)
    # What a page calls it, such as "Rebuilding the index".
    label = models.CharField(max_length=120)
    # The name of the address where more is told.
    page = models.CharField(max_length=80, blank=True, default="")
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    # Moves with every step: one that has stood still for long belongs to a dead process.
    moved_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "work in progress"
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="work_once_per_owner")]

    def __str__(self) -> str:
        return f"{self.key}: {self.done} of {self.total}"
