"""Repeats across a file that is too long for one call: entries alike, wherever they stand, side by side."""

from collections.abc import Iterator, Mapping
from datetime import date

from memory.compaction.parts import portions
from memory.dailylog import summary
from memory.dailylog.known import Known, Note
from memory.longterm.dates import words_of
from memory.longterm.likeness import Likeness
from memory.prompts import unfenced
from memory.storage import entries as entry_edits
from memory.storage.entries import Entry, entries_of
from memory.storage.markdown import bare_lines

ALIKE = (
    0.6  # cosine above which two entries are shown side by side; whether they repeat is the model's to say
)
COMPARED = 2_000  # entries; to compare more of them with each other takes too much memory
LARGEST = 12  # entries in one group


def groups(text: str, limit: int, likeness: Likeness) -> Iterator[list[Entry]]:
    """Entries that are like one in another portion, as many of them together as a call may hold."""
    # An entry too long to be shown whole can't be merged.
    found = [entry for entry in entries_of(text) if Note(entry.content, "").is_whole][:COMPARED]
    portion_at = list[int]()
    for number, portion in enumerate(portions(text, limit)):
        portion_at += [number] * len(bare_lines(portion.text))
    homes = [portion_at[entry.start] for entry in found]
    near = likeness.pairs([entry.content for entry in found], ALIKE)
    pairs = [(one, other) for one, other in near if homes[one] != homes[other]]
    held, size = list[Entry](), 0
    for group in joined(pairs):
        entries = [found[at] for at in group]
        length = sum(len(entry.text) + 60 for entry in entries)
        if held and size + length > limit:
            yield held
            held, size = [], 0
        held += entries
        size += length
    if held:
        yield held


def joined(pairs: list[tuple[int, int]]) -> list[list[int]]:
    """Pairs that share a member as one group, up to a size."""
    home = dict[int, list[int]]()
    for one, other in pairs:
        mine, yours = home.setdefault(one, [one]), home.setdefault(other, [other])
        if mine is yours or len(mine) + len(yours) > LARGEST:
            continue
        mine += yours
        home |= dict.fromkeys(yours, mine)
    unique = {id(group): group for group in home.values() if len(group) > 1}
    return [sorted(group) for group in unique.values()]


def listed(group: list[Entry], days: Mapping[str, date]) -> Known:
    """The entries as a numbered list with sections and dates."""
    said = (days.get(words_of(entry.text)) for entry in group)
    return Known(
        tuple(
            Note(entry.content, entry.section, day.isoformat() if day else "")
            for entry, day in zip(group, said, strict=True)
        )
    )


def merged(text: str, answer: str, known: Known) -> str:
    """The text after the model's replacements and removals; a request of the user's is never one of them."""
    items = summary.items_of(unfenced(answer).split("\n"))
    for fact in summary.read_facts(items, known, most_removed=1.0).facts:
        wanted = set(fact.replaces)
        old = [entry for entry in entries_of(text) if entry.content in wanted and not entry.user_requested]
        if fact.text and len(old) < 2:
            # One entry in new words is no merge.
            continue
        for entry in sorted(old[1:] if fact.text else old, key=lambda each: -each.position):
            text = entry_edits.delete(text, entry.position, entry.key)
        if fact.text:
            text = entry_edits.edit(text, old[0].position, old[0].key, fact.text)
    return text
