"""Rebasing a compaction on what was saved, updated or edited while the model was at work."""

from collections import Counter

from memory.compaction.refusals import KEPT_SHARE
from memory.longterm.likeness import WordWeights, content_words
from memory.storage import edits, entries
from memory.storage.edits import normal
from memory.storage.entries import Entry, entries_of


def replay(base: str, compacted: str, current: str) -> str | None:
    """`compacted`, which was made from `base`, with all that happened between `base` and `current`.

    None if an entry was moved, or changed that the compaction has merged with others that still hold: then
    only another compaction, of the current text, can tell what is right.
    """
    if current == base:
        return compacted
    if moved(base, current):
        return None
    gone, come = difference(base, current), difference(current, base)
    text: str | None = compacted
    for entry in gone:
        text = without(text, entry, base, current) if text is not None else None
    if text is None:
        return None
    for entry in come:
        if normal(entry.content) not in {normal(each.content) for each in entries_of(text)}:
            text = edits.insert(text, entry.section or "Notes", entry.text)
    return text


def moved(base: str, current: str) -> bool:
    """Whether an entry that both have stands in another section by now, or its section has another name."""
    were: dict[str, set[str]] = {}
    for entry in entries_of(base):
        were.setdefault(normal(entry.content), set()).add(entry.section)
    return any(
        entry.section not in were.get(normal(entry.content), {entry.section}) for entry in entries_of(current)
    )


def difference(one: str, other: str) -> list[Entry]:
    """Entries of the one that the other does not have, as often as they are missing."""
    there = Counter(normal(entry.content) for entry in entries_of(other))
    missing = list[Entry]()
    for entry in entries_of(one):
        key = normal(entry.content)
        if there[key]:
            there[key] -= 1
        else:
            missing.append(entry)
    return missing


def without(text: str, gone: Entry, base: str, current: str) -> str | None:
    """The text without an entry that was taken out of the file, in whatever words it has it."""
    found = entries_of(text)
    for entry in found:
        if normal(entry.content) == normal(gone.content):
            return entries.delete(text, entry.position, entry.key)
    weights = WordWeights(entry.text for entry in entries_of(base))
    heirs = [e for e in found if weights.share(gone.text, set(content_words(e.text))) > KEPT_SHARE]
    for heir in heirs:
        words = set(content_words(heir.text))
        for still in entries_of(current):
            if weights.share(still.text, words) > KEPT_SHARE:
                return None
        text = entries.delete(text, heir.position, heir.key)
    return text
