"""Putting a finished summary into the files, so that doing it again after a crash changes nothing."""

from memory import edits, logentries
from memory.entries import entries_of
from memory.logentries import Marker
from memory.longterm import LongTermMemory
from memory.models import PendingEntry, Revision
from memory.sections import section_for
from memory.storage import MemoryFileStorage
from memory.summary import Fact
from people.models import User


def write(user: User, pending: PendingEntry) -> None:
    """The entry into its day's log, then its facts into MEMORY.md; each only if not there already."""
    write_entry(MemoryFileStorage(user), pending)
    facts = [Fact(text, category) for text, category in pending.facts]
    if facts:
        reason = f"From the chat of {pending.day}"
        LongTermMemory(user).change(
            lambda text: with_facts(text, facts), Revision.Author.DAILY_LOG, reason, pending.session_id
        )


def marker_of(pending: PendingEntry) -> Marker:
    return Marker(
        session=str(pending.session_id),
        first=pending.first,
        last=pending.last,
        trigger=pending.trigger,
        made=pending.made_at.isoformat(timespec="microseconds"),
        by=pending.by,
    )


def write_entry(files: MemoryFileStorage, pending: PendingEntry) -> bool:
    """Append the entry, unless these messages have one. False if nothing was written."""
    marker = marker_of(pending)
    with files.lock():
        log = files.read_daily_log(pending.day) or ""
        there = [found for found in logentries.markers_of(log, marker.session) if overlap(found, marker)]
        if marker in there or (there and not pending.replaces):
            return False
        if there and not pending.body:
            # The old entry stays until it has a successor.
            return False
        if pending.replaces and there:
            head, entries = logentries.split(log)
            kept = "".join(entry.raw for entry in entries if entry.marker not in there)
            new = f"{logentries.compose(marker, pending.body)}\n\n---\n\n"
            files.rewrite_daily_log(pending.day, head + ended(kept) + new)
        elif pending.body:
            files.append_to_daily_log(pending.day, logentries.compose(marker, pending.body))
    return True


def overlap(one: Marker, other: Marker) -> bool:
    return one.first <= other.last and other.first <= one.last


def ended(text: str) -> str:
    """The text with a blank line at its end, unless it is empty."""
    return text if not text or text.endswith("\n\n") else text.rstrip("\n") + "\n\n"


def with_facts(text: str, facts: list[Fact]) -> str:
    """MEMORY.md with each fact in its section; what is there in the same words is left out."""
    for fact in facts:
        same = edits.normal(fact.text)
        known = (edits.normal(entry.content) for entry in entries_of(text))
        if not edits.is_duplicate(text, fact.text) and same not in known:
            text = edits.insert(text, section_for(fact.category), fact.text)
    return text
