"""Somebody whose every row and file holds a secret word: what others must never see, change or find."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core import serializers
from django.db import models
from django.utils import timezone

from chat.models import Agent, Attachment, Message, OpenPage, Run, Session
from connect.models import Erasure, Export, Import, Imported, KnownMessage, LogWriting, Token
from memory.manager import MemoryManager
from memory.models import (
    Claim,
    EntryUse,
    Forgotten,
    IndexedSource,
    IndexState,
    LastSaid,
    LedgerEntry,
    MemoryIndex,
    PendingEntry,
    Proposal,
    Rebuild,
    RemovedEntries,
    Revision,
    WorkInProgress,
)
from people.models import Invitation, User

# One word, so that no search, cut or highlighting takes it apart.
SECRET = "xylophonequartz"
QUOTED = f"The provider failed. It says: “{SECRET}”"
DAY = date(2026, 3, 1)
BACKUP = "MEMORY_backup_2026-03-01_10-00-00.md"
ROOMS = ("chat", "memory", "connect")
# Text that is no content: choices, names of models and tools, keys and digests of the program's own.
NO_CONTENT = {
    "chat.Attachment": {"kind", "media_type", "sha256"},
    "chat.Message": {"type", "error_code", "model_name"},
    "chat.OpenPage": {"token"},
    "chat.Run": {"status", "error_code", "holder"},
    "chat.Session": {"memory_mode", "title_by"},
    "connect.KnownMessage": {"digest", "pair"},
    "connect.Token": {"scope", "token_hash"},
    "connect.Tally": {"key"},
    "connect.Import": {"status"},
    "connect.Imported": {"kind", "what", "messages", "places"},
    "connect.Export": {"status"},
    "connect.LogWriting": {"status"},
    "connect.Erasure": {"counts"},
    "memory.Claim": {"key", "holder"},
    "memory.IndexChange": {"rows"},
    "memory.IndexState": {"files_seen", "model_name"},
    "memory.IndexedSource": {"fingerprint", "source_key"},
    "memory.EntryUse": {"words"},
    "memory.Forgotten": {"traces", "messages"},
    "memory.LastSaid": {"words"},
    "memory.LedgerEntry": {"kind", "model_name", "outcome", "trigger"},
    "memory.MemoryIndex": {"embedded_by", "speaker", "source_key", "source_type", "text_hash"},
    "memory.PendingEntry": {"by", "trigger"},
    "memory.Revision": {"after_digest", "author"},
    "memory.WorkInProgress": {"key", "page"},
    "people.Invitation": {"token_hash"},
}
# Everybody's, and the admin's to set.
SHARED = {"chat.Provider", "chat.AiModel"}


@dataclass(frozen=True, slots=True)
class Victim:
    """The person and one of each thing that is theirs."""

    user: User
    session: Session
    deleted: Session
    run: Run
    message: Message
    note: Message
    agent: Agent
    attachment: Attachment
    revision: Revision
    proposal: Proposal
    ledger: LedgerEntry
    removed: RemovedEntries

    @property
    def folder(self) -> Path:
        return Path(settings.MEMORY_DIR) / self.user.username

    def snapshot(self) -> dict[str, str]:
        """Every row and file of theirs, as text to compare."""
        found = {
            f"{row._meta.label} {row.pk}": serializers.serialize("json", [row])
            for model in own_models()
            for row in of(self.user, model)
        }
        found["people.User"] = serializers.serialize("json", [User.objects.get(pk=self.user.pk)])
        files = (path for path in sorted(self.folder.rglob("*")) if path.is_file() and path.name != ".lock")
        return found | {str(path.relative_to(self.folder)): path.read_text() for path in files}


def own_models() -> Iterator[type[models.Model]]:
    """The models whose rows belong to somebody."""
    for room in ROOMS:
        for model in apps.get_app_config(room).get_models():
            if model._meta.label not in SHARED:
                yield model


def of(user: User, model: type[models.Model]) -> "models.QuerySet[Any]":
    names = {field.name for field in model._meta.get_fields()}
    rows = model._default_manager.order_by("pk")
    if "owner" in names:
        return rows.filter(owner=user)
    if "session" in names:
        return rows.filter(session__owner=user)
    if "created_by" in names:
        return rows.filter(created_by=user)
    # Claims have keys instead of owners.
    mine = [f"flush:{key}" for key in Session.objects.filter(owner=user).values_list("pk", flat=True)]
    return rows.filter(models.Q(pk__in=mine) | models.Q(pk__regex=rf":{user.pk}(:|$)"))


def make(name: str = "vera") -> Victim:
    """A person with a row in every table and a file of every kind."""
    user = User.objects.create_user(name, password="correct horse battery", time_zone="Europe/Lisbon")
    agent = Agent.objects.create(owner=user, name=SECRET, description=SECRET, prompt=SECRET)
    chat = {"owner": user, "title": SECRET, "via": SECRET, "preview": SECRET, "summary": SECRET}
    session = Session.objects.create(**chat, agent=agent)
    OpenPage.objects.create(session=session, token=SECRET)
    deleted = Session.objects.create(**chat, deleted_at=timezone.now())
    messages = [say(each) for each in (session, deleted)]
    run = Run.objects.create(
        session=session, prompt=messages[0], status="failed", error_code="server", error=QUOTED
    )
    reply = say(session, type="ai_response", run=run)
    attachment = attach(user, messages[0])
    remember(user)
    own = {"owner": user, "session_id": session.pk}
    removed = RemovedEntries.objects.create(**own, entries=[{"day": str(DAY), "raw": SECRET, "before": ""}])
    proposal = Proposal.objects.create(owner=user, before=SECRET, after=SECRET, detail=QUOTED, doubt=QUOTED)
    revision = Revision.objects.create(
        **own, author="client", by=SECRET, reason=f"Added to {SECRET}", before=SECRET, after=SECRET
    )
    ledger = LedgerEntry.objects.create(
        **own, kind="flush", trigger="session_end", outcome="failed", detail=QUOTED, model_name="a-model"
    )
    PendingEntry.objects.create(
        **own, day=DAY, first=1, last=2, trigger="session_end", by="a-model", body=SECRET, facts=[SECRET]
    )
    Rebuild.objects.create(owner=user, error=QUOTED)
    WorkInProgress.objects.create(owner=user, key="rebuild", label=SECRET, done=1, total=2)
    Token.objects.create(owner=user, name=SECRET, token_hash="0" * 64)
    KnownMessage.objects.create(owner=user, message=reply, digest="0" * 64, pair="0" * 64)
    archives(user)
    Claim.objects.create(key=f"flush:{session.pk}")
    Invitation.objects.create(created_by=user, token_hash="0" * 64, expires_at=timezone.now())
    note = say(
        session, type="system", tool_name="command", tool_data={"revision": revision.pk, "offer": SECRET}
    )
    return Victim(
        user, session, deleted, run, reply, note, agent, attachment, revision, proposal, ledger, removed
    )


def archives(user: User) -> None:
    """Archives that came in and went out."""
    told = {"skipped": [{"what": SECRET, "why": SECRET}]}
    came = Import.objects.create(
        owner=user,
        file_name=SECRET,
        label=SECRET,
        status="done",
        plan=told,
        added=told,
        kept=[SECRET],
        error=QUOTED,
    )
    Imported.objects.create(owner=user, by=came, kind="chatgpt", foreign_id=SECRET)
    LogWriting.objects.create(owner=user, by=came, status="failed", error=QUOTED)
    export = Export.objects.create(owner=user, status="done", error=QUOTED)
    export.path.parent.mkdir(exist_ok=True)
    export.path.write_text(SECRET)
    Erasure.objects.create(owner=user, finished_at=timezone.now(), error=QUOTED)


def attach(user: User, message: Message) -> Attachment:
    facts = {"name": SECRET, "text": SECRET, "note": SECRET, "kind": "text", "media_type": "text/plain"}
    return Attachment.objects.create(
        owner=user, session=message.session, message=message, sha256="0" * 64, size=15, **facts
    )


def say(session: Session, **fields: Any) -> Message:
    text = {"content": SECRET, "thinking": SECRET, "tool_name": SECRET, "tool_call_id": SECRET}
    data = {"tool_data": {"words": SECRET}, "wire_state": {"words": SECRET}, "receipt": receipt()}
    return Message.objects.create(session=session, **{"type": "user", **text, **data, **fields})


def receipt() -> dict[str, Any]:
    """What memory went into a reply, as the injector writes it."""
    return {"budget": 2000, "tokens": 10, "long_term": {"file": SECRET, "lines": 0}, "hits": []}


def remember(user: User) -> None:
    memory = MemoryManager(user)
    memory.files.write_memory_file(f"# Long-term Memory\n\n## Notes\n- {SECRET}\n")
    memory.files.append_to_daily_log(DAY, f"- {SECRET}")
    (memory.files.root / BACKUP).write_text(f"# Long-term Memory\n\n- {SECRET}\n")
    now = timezone.now()
    MemoryIndex.objects.create(
        owner=user,
        source_type="long_term",
        source_key="MEMORY.md",
        context=SECRET,
        chunk_text=SECRET,
        terms=SECRET,
        text_hash="0" * 64,
        created_at=now,
    )
    IndexState.objects.create(owner=user, chunk_count=1)
    IndexedSource.objects.create(owner=user, source_key="MEMORY.md", fingerprint="1")
    LastSaid.objects.get_or_create(owner=user, words="0" * 64, day=DAY)
    EntryUse.objects.create(owner=user, words="0" * 64, last_day=DAY)
    Forgotten.objects.create(owner=user, traces=[{"terms": ["0" * 16]}])


def unfilled() -> list[str]:
    """Columns of text that no row has filled with the secret: a test could not see them leak."""
    kinds = (models.CharField, models.TextField, models.JSONField)
    return [
        f"{model._meta.label}.{field.name}"
        for model in own_models()
        for field in model._meta.concrete_fields
        if isinstance(field, kinds) and field.name not in NO_CONTENT.get(model._meta.label, ())
        if not any(
            SECRET in str(value) for value in model._default_manager.values_list(field.name, flat=True)
        )
    ]
