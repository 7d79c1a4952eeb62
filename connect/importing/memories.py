"""What other programs remembered, into MEMORY.md: one revision, nothing twice, forgotten or secret."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from connect.archives.values import (
    ForeignMemory,
    ForgottenTraces,
    Kind,
    MemoryFile,
    Redated,
    Skipped,
    title_of,
)
from connect.models import Import, Imported
from memory.dailylog import forgotten
from memory.longterm import dates
from memory.longterm.dates import Saying
from memory.manager import MemoryManager, UndoError
from memory.models import EntryUse, Forgotten, Revision
from memory.storage import edits
from memory.storage.entries import entries_of
from memory.storage.sections import USER_REQUESTED, section_for
from oneclaw.masking import kind_of_secret
from people.models import User

MOST = 2_000  # entries of one import
FORGOTTEN = "You had this forgotten here, and it stays forgotten."
MOST_ENTRY = 2_000  # characters of one of them
MOST_SHOWN = 80  # of them on a page that says what is odd about one


@dataclass(frozen=True, slots=True)
class Remembered:
    """An entry to be: its words, its section, when it was said."""

    text: str
    section: str = "Notes"
    day: date | None = None
    odd_date: str = ""


@dataclass(slots=True)
class Memories:
    """All that an archive remembers, gathered until it is written at once."""

    entries: list[Remembered] = field(default_factory=list)
    # The text of an archive of OneClaw's own, which an empty MEMORY.md takes as it is.
    whole: str = ""
    own: Sequence[Mapping[str, Any]] = ()
    skipped: list[Skipped] = field(default_factory=list)
    redated: list[Redated] = field(default_factory=list)

    def add(self, item: ForeignMemory | MemoryFile) -> None:
        found = [_one(item)] if isinstance(item, ForeignMemory) else list(_all(item))
        if isinstance(item, MemoryFile) and item.kind == Kind.ONECLAW:
            self.whole, self.own = item.text, item.entries
        room = MOST - len(self.entries)
        if len(found) > room:
            self.skipped.append(Skipped("Memories", f"Only the first {MOST:,} are taken."))
        self.entries += found[: max(room, 0)]

    def accepted(self, user: User, text: str) -> list[Remembered]:
        """Those that MEMORY.md does not say yet and may say; the others are noted with why."""
        have = {dates.words_of(entry.text) for entry in entries_of(text)}
        plain = edits.normal(text)
        gone = forgotten.among(user, [entry.text for entry in self.entries])
        found = dict[str, Remembered]()
        for entry in self.entries:
            words = dates.words_of(entry.text)
            if words in have or words in found or _is_within(plain, entry.text):
                continue
            if entry.text in gone:
                self.skipped.append(Skipped("A memory", FORGOTTEN))
            elif kind := kind_of_secret(entry.text):
                self.skipped.append(Skipped("A memory", f"It contains {kind}: no secret is kept."))
            else:
                found[words] = entry
        self.redated = [
            Redated(title_of(entry.text)[:MOST_SHOWN], f"Its date can't be ({entry.odd_date}): it gets none.")
            for entry in found.values()
            if entry.odd_date
        ]
        return list(found.values())

    def write(self, user: User, by: Import, manager: MemoryManager | None = None) -> int:
        """Put them into MEMORY.md as one revision; how many came. Doing it again adds nothing."""
        if not self.entries:
            return 0
        manager = manager or MemoryManager(user)
        came = list[Remembered]()

        def merged(text: str) -> str:
            came[:] = self.accepted(user, text)
            all_of_it = len(came) == len({dates.words_of(each.text) for each in self.entries})
            if self.whole.strip() and not text.strip() and all_of_it:
                return self.whole
            for entry in came:
                text = edits.insert(text, entry.section, entry.text)
            return text

        # Named by the import, so that undo finds the revision even if we are killed right after it.
        manager.long_term.change(merged, Revision.Author.IMPORT, f"Imported from {by.label}"[:200], by.id)
        dates.note(user, {each.text: Saying(each.day) for each in came if each.day})
        self._date(user, came)
        return len(came)

    def _date(self, user: User, came: Sequence[Remembered]) -> None:
        """What an archive of OneClaw's own knows of entries: when they were said, how often used."""
        if not self.own:
            return
        new = {dates.words_of(entry.text) for entry in came}
        rows = [row for row in self.own if dates.words_of(str(row.get("entry", ""))) in new]
        dates.imported(user, rows)
        used = list[EntryUse]()
        for row in rows:
            try:
                words = dates.words_of(str(row["entry"]))
                days, last = int(row["days"]), date.fromisoformat(row["last_used"])
            except (KeyError, TypeError, ValueError):
                continue
            used.append(EntryUse(owner=user, words=words, days=min(max(days, 1), 100_000), last_day=last))
        EntryUse.objects.bulk_create(used, ignore_conflicts=True)


def _one(memory: ForeignMemory) -> Remembered:
    return Remembered(_bare(memory.text), section_for(memory.category), memory.day, memory.odd_date)


def _all(file: MemoryFile) -> list[Remembered]:
    if file.kind == Kind.ONECLAW:
        return [Remembered(each.text, each.section or "Notes") for each in entries_of(file.text)]
    category = "profile" if file.name.casefold().endswith("user.md") else "notes"
    return [
        Remembered(_bare(each.content), section_for(each.section or category))
        for each in entries_of(file.text)
    ]


def _bare(text: str) -> str:
    """Words that stand as a note: nobody else's file speaks as the user's own request."""
    return text.strip().removeprefix(USER_REQUESTED).strip()[:MOST_ENTRY]


def _is_within(plain: str, text: str) -> bool:
    wanted = edits.normal(text)
    return len(wanted) > edits.DUPLICATE_LENGTH and wanted in plain


def keep_forgotten(user: User, by: Import, item: ForgottenTraces) -> int:
    """Let what was forgotten where the archive was made stay forgotten here too; how many traces came."""
    digest = forgotten.digest_of(item.traces)
    made = Imported.objects.get_or_create(
        owner=user,
        kind=Kind.ONECLAW,
        what=Imported.What.FORGOTTEN,
        foreign_id=digest,
        defaults={"by": by},
    )[1]
    if not made:
        return 0
    traces = forgotten.from_elsewhere(item.key, item.traces)
    row = Forgotten.objects.create(owner=user, traces=traces)
    Imported.objects.filter(owner=user, foreign_id=digest).update(last_message=row.pk)
    return len(traces)


def take_back(user: User, by: Import) -> list[str]:
    """Undo the revisions that an import made; sentences on what could not be taken back."""
    manager, problems = MemoryManager(user), list[str]()
    for revision in Revision.objects.filter(
        owner=user, author=Revision.Author.IMPORT, session_id=by.id, undone_by=None
    ):
        try:
            manager.undo(revision.pk)
        except UndoError as error:
            problems.append(f"MEMORY.md keeps what came with it: {error}")
    rows = Imported.objects.filter(by=by, what=Imported.What.FORGOTTEN)
    made = [row for row in rows.values_list("last_message", flat=True) if row]
    Forgotten.objects.filter(owner=user, pk__in=made).delete()
    rows.delete()
    return problems
