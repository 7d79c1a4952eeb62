"""Everything of one person, deleted: chats, memory, index, files, history, tokens. The account stays."""

import logging
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import OperationalError, connection, models, transaction
from django.utils import timezone

from chat.attachments import storage as attachments
from chat.models import Message, Run, Session
from chat.sessions import search
from connect.importing.chats import delete_for_good
from connect.models import Erasure, Export, Import, Token
from memory.index import writer
from memory.jobs import claims, progress
from memory.models import Claim, MemoryIndex
from memory.storage.files import MemoryFileStorage
from people.models import User

log = logging.getLogger(__name__)

# Whose rows are a person's things; what an account itself is stays.
APPS = ("chat", "memory", "connect")
FAILED = (
    "Not everything could be deleted. It is tried again within the hour; delete it once more to try now. "
    "If that fails too, whoever runs this OneClaw finds the reason in its log."
)


def key(user: User) -> str:
    return f"erase:{user.pk}"


def erase(user: User) -> dict[str, int]:
    """Delete all of it; how much there was. Killed or failed in the middle, it is simply done again."""
    with claims.holding(key(user)) as held:
        if held is None:
            return {}
        asked = Erasure.objects.filter(owner=user)
        try:
            with progress.shown(user, "erase", "Deleting everything of yours", page="settings:data") as note:
                counts = _erased(user, note, held.renew)
        except Exception:
            log.exception("Not everything of a person could be deleted")
            asked.update(error=FAILED)
            return {}
        asked.update(finished_at=timezone.now(), counts=counts, error="")
    Claim.objects.filter(key=key(user)).delete()
    return counts


def _erased(user: User, note: Callable[[int, int], None], renew: Callable[[], bool]) -> dict[str, int]:
    overwrite_freed_pages()
    # First of all: whatever comes after it, no program reads or writes any more.
    tokens = Token.objects.filter(owner=user).delete()[0]
    sessions = Session.objects.filter(owner=user)
    counts = {"chats": sessions.count(), "messages": _count_messages(user), "token": tokens}
    Run.objects.filter(session__owner=user, status__in=Run.OPEN).update(stop_requested=True)
    counts["files"] = _files(user)
    ids = list(MemoryIndex.objects.filter(owner=user).values_list("id", flat=True))
    for at in range(0, len(ids), 500):
        writer.delete(user.pk, ids[at : at + 500])
        renew()
    while batch := list(sessions.values_list("id", flat=True)[:50]):
        for session_id in batch:
            with transaction.atomic():
                Claim.objects.filter(key=claims.flush(session_id)).delete()
                delete_for_good(session_id)
        renew()
        note(counts["chats"] - sessions.count(), counts["chats"])
    for model, field in owned():
        if model is not Erasure:
            name = model._meta.model_name or ""
            gone = model._default_manager.filter(**{field: user}).delete()[0]
            counts[name] = counts.get(name, 0) + gone
    Claim.objects.filter(key__regex=rf"^[a-z-]+:{user.pk}(:.*)?$").exclude(key=key(user)).delete()
    search.prune()
    sweep()
    return counts


def _count_messages(user: User) -> int:
    return Message.objects.filter(session__owner=user).count()


def owned() -> Iterator[tuple[type[models.Model], str]]:
    """Every table whose rows belong to a person, with the column that says to whom."""
    for app in APPS:
        for model in apps.get_app_config(app).get_models():
            for field in model._meta.get_fields():
                if isinstance(field, models.ForeignKey) and field.related_model is User:
                    yield model, field.name


def _files(user: User) -> int:
    """Memory's folder, uploads and archives; how many files there were."""
    storage = MemoryFileStorage(user)
    count = 0
    with storage.lock():
        for path in storage.root.rglob("*"):
            count += path.is_file() and path.name != ".lock"
        for path in storage.root.iterdir():
            if path.name == ".lock":
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    for folder in (attachments.files(user.pk), attachments.made(user.pk)):
        count += sum(path.is_file() for path in folder.rglob("*"))
        shutil.rmtree(folder, ignore_errors=True)
    rows: list[Any] = [*Import.objects.filter(owner=user), *Export.objects.filter(owner=user)]
    for row in rows:
        count += row.path.exists()
        row.path.unlink(missing_ok=True)
        Path(row.path).with_suffix(".part").unlink(missing_ok=True)
    return count


def overwrite_freed_pages() -> None:
    """Have SQLite write zeros over what is deleted from now on."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA secure_delete = ON")


def sweep() -> None:
    """Put the full-text tables together anew and empty the journal: neither keeps a deleted word."""
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        for table in full_text_tables():
            cursor.execute(f"INSERT INTO {table}({table}) VALUES ('optimize')")  # noqa: S608  (a fixed name)
        if connection.in_atomic_block:
            return
        try:
            # Pages that were freed before today may hold words too.
            cursor.execute("VACUUM")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except OperationalError:
            log.warning("Deleted words may stay in free pages of the database: it could not be rewritten")


def full_text_tables() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%%USING fts5(%%'")
        return [row[0] for row in cursor.fetchall()]
