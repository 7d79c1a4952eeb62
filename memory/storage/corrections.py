"""One correction of MEMORY.md: the entry that some words name is reworded or deleted whole. All pure."""

import re
from dataclasses import dataclass

from memory.storage import edits, entries
from memory.storage.entries import Entry, entries_of
from memory.storage.markdown import heading_of, lines_of, text_of, without_comments, without_mark
from memory.storage.sections import USER_REQUESTED
from oneclaw.masking import MASK, mask, secrets_in
from oneclaw.text import is_paired


class NotAnEntry(ValueError):
    """The words name a heading, or can't be put in place; the message says what to do instead."""


@dataclass(frozen=True, slots=True)
class Correction:
    """The text after it, how many entries the words fit (one is success), and what went and came."""

    text: str
    count: int
    before: tuple[str, ...] = ()
    after: str = ""


def correct(text: str, old: str, new: str) -> Correction:
    """The text with the one entry reworded that `old` names; with an empty `new`, without that entry.

    The words are found as a prompt shows them: without comments, secrets masked, whatever their spacing.
    """
    old, new = old.strip(), new.strip()
    wanted = words_of(old)
    if not wanted:
        return Correction(text, 0)
    if any(heading_of(line.strip()) for line in old.splitlines()):
        raise NotAnEntry("Headings and the title stay. Name the words of one entry.")
    found = entries_of(text)
    # With its list mark an entry is named from its first word on, so one of just these words is meant.
    whole = [entry for entry in found if words_of(entry.text) == wanted] if edits.is_listed(old) else []
    fitting = whole or [entry for entry in found if wanted in words_of(entry.text)]
    if not fitting or (len(fitting) == 1 and not holds(words_of(fitting[0].text), wanted)):
        return several(text, old, new)
    if len(fitting) > 1:
        return Correction(text, len(fitting), tuple(entry.text for entry in fitting))
    (entry,) = fitting
    if not new:
        return Correction(entries.delete(text, entry.position, entry.key), 1, (entry.text,))
    return reworded(text, entry, old, with_secrets(entry, new))


def words_of(text: str) -> str:
    """A text as it is compared: as it stands in a prompt, folded, without list mark and spacing."""
    shown = mask(without_comments(text)).replace("‹", "<").replace("< |", "<|")
    return edits.normal(without_mark(shown.strip()))


def bare(entry: Entry) -> str:
    return entry.content.removeprefix(USER_REQUESTED).strip()


def holds(text: str, wanted: str) -> bool:
    """Whether the wanted words stand in a text as words of their own: `tea` is not in `team`."""
    at = text.find(wanted)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(wanted) : at + len(wanted) + 1]
        if not (runs_on(before, wanted[0]) or runs_on(wanted[-1], after)):
            return True
        at = text.find(wanted, at + 1)
    return False


def runs_on(one: str, other: str) -> bool:
    """Whether two neighbouring letters belong to one word; scripts without spaces don't tell."""
    return one.isalnum() and other.isalnum() and not (is_paired(one) or is_paired(other))


def several(text: str, old: str, new: str) -> Correction:
    """Entries that stand below each other and are named by one text, as a file has them."""
    spots = edits.occurrences(text, old)
    if len(spots) != 1:
        return Correction(text, len(spots))
    start, end = spots[0]
    lines = lines_of(text)
    named = [
        entry
        for entry in entries_of(text)
        if len(text_of(lines[: entry.start])) < end and len(text_of(lines[: entry.end])) > start
    ]
    if len(named) < 2:
        return Correction(text, 0)
    before = tuple(entry.text for entry in named)
    if new:
        return Correction(edits.replace(text, old, new)[0], 1, before, new)
    for entry in reversed(named):
        text = entries.delete(text, entry.position, entry.key)
    return Correction(text, 1, before)


def reworded(text: str, entry: Entry, old: str, new: str) -> Correction:
    """The entry with the old words replaced where they stand in it; all of it, where they are all of it."""
    changed, count = edits.replace(entry.text, old, new)
    if count > 1:
        return Correction(text, count, (entry.text,) * count)
    if count == 0 and words_of(old) in (words_of(entry.text), words_of(bare(entry))):
        kept = f"{USER_REQUESTED} {new}" if entry.user_requested and USER_REQUESTED not in new else new
        after = entries.edit(text, entry.position, entry.key, kept)
        return Correction(after, 1, (entry.text,), kept)
    if count == 0:
        # Only spacing or case differ from the file.
        spaced = re.compile(r"\s++".join(map(re.escape, without_mark(old).split())), re.IGNORECASE)
        places = list(spaced.finditer(entry.text))
        if len(places) != 1:
            return Correction(text, len(places))
        changed, _ = edits.replace(entry.text, places[0][0], new)
    lines = lines_of(text)
    head = text_of(lines[: entry.start])
    return Correction(head + changed + text[len(head) + len(entry.text) :], 1, (entry.text,), changed)


def with_secrets(entry: Entry, new: str) -> str:
    """New words in which each mask is again the secret that the entry has in its place."""
    hidden = [entry.text[secret.start : secret.end] for secret in secrets_in(entry.text)]
    if MASK not in new or not hidden:
        return new
    if new.count(MASK) != len(hidden):
        raise NotAnEntry(f"This entry holds a secret. Keep each {MASK} as it is, or leave all of them out.")
    for secret in hidden:
        new = new.replace(MASK, secret, 1)
    return new
