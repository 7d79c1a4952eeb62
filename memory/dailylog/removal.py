"""Removal of entries from daily logs at their owner's request, and its undo."""

from collections.abc import Callable, Iterable
from datetime import date, timedelta
from uuid import UUID

from django.utils import timezone

from memory.dailylog.commit import ended, overlap
from memory.models import RemovedEntries
from memory.storage import edits, log_entries
from memory.storage.entries import Entry, entries_of
from memory.storage.files import MemoryFileStorage
from memory.storage.log_entries import LogEntry
from memory.storage.markdown import bare_lines, is_rule
from people.models import User

# How long an undo may take.
KEPT = timedelta(days=30)


def remove_entries_of(user: User, *session_ids: UUID | str) -> RemovedEntries | None:
    """All entries that came from these chats, found by their markers."""
    wanted = {str(each) for each in session_ids}
    days = MemoryFileStorage(user).list_daily_log_dates()
    return remove(user, days, lambda entry: entry.marker is not None and entry.marker.session in wanted)


def remove(
    user: User, days: Iterable[date | str], wanted: Callable[[LogEntry], bool]
) -> RemovedEntries | None:
    """Every wanted entry of these days; None if there is none. A log with no entry left goes too."""
    files, removed, left = MemoryFileStorage(user), list[dict[str, str]](), dict[date | str, str]()
    with files.lock():
        for day in days:
            head, entries = log_entries.split(files.read_daily_log(day) or "")
            gone = [entry for entry in entries if wanted(entry)]
            if gone:
                kept = [entry.raw for entry in entries if not wanted(entry)]
                removed += _remembered(str(day), entries, gone)
                left[day] = head + "".join(kept) if kept else ""
        if not removed:
            return None
        RemovedEntries.objects.filter(owner=user, created_at__lt=timezone.now() - KEPT).delete()
        # Before the first file is touched: if one can't be written, the others can be put back.
        row = RemovedEntries.objects.create(owner=user, entries=removed)
        for day, text in left.items():
            if text:
                files.rewrite_daily_log(day, text)
            else:
                files.remove_daily_log(day)
    return row


def remove_items(
    user: User, days: Iterable[str], wanted: Callable[[str, LogEntry, Entry], bool]
) -> tuple[RemovedEntries | None, list[str]]:
    """Single items out of these days' entries, and their texts. An entry left empty goes whole."""
    files, removed, texts = MemoryFileStorage(user), list[dict[str, str]](), list[str]()
    left = dict[str, str]()
    with files.lock():
        for day in days:
            head, found = log_entries.split(files.read_daily_log(day) or "")
            kept = list[str]()
            for entry in found:
                items = entries_of(entry.body)
                doomed = [item for item in items if wanted(day, entry, item)]
                raw, gone = _without_items(entry, doomed, all_of_it=len(doomed) == len(items))
                texts += gone
                if gone:
                    removed.append({"day": day, "raw": entry.raw, "before": "", "instead": raw})
                kept.append(raw)
            if any(saved["day"] == day for saved in removed):
                left[day] = head + "".join(kept) if "".join(kept).strip() else ""
        if not removed:
            return None, []
        row = RemovedEntries.objects.create(owner=user, entries=removed)
        for day, text in left.items():
            if text:
                files.rewrite_daily_log(day, text)
            else:
                files.remove_daily_log(day)
    return row, texts


def edit_item(user: User, day: str, content: str, words: str) -> RemovedEntries | None:
    """Other words for one item of a day's log; None if it is there no more. Undone as a removal is."""
    files = MemoryFileStorage(user)
    with files.lock():
        log = files.read_daily_log(day) or ""
        for entry in log_entries.split(log)[1]:
            item = next((each for each in entries_of(entry.body) if each.content == content), None)
            if item is None or item.text not in entry.raw:
                continue
            mark = item.text[: len(item.text) - len(item.content)]
            new = mark + log_entries.inert(words).replace("\n", "\n  ")
            raw = entry.raw.replace(item.text, new, 1)
            saved = {"day": day, "raw": entry.raw, "before": "", "instead": raw}
            row = RemovedEntries.objects.create(owner=user, entries=[saved])
            files.rewrite_daily_log(day, log.replace(entry.raw, raw, 1))
            return row
    return None


def _without_items(entry: LogEntry, doomed: list[Entry], all_of_it: bool) -> tuple[str, list[str]]:
    """An entry's text in the file without some of its items, and what those said."""
    if doomed and all_of_it:
        return "", [item.content for item in doomed]
    raw, gone = entry.raw, list[str]()
    for item in doomed:
        at = raw.find(item.text)
        if at >= 0:
            raw = edits.take_out(raw, at, at + len(item.text))
            gone.append(item.content)
    return raw, gone


def _remembered(day: str, entries: list[LogEntry], gone: list[LogEntry]) -> list[dict[str, str]]:
    """What is needed to put each back where it was: the nearest entry after it that stays."""
    found, after = list[dict[str, str]](), ""
    for entry in reversed(entries):
        if entry in gone:
            found.insert(0, {"day": day, "raw": entry.raw, "before": after})
        else:
            after = entry.raw
    return found


def put_back(user: User, removed: RemovedEntries) -> int:
    """Undo a removal; returns how many entries came back."""
    files, count = MemoryFileStorage(user), 0
    if removed.owner_id != user.pk:
        return 0
    with files.lock():
        for saved in removed.entries:
            log = files.read_daily_log(saved["day"])
            if log and saved["raw"].strip() in log:
                continue
            if log and (instead := saved.get("instead", "")):
                # Only some items had gone from this entry.
                if instead not in log:
                    continue
                files.rewrite_daily_log(saved["day"], log.replace(instead, saved["raw"], 1))
                count += 1
                continue
            if log and _written_again(log, saved["raw"]):
                continue
            if not log:
                files.append_to_daily_log(saved["day"], _without_rule(saved["raw"]))
            else:
                files.rewrite_daily_log(saved["day"], _inserted(log, saved["raw"], saved["before"]))
            count += 1
    removed.delete()
    return count


def _written_again(log: str, raw: str) -> bool:
    """Whether a log has a newer entry of the same messages: the day was summarised again since."""
    markers = [entry.marker for entry in log_entries.entries_of(raw) if entry.marker]
    return any(
        overlap(marker, other) for marker in markers for other in log_entries.markers_of(log, marker.session)
    )


def put_back_entries_of(user: User, session_id: UUID | str) -> int:
    """The newest removal that held entries of this chat, undone."""
    for removed in RemovedEntries.objects.filter(owner=user)[:100]:
        if any(log_entries.markers_of(saved["raw"], session_id) for saved in removed.entries):
            return put_back(user, removed)
    return 0


def _inserted(log: str, raw: str, before: str) -> str:
    at = log.find(before) if before else -1
    return ended(log) + raw if at < 0 else log[:at] + ended(raw) + log[at:]


def _without_rule(raw: str) -> str:
    lines = bare_lines(raw.rstrip())
    return "\n".join(lines[:-1] if lines and is_rule(lines[-1]) else lines).rstrip()
