"""MEMORY.md as a list of entries, each of which can be edited, moved or deleted by itself."""

import hashlib
from dataclasses import dataclass

from memory.storage import edits
from memory.storage.markdown import Heading, Line, lines_of, list_mark, newline_of, text_of, without_mark
from memory.storage.sections import USER_REQUESTED


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
        return without_mark(self.text)

    @property
    def places(self) -> range:
        """Which lines of the text it is."""
        return range(self.start, self.end)

    @property
    def user_requested(self) -> bool:
        return self.content.startswith(USER_REQUESTED)


def entries_of(text: str) -> list[Entry]:
    """Every entry in the order of the file; headings, rules and comments are none."""
    lines = lines_of(text)
    found: list[Entry] = []
    comment_ends = (at + 1 for at, line in enumerate(lines) if "-->" in line.text)
    section, at, comment_end = "", 0, 0
    while at < len(lines):
        heading = lines[at].heading
        if heading:
            section = _section_after(heading, section)
            at += 1
        elif lines[at].blank or lines[at].rule:
            at += 1
        elif not lines[at].fenced and lines[at].text.startswith("<!--"):
            while comment_end <= at:
                # One that never closes is only its own line.
                comment_end = next(comment_ends, 0) or len(lines) + 1
            at = comment_end if comment_end <= len(lines) else at + 1
        else:
            end = _entry_end(lines, at)
            body = text_of(lines[at:end]).rstrip("\r\n")
            found.append(Entry(len(found), section, body, at, end))
            at = end
    return found


def _section_after(heading: Heading, section: str) -> str:
    return section if heading.level > 2 else heading.title if heading.level == 2 else ""


def _is_item(line: Line) -> bool:
    """Deeper ones belong to an item above."""
    mark = line.mark
    return mark is not None and mark.indent in ("", " ")


def _entry_end(lines: list[Line], start: int) -> int:
    """An item owns lines that run on, and indented ones past a blank; a paragraph ends at a blank."""
    item = _is_item(lines[start])
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
        elif line.fenced or lines[at - 1].blank or _begins(line):
            break
        else:
            last = at + 1
        at += 1
    return last


def _begins(line: Line) -> bool:
    """Whether a line can't go on with the entry above it."""
    return bool(line.heading) or line.rule or _is_item(line) or line.text.startswith("<!--")


def find(text: str, position: int, key: str) -> Entry:
    """The entry with this key, the nearest to where it was; an error if it is there no more."""
    same = [entry for entry in entries_of(text) if entry.key == key]
    if not same:
        raise EntryChanged("This entry was changed or removed in the meantime. Check it before you edit it.")
    return min(same, key=lambda entry: abs(entry.position - position))


def saying(text: str, content: str) -> Entry | None:
    """The entry that says just this, whatever its case, spacing and last full stop, asked for or not."""
    wanted = _said(content)
    return next((entry for entry in entries_of(text) if _said(entry.content) == wanted), None)


def _said(content: str) -> str:
    return edits.normal(without_mark(content.strip()).removeprefix(USER_REQUESTED)).rstrip(".!。！ ")


def edit(text: str, position: int, key: str, new: str) -> str:
    """The text with one entry's words replaced; empty words delete it."""
    entry = find(text, position, key)
    if not new.strip():
        return delete(text, position, key)
    lines, new = lines_of(text), new.strip()
    mark = list_mark(entry.text)
    if edits.is_listed(new):
        shaped = edits.as_entry(new)
    elif mark:
        shaped = edits.as_entry(f"{mark.sign}{mark.gap or ' '}{new}")
    else:
        shaped = edits.as_entry(new).removeprefix("- ")
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
    newline = newline_of(text)
    last = lines[entry.end - 1].end
    added = shaped.replace("\n", newline) + last
    return text_of(lines[: entry.start]) + added + text_of(lines[entry.end :])
