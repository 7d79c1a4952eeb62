"""The commit of a finished summary to the files: doing it again after a crash changes nothing."""

from collections.abc import Iterable
from dataclasses import replace

from memory.dailylog import forgotten, unlogged
from memory.dailylog.summary import Fact, Summary
from memory.jobs.ledger import Trigger
from memory.longterm import dates
from memory.longterm.dates import DatedEntry, Saying
from memory.longterm.likeness import Likeness
from memory.longterm.memory import LongTermMemory
from memory.models import PendingEntry, Revision
from memory.storage import edits, log_entries
from memory.storage import entries as entry_edits
from memory.storage.entries import Entry, entries_of
from memory.storage.files import MemoryFileStorage
from memory.storage.log_entries import Marker
from memory.storage.sections import section_for
from oneclaw.masking import mask
from people.models import User

LOOKED_BACK = 20  # revisions in which a vanished entry is looked for


def write(user: User, pending: PendingEntry) -> list[str]:
    """The entry into its day's log, then its facts into MEMORY.md; each only if not there already.

    Returns what was not done as the model wanted it, in sentences for the user.
    """
    write_entry(MemoryFileStorage(user), pending)
    found, again = facts_of(pending), again_of(pending)
    facts = accepted(user, found)
    left_out = ["Something you had asked to forget was left out."] if len(facts) < len(found) else []
    saying = Saying(pending.day, pending.session_id)
    if not facts and not again:
        return left_out
    # What came from elsewhere is old: it changes nothing of which nobody knows when it was said.
    merging = Merging(user, saying, keep_undated=pending.trigger == Trigger.IMPORT)
    LongTermMemory(user).change(
        lambda text: merging.merged(text, facts),
        Revision.Author.DAILY_LOG,
        f"From a chat on {pending.day}",
        pending.session_id,
        said=saying,
    )
    dates.note(user, dict.fromkeys([*merging.again, *again], saying))
    return [*left_out, *merging.notes]


def accepted(user: User, facts: list[Fact]) -> list[Fact]:
    """Those that may become memory: the one place where a fact can be stopped before it is written."""
    facts = [replace(fact, text=mask(fact.text)) for fact in facts]
    again = forgotten.among(user, [fact.text for fact in facts])
    return [fact for fact in facts if (fact.text or fact.replaces) and fact.text not in again]


def facts_of(pending: PendingEntry) -> list[Fact]:
    """The facts of a summary; rows from before replacements have a text and a category only."""
    return [
        Fact(row[0], row[1], tuple(row[2]) if len(row) > 2 else ())
        for row in pending.facts
        if isinstance(row, list)
    ]


def again_of(pending: PendingEntry) -> list[str]:
    return [words for row in pending.facts if isinstance(row, dict) for words in row.get("again", [])]


def stored(found: Summary) -> list[object]:
    """A summary's facts as a row keeps them until they are in the file."""
    facts: list[object] = [[fact.text, fact.category, list(fact.replaces)] for fact in found.facts]
    return [*facts, {"again": list(found.again)}] if found.again else facts


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
    marker, body = marker_of(pending), forgotten.left_of(files.user, mask(pending.body))
    with files.lock():
        log = files.read_daily_log(pending.day) or ""
        there = [found for found in unlogged.markers_of(log, marker.session) if overlap(found, marker)]
        if marker in there or (there and not pending.replaces):
            return False
        if there and not body:
            # The old entry stays until it has a successor.
            return False
        if pending.replaces and there:
            head, entries = log_entries.split(log)
            kept = "".join(entry.raw for entry in entries if entry.marker not in there)
            new = f"{log_entries.compose(marker, body)}\n\n---\n\n"
            files.rewrite_daily_log(pending.day, head + ended(kept) + new)
        elif body:
            files.append_to_daily_log(pending.day, log_entries.compose(marker, body))
    return True


def overlap(one: Marker, other: Marker) -> bool:
    return one.first <= other.last and other.first <= one.last


def ended(text: str) -> str:
    """The text with a blank line at its end, unless it is empty."""
    return text if not text or text.endswith("\n\n") else text.rstrip("\n") + "\n\n"


class Merging:
    """Puts facts into MEMORY.md: additions, replacements in place, removals. In doubt it adds."""

    def __init__(
        self, user: User, saying: Saying, likeness: Likeness | None = None, *, keep_undated: bool = False
    ) -> None:
        self.user, self.saying, self.keep_undated = user, saying, keep_undated
        self.likeness = likeness or Likeness()
        self.notes = list[str]()
        # Entries whose words a fact only repeats.
        self.again = list[str]()

    def merged(self, text: str, facts: Iterable[Fact]) -> str:
        """The text with each fact in it; computed under the lock, on the text as it is by then."""
        self.notes, self.again = [], []
        for fact in facts:
            text = self._with(text, fact)
        self.notes = list(dict.fromkeys(self.notes))
        return text

    def _with(self, text: str, fact: Fact) -> str:
        there = {dates.words_of(each.entry.text): each for each in dates.dated(self.user, text)}
        named = [there.get(dates.words_of(words)) for words in fact.replaces]
        if any(each and self._is_later(each) for each in named):
            self.notes.append("An entry that was said later than this chat was left as it is.")
            return text
        old = [each.entry for each in named if each and self._may_go(each.entry, fact)]
        same = there.get(dates.words_of(fact.text)) if fact.text else None
        if same is None and fact.text and edits.is_duplicate(text, fact.text):
            same = next(
                (each for each in there.values() if edits.is_duplicate(each.entry.text, fact.text)), None
            )
        if same:
            self.again.append(same.entry.content)
            return removed(text, [entry for entry in old if entry.text != same.entry.text])
        if not fact.text:
            return removed(text, old)
        if not old and fact.replaces and None in named:
            return self._after_another(text, fact)
        if not old:
            return edits.insert(text, section_for(fact.category), fact.text)
        # In the place of the first; the others go before it, from the end, so that places stay true.
        text = removed(text, old[1:])
        return entry_edits.edit(text, old[0].position, old[0].key, fact.text)

    def _is_later(self, each: DatedEntry) -> bool:
        return each.said.day > self.saying.day if each.said else self.keep_undated

    def _may_go(self, entry: Entry, fact: Fact) -> bool:
        if entry.user_requested:
            self.notes.append("Something you asked to remember was not changed by a summary.")
            return False
        if fact.text and not self.likeness.related(entry.content, fact.text):
            self.notes.append(
                "A new fact was added beside an entry that it should replace: they are too unlike."
            )
            return False
        return True

    def _after_another(self, text: str, fact: Fact) -> str:
        """The entry has been replaced or removed since the model saw it: by whom, and which word is later?"""
        self.notes.append("An entry had been changed by something else before this summary could replace it.")
        wanted = {dates.words_of(words) for words in fact.replaces}
        there = {dates.words_of(entry.text): entry for entry in entries_of(text)}
        for revision in Revision.objects.filter(owner=self.user)[:LOOKED_BACK]:
            before = {dates.words_of(entry.text) for entry in entries_of(revision.before)}
            after = {dates.words_of(entry.text) for entry in entries_of(revision.after)}
            if not wanted & before or wanted & after:
                continue
            heirs = [there[words] for words in after - before if words in there]
            alike = [heir for heir in heirs if self._is_heir(heir, fact)]
            if alike:
                return entry_edits.edit(text, alike[0].position, alike[0].key, fact.text)
            break
        return edits.insert(text, section_for(fact.category), fact.text)

    def _is_heir(self, entry: Entry, fact: Fact) -> bool:
        return not entry.user_requested and self.likeness.related(entry.content, fact.text)


def removed(text: str, old: Iterable[Entry]) -> str:
    """The text without these entries, taken out from its end so that places stay true."""
    for entry in sorted(old, key=lambda each: -each.position):
        text = entry_edits.delete(text, entry.position, entry.key)
    return text
