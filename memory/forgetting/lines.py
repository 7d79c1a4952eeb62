"""Lines that a receipt shows: whether they still stand, and how each is edited, pinned or forgotten."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory.dailylog import removal
from memory.forgetting import acts
from memory.forgetting.holding import Holding, items, of_entry, of_message
from memory.index.sources.chats import remembered
from memory.injection.framing import one_line
from memory.longterm.memory import Author, LongTermMemory
from memory.models import Forgotten, RemovedEntries, Revision, Source
from memory.storage import edits, entries
from memory.storage.entries import EntryChanged, entries_of
from memory.storage.files import MemoryFileStorage
from memory.storage.sections import section_for
from oneclaw.outside import number
from people.models import User

GONE = "This is no longer in memory."


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A memory as a page shows it: what it says and where that was found."""

    source: str
    text: str
    date: str = ""
    # The message, of a chat.
    anchor: int | None = None

    @classmethod
    def of(cls, receipt: Mapping[str, Any]) -> "ShownLine":
        """A line as a receipt keeps it."""
        day, text = str(receipt.get("date") or ""), str(receipt.get("text", ""))
        return cls(str(receipt.get("source", "")), text, day, receipt.get("anchor"))


@dataclass(frozen=True, slots=True)
class LineChange:
    """What came of an action: the line's text now, a sentence, and what names its undo."""

    text: str
    told: str
    undo: str = ""


def still_there(user: User, lines: Sequence[ShownLine]) -> list[bool]:
    """Which lines memory still holds."""
    files = MemoryFileStorage(user)
    days = {line.date for line in lines if line.source == Source.DAILY_LOG}
    logs = {day: said(files.read_daily_log(day) or "") for day in days & set(files.list_daily_log_dates())}
    asked = [line.anchor for line in lines if line.source == Source.TRANSCRIPT and line.anchor]
    ids = set(remembered(user).filter(id__in=asked).values_list("id", flat=True)) if asked else set()
    memory = said(LongTermMemory(user).read())

    def stands(line: ShownLine) -> bool:
        if line.source == Source.TRANSCRIPT:
            return line.anchor in ids
        return said(line.text) in (logs.get(line.date, "") if line.source == Source.DAILY_LOG else memory)

    return [stands(line) for line in lines]


def place_of(user: User, line: ShownLine) -> Holding:
    """Where a line stands now; EntryChanged if it does no more."""
    wanted, found = said(line.text), list[Holding]()
    if line.source == Source.LONG_TERM:
        text = LongTermMemory(user).read()
        found = [of_entry(entry) for entry in entries_of(text) if wanted in said(entry.content)]
    elif line.source == Source.DAILY_LOG and line.date in MemoryFileStorage(user).list_daily_log_dates():
        found = items(user, [line.date], lambda _, item: wanted in said(item.content), most=1)
    elif line.source == Source.TRANSCRIPT:
        found = [of_message(message) for message in remembered(user).filter(id=line.anchor or 0)]
    if not found or not wanted:
        raise EntryChanged(GONE)
    return found[0]


def forget(user: User, line: ShownLine) -> LineChange:
    done = acts.forget(user, [place_of(user, line).ref])
    if done.row is None:
        raise EntryChanged(GONE)
    return LineChange(line.text, str(done), f"forgotten:{done.row.pk}")


def pin(user: User, line: ShownLine) -> LineChange:
    """Make a line a standing request, in its place if it is an entry of MEMORY.md."""
    place = place_of(user, line)
    words = one_line(line.text if place.kind == "chat" else place.text)

    def pinned(text: str) -> str:
        if place.kind == "entry":
            _, position, key = place.ref.split(":")
            return entries.edit(text, int(position), key, edits.requested(place.text))
        if edits.is_duplicate(text, words):
            return text
        return edits.insert(text, section_for(None, text), edits.requested(words))

    revision = LongTermMemory(user).change(pinned, Author.USER, "Pinned")
    if revision is None:
        return LineChange(words, "It is pinned already.")
    return LineChange(
        words, "Pinned: it is sent with every message, as your request.", f"revision:{revision.pk}"
    )


def edit(user: User, line: ShownLine, words: str) -> LineChange:
    """Correct a line where it stands. What was said in a chat stays said: its correction is an entry."""
    place = place_of(user, line)
    if place.kind == "log":
        removed = removal.edit_item(user, place.day, place.text, words)
        if removed is None:
            raise EntryChanged(GONE)
        return LineChange(words, "Saved in the daily log.", f"removed:{removed.pk}")
    if place.kind == "entry":
        _, position, key = place.ref.split(":")
        revision = LongTermMemory(user).change(
            lambda text: entries.edit(text, int(position), key, words), Author.USER, "Edited an entry"
        )
        return LineChange(words, "Saved in MEMORY.md.", f"revision:{revision.pk}" if revision else "")
    revision = LongTermMemory(user).change(
        lambda text: edits.insert(text, section_for(None, text), words), Author.USER, "Corrected a chat"
    )
    silenced = acts.silence(user, [place.message or 0])
    undo = [f"revision:{revision.pk}" if revision else "", *(f"silenced:{each}" for each in silenced)]
    return LineChange(
        words, "Saved in MEMORY.md; the message is off the record.", "+".join(filter(None, undo))
    )


def undo(user: User, names: str) -> None:
    """Take an action back by what it left; UndoError says why MEMORY.md can't be as it was."""
    for name in names.split("+"):
        kind, _, named = name.partition(":")
        if (key := number(named)) is None:
            continue
        if kind == "revision" and (row := Revision.objects.filter(owner=user, pk=key).first()):
            LongTermMemory(user).undo(row)
        elif kind == "forgotten" and (gone := Forgotten.objects.filter(owner=user, pk=key).first()):
            acts.undo(user, gone)
        elif kind == "removed" and (removed := RemovedEntries.objects.filter(owner=user, pk=key).first()):
            removal.put_back(user, removed)
        elif kind == "silenced":
            acts.unsilence(user, [key])


def said(text: str) -> str:
    """Text as it is compared: as one line of a prompt, whatever its case."""
    return edits.normal(one_line(text))
