"""The commit of a finished summary to the files: doing it again after a crash changes nothing."""

from memory.dailylog import unlogged
from memory.dailylog.summary import Fact
from memory.longterm.memory import LongTermMemory
from memory.models import PendingEntry, Revision
from memory.storage import edits, log_entries
from memory.storage.entries import entries_of
from memory.storage.files import MemoryFileStorage
from memory.storage.log_entries import Marker
from memory.storage.sections import section_for
from oneclaw.masking import mask
from people.models import User


def write(user: User, pending: PendingEntry) -> None:
    """The entry into its day's log, then its facts into MEMORY.md; each only if not there already."""
    write_entry(MemoryFileStorage(user), pending)
    facts = [Fact(mask(text), category) for text, category in pending.facts]
    if facts:
        reason = f"From a chat on {pending.day}"
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
    marker, body = marker_of(pending), mask(pending.body)
    with files.lock():
        log = files.read_daily_log(pending.day) or ""
        there = [found for found in unlogged.markers_of(log, marker.session) if overlap(found, marker)]
        if marker in there or (there and not pending.replaces):
            return False
        if there and not pending.body:
            # The old entry stays until it has a successor.
            return False
        if pending.replaces and there:
            head, entries = log_entries.split(log)
            kept = "".join(entry.raw for entry in entries if entry.marker not in there)
            new = f"{log_entries.compose(marker, body)}\n\n---\n\n"
            files.rewrite_daily_log(pending.day, head + ended(kept) + new)
        elif pending.body:
            files.append_to_daily_log(pending.day, log_entries.compose(marker, body))
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
