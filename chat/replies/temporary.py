"""Temporary chats: there while a page shows them, then deleted for good; nothing of them goes elsewhere."""

import asyncio
import logging
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import get_random_string

from chat.attachments import storage
from chat.models import Attachment, Message, OpenPage, Run, Session
from chat.replies import sending, threads
from oneclaw.postgres import is_postgres
from oneclaw.sqlite import driver

logger = logging.getLogger(__name__)

# A page that is loaded again is gone for a moment, and so is one that somebody left by mistake.
GRACE = 10.0
STOPPING = 5.0
FORGOTTEN = timedelta(days=1)
# Everything that belongs to a chat, in the order in which it can go.
TABLES = (Attachment, OpenPage, Message, Run)


def opened(session: Session, token: str = "") -> str:
    """A page shows the chat; the token by which it says that it is gone."""
    token = token or get_random_string(24)
    OpenPage.objects.get_or_create(token=token, defaults={"session": session})
    return token


def left(session: Session, token: str) -> None:
    """A page is gone. Without another one the chat is closed in a moment."""
    OpenPage.objects.filter(session=session, token=token).delete()
    if not OpenPage.objects.filter(session=session).exists():
        threads.loop.submit(_close_soon(session.id))


async def _close_soon(session_id: UUID) -> None:
    await asyncio.sleep(GRACE)
    try:
        # Not the thread that writes: closing waits for a reply to end, which is written there.
        await threads.in_thread(threads.flushing, _close_unless_open, session_id)
    except Exception:
        logger.exception("A temporary chat could not be closed; it will be retried")


def _close_unless_open(session_id: UUID) -> None:
    session = Session.objects.filter(id=session_id, temporary=True, pages=None).first()
    if session is not None:
        close(session)


def close(session: Session) -> None:
    """Stop what is being said, and delete everything. In the process that makes replies."""
    _hide(Session.objects.filter(id=session.id))
    waiting = Run.objects.filter(session=session, status__in=Run.OPEN)
    sending.stop_and_wait(session, list(waiting.values_list("id", flat=True)), STOPPING)
    _delete(session)
    empty_log()


def _delete(session: Session) -> None:
    """The rows, and the files that no other chat of the owner shows."""
    files = set(Attachment.objects.filter(session=session).values_list("sha256", flat=True))
    session.delete()
    for name in files:
        if not Attachment.objects.filter(owner_id=session.owner_id, sha256=name).exists():
            storage.remove(session.owner_id, name)


def close_of(user_id: int) -> None:
    for session in Session.objects.filter(owner_id=user_id, temporary=True):
        close(session)


def close_all() -> int:
    """At the start of the web process: no reply is made, and no page is open."""
    chats = Session.objects.filter(temporary=True)
    count = len(chats)
    for session in chats:
        _delete(session)
    if count:
        empty_log()
    return count


def close_forgotten(now: datetime | None = None) -> int:
    """In the worker: chats left without a word, as by a browser that was killed.

    Their replies are another process's to stop, so what still talks is deleted the next time.
    """
    old = Session.objects.filter(temporary=True, active_at__lt=(now or timezone.now()) - FORGOTTEN)
    _hide(old)
    Run.objects.filter(session__in=old, status__in=Run.OPEN).update(stop_requested=True)
    silent = list(old.exclude(runs__status__in=Run.OPEN))
    for session in silent:
        _delete(session)
    if silent:
        empty_log()
    return len(silent)


def _hide(chats: QuerySet[Session]) -> None:
    """From here on every page of them is a 404, and no further reply begins."""
    chats.update(deleted_at=timezone.now())


def empty_log() -> None:
    """Take old pages out of SQLite's log, where deleted rows stand until it is written over.

    Where somebody is reading just now that is left to the next time.
    """
    if is_postgres():
        return
    try:
        beside = driver.choose().connect(connection.settings_dict["NAME"], timeout=0.5)
        try:
            beside.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            beside.close()
    except driver.choose().Error:
        logger.info("The database's log could not be emptied just now")


def take_out(copy: Any) -> set[str]:
    """Delete temporary chats from a copy of the SQLite database, and their words from its pages.

    So are files that wait to be sent: before its first message nobody can tell which kind of chat it will be.
    Returns the files that nobody else shows, by their names in the data folder.
    """
    column = "SELECT 1 FROM pragma_table_info('chat_session') WHERE name = 'temporary'"
    table = "SELECT 1 FROM sqlite_master WHERE name = 'chat_attachment'"
    if not (copy.execute(column).fetchone() and copy.execute(table).fetchone()):
        return set()
    files = "SELECT owner_id, sha256 FROM chat_attachment"
    before = set(copy.execute(files))
    copy.execute("PRAGMA secure_delete = ON")
    chats = f"SELECT id FROM {Session._meta.db_table} WHERE temporary"  # noqa: S608
    for model in TABLES:
        copy.execute(f"DELETE FROM {model._meta.db_table} WHERE session_id IN ({chats})")  # noqa: S608
    copy.execute(f"DELETE FROM {Session._meta.db_table} WHERE temporary")  # noqa: S608
    copy.execute(f"DELETE FROM {Attachment._meta.db_table} WHERE message_id IS NULL")  # noqa: S608
    return {f"files/{owner_id}/{sha256}" for owner_id, sha256 in before - set(copy.execute(files))}
