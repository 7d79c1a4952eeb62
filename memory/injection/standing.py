"""MEMORY.md's part of a prompt: what the user asked for, then notes; the least used give way."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from memory.injection.framing import NOTES_INTRO, REQUESTS, REQUESTS_INTRO, demoted, framed
from memory.longterm.dates import words_of
from memory.longterm.memory import INJECTED_LINES, first_lines
from memory.storage import edits
from memory.storage.entries import Entry, entries_of
from memory.storage.markdown import heading_of, item_words, raw_lines
from memory.storage.sections import HEADER, USER_REQUESTED
from oneclaw.tokens import quarters

MORE = "[{} more lines are in MEMORY.md]"
# How much an entry is used, by the name of its words: the larger, the longer it stays.
Use = Callable[[Iterable[str]], dict[str, tuple[int, ...]]]


@dataclass(frozen=True, slots=True)
class Offered:
    """Lines of MEMORY.md that may go into a prompt, the entries they make, and how many lines are beyond."""

    lines: list[str]
    entries: list[Entry]
    beyond: int = 0

    @property
    def count(self) -> int:
        return len(self.lines) + self.beyond


@dataclass(frozen=True, slots=True)
class StandingPart:
    """The part as text, which of the offered lines are in it, and how many that say something are not."""

    text: str = ""
    used: tuple[int, ...] = ()
    left_out: int = 0


def offered(text: str) -> Offered:
    """The first lines (RFC-013), without the file's own title, and every request of the user's after them."""
    lines = demoted(without_header(first_lines(text)))
    rest = raw_lines(text)[INJECTED_LINES:]
    asked = demoted("".join(line for line in rest if (item_words(line) or "").startswith(USER_REQUESTED)))
    lines += asked
    entries = entries_of("\n".join(lines))
    # Headings alone tell nothing.
    return Offered(lines, entries, len(rest) - len(asked)) if entries else Offered([], [])


def without_header(text: str) -> str:
    """MEMORY.md's text as its lines are counted: the file's own title is no part of what is injected."""
    return re.sub(rf"\A\s*+{HEADER}[ \t]*+(?:\r?\n|\Z)", "", text).strip("\r\n")


def fitted(offer: Offered, room: int, use: Use | None = None) -> StandingPart:
    """As much as the room (in quarter tokens) holds. Requests are the last to go, then what is used most."""
    whole = _part(offer, range(len(offer.lines)), cut=False)
    if not offer.beyond and quarters(whole.text) <= room:
        return whole
    lines, heads = offer.lines, _headings(offer)
    used, left = set[int](), room - quarters(_requests([])) - 2
    for entry in (entry for entry in offer.entries if entry.user_requested):
        cost = _cost(lines[at] for at in entry.places)
        if cost <= left:
            used.update(entry.places)
            left -= cost
    left = (left if used else room) - quarters(_notes([], MORE.format(offer.count)))
    notes = [entry for entry in offer.entries if not entry.user_requested]
    for entry in by_use(notes, use) if use else notes:
        places = {*entry.places, *heads[entry.start]} - used
        cost = _cost(lines[at] for at in places)
        if cost <= left:
            used |= places
            left -= cost
    return _part(offer, sorted(used), cut=True)


def by_use(entries: list[Entry], use: Use) -> list[Entry]:
    """The most used first; among equals those that stand first."""
    names = {entry.position: words_of(entry.text) for entry in entries}
    known = use(names.values())
    unused = (0,)
    return sorted(
        entries,
        key=lambda entry: ([-each for each in known.get(names[entry.position], unused)], entry.position),
    )


def names_of(offer: Offered, texts: Iterable[str]) -> set[str]:
    """The names of the entries that hold one of these texts."""
    wanted = [edits.normal(text) for text in texts]
    return {
        words_of(entry.text)
        for entry in offer.entries
        if any(text in edits.normal(entry.content) for text in wanted if text)
    }


def _part(offer: Offered, used: Iterable[int], *, cut: bool) -> StandingPart:
    """The lines as text. Requests stand by themselves, and a heading with nothing left under it goes."""
    asked = {at for entry in offer.entries if entry.user_requested for at in entry.places}
    noted = {at for entry in offer.entries if not entry.user_requested for at in entry.places}
    used = list(used)
    heads = _headings(offer)
    needed = {head for at in used if at in noted and at in heads for head in heads[at]}
    requests = [at for at in used if at in asked]
    notes = list[int]()
    for at in used:
        blank = not offer.lines[at].strip()
        # A blank line stands between two others.
        if at in noted or at in needed or (blank and notes and offer.lines[notes[-1]].strip()):
            notes.append(at)
    while notes and notes[-1] not in noted:
        notes.pop()
    taken = tuple(sorted({*requests, *notes}))
    out = sum(1 for at in asked | noted if at not in taken) + offer.beyond
    parts = [
        _requests([offer.lines[at] for at in requests]) if requests else "",
        _notes([offer.lines[at] for at in notes], MORE.format(out) if cut and out else "") if notes else "",
    ]
    return StandingPart("\n\n".join(filter(None, parts)), taken, out)


def _headings(offer: Offered) -> dict[int, list[int]]:
    """For each entry's first line, the headings above it, outermost first."""
    starts = {entry.start: entry.end for entry in offer.entries}
    found: dict[int, list[int]] = {}
    path: list[tuple[int, int]] = []
    at = 0
    while at < len(offer.lines):
        if at in starts:
            found[at] = [place for _, place in path]
            at = starts[at]
            continue
        heading = heading_of(offer.lines[at])
        if heading:
            path = [*((level, place) for level, place in path if level < heading.level), (heading.level, at)]
        at += 1
    return found


def _requests(lines: list[str]) -> str:
    return framed(REQUESTS_INTRO, "\n".join(["## What the user asked for", *lines]), REQUESTS)


def _notes(lines: list[str], more: str = "") -> str:
    return framed(NOTES_INTRO, "\n".join(["## Long-term Memory", *lines, *([more] if more else [])]))


def _cost(lines: Iterable[str]) -> int:
    return sum(quarters(line) + 1 for line in lines)
