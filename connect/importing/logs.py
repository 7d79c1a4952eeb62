"""Days' notes of an archive, into the daily logs: appended with a marker, never twice."""

import hashlib
from datetime import date

from django.utils import timezone

from connect.archives.values import ForeignNote, Kind
from connect.models import Import, Imported
from memory.dailylog import forgotten
from memory.manager import MemoryManager
from memory.storage import edits, log_entries
from memory.storage.entries import entries_of
from memory.storage.files import MemoryFileStorage
from memory.storage.log_entries import LogEntry, Marker
from memory.storage.markdown import lines_of, text_of, without_comments
from oneclaw.masking import mask
from people.models import User

IMPORT = "import"


def bring(user: User, note: ForeignNote, by: Import) -> int:
    """Append what a day's log does not say yet; how many entries came."""
    files = MemoryFileStorage(user)
    with files.lock():
        there = files.read_daily_log(note.day) or ""
        count = 0
        for marker, text in _entries(user, note, by):
            body = _left(user, text, there)
            if not body.strip():
                continue
            # Before the file: if we are killed in between, undo knows of it and a second try writes it.
            Imported.objects.get_or_create(
                owner=user,
                kind=note.kind,
                what=Imported.What.LOG,
                foreign_id=name_of(note.day, body),
                defaults={"by": by},
            )
            files.append_to_daily_log(note.day, log_entries.compose(marker, body))
            there = files.read_daily_log(note.day) or ""
            count += 1
    return count


def would_come(user: User, note: ForeignNote, by: Import) -> bool:
    there = MemoryFileStorage(user).read_daily_log(note.day) or ""
    return any(_left(user, text, there).strip() for _, text in _entries(user, note, by))


def _entries(user: User, note: ForeignNote, by: Import) -> list[tuple[Marker, str]]:
    if note.kind != Kind.ONECLAW:
        return [(_marker(by), without_comments(_without_title(note.text, note.day)))]
    found = log_entries.entries_of(note.text)
    return [(_remapped(user, entry, by) or _marker(by), entry.body) for entry in found]


def _marker(by: Import) -> Marker:
    return Marker(str(by.id), 0, 0, IMPORT, timezone.now().isoformat(timespec="seconds"), IMPORT)


def _remapped(user: User, entry: LogEntry, by: Import) -> Marker | None:
    """An entry's marker with the names that its chat and messages have here."""
    if entry.marker is None:
        return None
    chat = Imported.objects.filter(
        owner=user, kind=Kind.ONECLAW, what=Imported.What.CHAT, foreign_id=entry.marker.session
    ).first()
    if chat is None or chat.session_id is None:
        return None
    first, last = (chat.messages.get(str(id)) for id in (entry.marker.first, entry.marker.last))
    if first is None or last is None:
        # Messages that are gone: the entry is still about this chat.
        first = last = 0
    made = entry.marker
    return Marker(str(chat.session_id), first, last, made.trigger[:16], made.made[:40], made.by[:200])


def _without_title(text: str, day: date) -> str:
    """A note without a first heading that only repeats its date."""
    lines = lines_of(text.strip("\n"))
    if lines and lines[0].heading and day.isoformat() in lines[0].text:
        lines = lines[1:]
    return text_of(lines).strip("\n")


def _left(user: User, text: str, there: str) -> str:
    """What of a note is new here, may be written, and was not forgotten."""
    body = forgotten.left_of(user, mask(log_entries.inert(text)))
    plain = edits.normal(without_comments(there))
    if not plain or not body.strip():
        return body
    if edits.normal(body) in plain:
        return ""
    lines = lines_of(body)
    known = [item for item in entries_of(body) if edits.normal(item.content) in plain]
    doomed = {at for item in known for at in range(item.start, item.end)}
    left = text_of([line for at, line in enumerate(lines) if at not in doomed]).strip("\n")
    return left if entries_of(left) else ""


def name_of(day: date | str, body: str) -> str:
    plain = edits.normal(without_comments(body))
    return f"{day}:{hashlib.sha256(plain.encode('utf-8', 'replace')).hexdigest()[:40]}"


def take_back(user: User, by: Import) -> int:
    """Remove the entries that an import appended; how many there were. They can be put back for a while."""
    rows = Imported.objects.filter(by=by, what=Imported.What.LOG)
    names = set(rows.values_list("foreign_id", flat=True))
    days = sorted({name.partition(":")[0] for name in names})
    manager, count = MemoryManager(user), 0
    for day in days:

        def came(entry: LogEntry, day: str = day) -> bool:
            return name_of(day, entry.body) in names

        if removed := manager.remove_log_entries([day], came):
            count += len(removed.entries)
    rows.delete()
    return count
