"""The archive: Markdown, chats as JSON and Markdown, history, dates, what was forgotten, checksums."""

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from chat.attachments import storage as attachments
from chat.models import Agent, Attachment, Message, Session
from chat.sessions import export as chat_export
from connect.archives.oneclaw import CHAT_FORMAT, FORMAT, VERSION
from connect.models import Imported
from memory.dailylog import forgotten
from memory.forgetting.acts import scrubbed
from memory.longterm import dates
from memory.models import EntryUse, Forgotten, LedgerEntry, Revision
from memory.storage.entries import entries_of
from memory.storage.files import MemoryFileStorage
from oneclaw import __version__
from people.models import User

Progress = Callable[[int, int], None]
ABOUT = """# Your OneClaw archive

- `memory/` holds MEMORY.md, the daily logs, when each entry was last said, and every change of MEMORY.md.
- `chats/` holds each chat twice: as Markdown to read, as JSON with every message and version.
- `attachments/` holds the pictures and files of messages, named by their SHA-256.
- `agents.json` holds your agents with their prompts.
- `origins/` says from which program a chat came, so that the same chat does not come a second time.
- `manifest.json` lists the files with their SHA-256.

Another OneClaw takes it in under Settings, Import & export. What you had forgotten is not in its memory or
its history; chats are as you see them, with what is off the record marked so. So that it stays forgotten
there too, `memory/forgotten-*.json` holds keyed hashes of its words together with their key: whoever has this
archive could guess at single words with them, as they can read everything else.
"""


class Bundle:
    """A ZIP that is written piece by piece and remembers each file's checksum."""

    def __init__(self, path: Path) -> None:
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6, allowZip64=True)
        self.files = dict[str, dict[str, Any]]()

    def add(self, name: str, pieces: Iterable[bytes]) -> None:
        digest, size = hashlib.sha256(), 0
        with self.zip.open(zipfile.ZipInfo(name, _now()), "w", force_zip64=True) as file:
            for piece in pieces:
                digest.update(piece)
                size += len(piece)
                file.write(piece)
        self.files[name] = {"sha256": digest.hexdigest(), "size": size}

    def text(self, name: str, *texts: str) -> None:
        self.add(name, (text.encode("utf-8", "replace") for text in texts))

    def json(self, name: str, value: dict[str, Any]) -> None:
        self.text(name, _dumped(value), "\n")

    def close(self, about: dict[str, Any]) -> None:
        manifest = {"format": FORMAT, "version": VERSION, **about, "files": self.files}
        self.zip.writestr(zipfile.ZipInfo("manifest.json", _now()), _dumped(manifest))
        self.zip.close()


def _now() -> tuple[int, int, int, int, int, int]:
    now = timezone.now()
    return now.year, now.month, now.day, now.hour, now.minute, now.second


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


@contextmanager
def snapshot() -> Iterator[None]:
    """The database as it is at one moment, while others go on writing."""
    if connection.in_atomic_block:
        yield
        return
    begin = (
        "BEGIN DEFERRED"
        if connection.vendor == "sqlite"
        else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    )
    with connection.cursor() as cursor:
        cursor.execute(begin)
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


def write(user: User, path: Path, progress: Progress | None = None) -> dict[str, int]:
    """Everything of a person into a new ZIP; what is in it, counted."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)
    bundle = Bundle(path)
    files = MemoryFileStorage(user)
    with snapshot():
        # The snapshot begins with the first question: under memory's lock, files tell of the same moment.
        with files.lock():
            bundle.text("README.md", ABOUT)
            days, text = _memory(user, files, bundle)
        _history(user, text, bundle)
        bundle.json("agents.json", {"format": "oneclaw-agents", "agents": list(_agents(user))})
        count = _chats(user, bundle, progress)
        kept = _files(user, bundle)
    counts = {"chats": count, "days": days, "attachments": kept}
    bundle.close({"oneclaw": __version__, "made_at": timezone.now(), "counts": counts})
    return counts


def _memory(user: User, files: MemoryFileStorage, bundle: Bundle) -> tuple[int, str]:
    """The files as they are; how many days there are, and what MEMORY.md says."""
    text = files.read_memory_file() or ""
    bundle.text("memory/MEMORY.md", text)
    days = files.list_daily_log_dates()
    for day in sorted(days):
        bundle.text(f"memory/daily/{day}.md", files.read_daily_log(day) or "")
    bundle.json("memory/entries.json", {"format": "oneclaw-entries", "entries": _entries(user, text)})
    return len(days), text


def _history(user: User, text: str, bundle: Bundle) -> None:
    if Revision.objects.filter(owner=user).exists():
        bundle.add("memory/revisions.jsonl", _lines("oneclaw-revisions", _revisions(user, text)))
    if LedgerEntry.objects.filter(owner=user).exists():
        bundle.add("memory/activity.jsonl", _lines("oneclaw-activity", _activity(user)))
    for number, (key, traces) in enumerate(forgotten.exported(user), start=1):
        value = {"format": "oneclaw-forgotten", "key": key, "traces": traces}
        bundle.json(f"memory/forgotten-{number}.json", value)


def _entries(user: User, text: str) -> list[dict[str, Any]]:
    """Entries with the day they were last said and how much they were used."""
    rows = EntryUse.objects.filter(owner=user).values_list("words", "days", "last_day")
    used = {words: {"days": days, "last_used": last.isoformat()} for words, days, last in rows}
    found = dates.exported(user, text)
    words = [dates.words_of(entry.text) for entry in entries_of(text)]
    return [row | used.get(name, {}) for row, name in zip(found, words, strict=True)]


def _lines(format_: str, rows: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    for row in rows:
        yield f"{_dumped({'format': format_, **row})}\n".encode("utf-8", "replace")


def _revisions(user: User, text: str) -> Iterator[dict[str, Any]]:
    """Every change with the text it left, and the one it found where that is not what was left before."""
    doomed, left = _forgotten_since(user, text), ""
    for row in _changes(user):
        before, after = (scrubbed(each, doomed) if doomed else each for each in (row.before, row.after))
        yield {
            "id": row.pk,
            "author": row.author,
            "writer": row.writer,
            "reason": row.reason,
            "created_at": row.created_at.isoformat(),
            "chat": str(row.session_id or ""),
            "undone_by": row.undone_by_id,
            **({"before": before} if before != left else {}),
            "text": after,
        }
        left = after


def _changes(user: User) -> Iterator[Revision]:
    return Revision.objects.filter(owner=user).order_by("id").iterator(50)


def _forgotten_since(user: User, text: str) -> set[str]:
    """Entries that MEMORY.md had once, and that its owner had forgotten: they stay behind."""
    if not Forgotten.objects.filter(owner=user).exists():
        return set()
    past = {
        dates.words_of(entry.text): entry.content
        for row in _changes(user)
        for each in (row.before, row.after)
        for entry in entries_of(each)
    }
    for entry in entries_of(text):
        past.pop(dates.words_of(entry.text), None)
    gone = forgotten.among(user, list(past.values()))
    return {words for words, content in past.items() if content in gone}


def _agents(user: User) -> Iterator[dict[str, Any]]:
    for agent in Agent.objects.filter(owner=user).select_related("model"):
        yield {
            "name": agent.name,
            "description": agent.description,
            "prompt": agent.prompt,
            "model": agent.model.name if agent.model else "",
            "temperature": agent.temperature,
            "reads_memory": agent.reads_memory,
            "writes_memory": agent.writes_memory,
        }


def _activity(user: User) -> Iterator[dict[str, Any]]:
    for row in LedgerEntry.objects.filter(owner=user).order_by("id").iterator(500):
        yield {
            "kind": row.get_kind_display(),
            "trigger": row.get_trigger_display(),
            "outcome": row.get_outcome_display(),
            "detail": row.detail,
            "chat": str(row.session_id or ""),
            "messages": row.message_count,
            "model": row.model_name,
            "started_at": row.started_at.isoformat(),
        }


def chats_of(user: User) -> QuerySet[Session]:
    return Session.objects.filter(owner=user, deleted_at=None).order_by("created_at", "id")


def _chats(user: User, bundle: Bundle, progress: Progress | None) -> int:
    total, count = chats_of(user).count(), 0
    for session in chats_of(user).select_related("agent", "owner").iterator(100):
        name = f"chats/{session.created_at:%Y-%m-%d}-{chat_export.file_name(session)}-{str(session.id)[:8]}"
        bundle.add(f"{name}.json", _chat(session))
        bundle.text(f"{name}.md", chat_export.as_markdown(session))
        if origin := _origin(session):
            bundle.json(f"origins/{session.id}.json", origin)
        count += 1
        if progress:
            progress(count, total)
    return count


def _chat(session: Session) -> Iterator[bytes]:
    """A chat as JSON, message by message."""
    head = {
        "format": CHAT_FORMAT,
        "version": 2,
        "id": str(session.id),
        "title": session.title,
        "title_by": session.title_by,
        "agent": session.agent.name if session.agent else None,
        "memory_mode": session.memory_mode,
        "pinned": session.pinned,
        "archived_at": session.archived_at,
        "created_at": session.created_at.isoformat(),
        "last_logged_message": session.last_logged_message_id,
        "summary": session.summary,
        "summary_until": session.summary_until_id,
    }
    yield _dumped(head).removesuffix("}").encode("utf-8", "replace") + b', "messages": ['
    first = dict[Any, int]()
    rows = Message.objects.filter(session=session).select_related("run").prefetch_related("attachments")
    rows = rows.order_by("id")
    for number, message in enumerate(rows.iterator(200)):
        row = _row(message, first)
        yield (b",\n" if number else b"\n") + _dumped(row).encode("utf-8", "replace")
    yield b"\n]}\n"


def _origin(session: Session) -> dict[str, Any] | None:
    """Which program a chat came from and what it is called there: no archive of that one brings it twice."""
    rows = Imported.objects.filter(
        owner=session.owner_id, what=Imported.What.CHAT, session_id=session.id
    ).order_by("id")
    places = [
        {
            "kind": row.kind,
            "id": row.foreign_id,
            "messages": {str(id): name for name, id in row.messages.items()},
        }
        for row in rows
    ]
    if not places and not session.via:
        return None
    return {"format": "oneclaw-origin", "chat": str(session.id), "via": session.via, "from": places}


def _files(user: User, bundle: Bundle) -> int:
    """The pictures and files of messages, each once by its content."""
    rows = Attachment.objects.filter(owner=user, message__session__deleted_at=None).exclude(message=None)
    done = set[str]()
    for sha256 in rows.order_by().values_list("sha256", flat=True).distinct().iterator(500):
        path = attachments.files(user.pk) / sha256
        if sha256 not in done and path.is_file():
            done.add(sha256)
            with path.open("rb") as file:
                bundle.add(f"attachments/{sha256}", iter(lambda: file.read(2**18), b""))
    return len(done)


def _row(message: Message, first: dict[Any, int]) -> dict[str, Any]:
    reply = first.setdefault(message.run_id, message.pk) if message.run_id and message.run else None
    row = {
        "id": message.pk,
        "type": message.type,
        "content": message.content,
        "created_at": message.created_at.isoformat(),
        "thinking": message.thinking,
        "tool_call_id": message.tool_call_id,
        "tool_name": message.tool_name,
        "tool_data": message.tool_data,
        "error_code": message.error_code,
        "model": message.model_name,
        "input_tokens": message.input_tokens,
        "output_tokens": message.output_tokens,
        "version_of": message.version_of_id,
        "shelf": message.shelf_id,
        "reply": reply,
        "prompt": message.run.prompt_id if message.run else None,
        "off_record": message.off_record or None,
        "untrusted": message.untrusted or None,
        "silenced_at": message.silenced_at.isoformat() if message.silenced_at else None,
        "receipt": message.receipt,
        "attachments": [
            {"name": each.name, "file": f"attachments/{each.sha256}", "media_type": each.media_type}
            for each in message.attachments.all()
        ]
        or None,
    }
    return {key: value for key, value in row.items() if value not in ("", None)}
