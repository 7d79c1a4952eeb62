"""MEMORY.md as a list of entries, each of which can be edited, moved or deleted by itself."""

import hashlib
import re
from dataclasses import dataclass

from memory import edits
from memory.sections import USER_REQUESTED, Line, lines_of, text_of

ITEM = re.compile(r" ?(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
RULE = re.compile(r"[ \t]*([-*_])(?:[ \t]*\1){2,}[ \t]*")
STARTS = re.compile(rf"{ITEM.pattern}|{RULE.pattern}$|<!--")


class EntryChanged(Exception):
    """The entry on the page is no longer the one in the file."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A list item with what hangs under it, or a paragraph."""

    position: int
    section: str
    text: str
    start: int
    end: int

    @property
    def key(self) -> str:
        """Changes with any letter of the entry: what a page sends back to say which one it meant."""
        return hashlib.sha256(self.text.encode("utf-8", "replace")).hexdigest()[:16]

    @property
    def content(self) -> str:
        """The entry without its list mark."""
        return ITEM.sub("", self.text, count=1)

    @property
    def user_requested(self) -> bool:
        return self.content.startswith(USER_REQUESTED)


def entries_of(text: str) -> list[Entry]:
    """Every entry in the order of the file; headings, rules and comments are none."""
    lines = lines_of(text)
    found: list[Entry] = []
    section, at = "", 0
    while at < len(lines):
        heading = lines[at].heading
        if heading:
            section = _section_after(heading, section)
            at += 1
        elif lines[at].blank or (not lines[at].fenced and RULE.fullmatch(lines[at].text)):
            at += 1
        elif not lines[at].fenced and lines[at].text.startswith("<!--"):
            at = _comment_end(lines, at)
        else:
            end = _entry_end(lines, at)
            body = text_of(lines[at:end]).rstrip("\r\n")
            found.append(Entry(len(found), section, body, at, end))
            at = end
    return found


def _section_after(heading: tuple[int, str], section: str) -> str:
    level, title = heading
    return section if level > 2 else title if level == 2 else ""


def _comment_end(lines: list[Line], at: int) -> int:
    """Past a comment; one that never closes is only its own line."""
    for later in range(at, len(lines)):
        if "-->" in lines[later].text:
            return later + 1
    return at + 1


def _entry_end(lines: list[Line], start: int) -> int:
    """An item owns lines that run on, and indented ones past a blank; a paragraph ends at a blank."""
    item = not lines[start].fenced and bool(ITEM.match(lines[start].text))
    at = last = start + 1
    while at < len(lines):
        line = lines[at]
        inside = line.fenced and (lines[at - 1].fenced or (item and not lines[at - 1].blank))
        hangs = item and line.text.startswith(("  ", "\t")) and not line.blank
        if line.blank and not line.fenced:
            if not item:
                break
        elif inside or hangs:
            last = at + 1
        elif line.heading or line.fenced or lines[at - 1].blank or STARTS.match(line.text):
            break
        else:
            last = at + 1
        at += 1
    return last


def find(text: str, position: int, key: str) -> Entry:
    """The entry with this key, the nearest to where it was; an error if it is there no more."""
    same = [entry for entry in entries_of(text) if entry.key == key]
    if not same:
        raise EntryChanged("This entry was changed or removed meanwhile. Look at it again before editing.")
    return min(same, key=lambda entry: abs(entry.position - position))


def edit(text: str, position: int, key: str, new: str) -> str:
    """The text with one entry's words replaced; empty words delete it."""
    entry = find(text, position, key)
    if not new.strip():
        return delete(text, position, key)
    lines = lines_of(text)
    mark = ITEM.match(entry.text)
    shaped = edits.as_entry(new if edits.BULLET.match(new.strip()) or not mark else mark[0] + new.strip())
    if not mark and not edits.BULLET.match(new.strip()):
        shaped = shaped.removeprefix("- ")
    return _spliced(lines, entry, shaped, text)


def delete(text: str, position: int, key: str) -> str:
    entry = find(text, position, key)
    lines = lines_of(text)
    start = len(text_of(lines[: entry.start]))
    return edits.take_out(text, start, start + len(entry.text))


def move(text: str, position: int, key: str, section: str) -> str:
    """The text with one entry at the end of another section."""
    entry = find(text, position, key)
    if entry.section.casefold() == section.strip().casefold():
        return text
    return edits.insert(delete(text, position, key), section, entry.text)


def _spliced(lines: list[Line], entry: Entry, shaped: str, text: str) -> str:
    newline = edits.newline_of(text)
    last = lines[entry.end - 1].end
    added = shaped.replace("\n", newline) + last
    return text_of(lines[: entry.start]) + added + text_of(lines[entry.end :])
