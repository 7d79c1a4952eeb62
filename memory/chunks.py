"""Markdown to chunks: a list item with its children, or a paragraph, under its headings and its date."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date

from memory.logentries import COMMENT, HEADER, RULE
from memory.sections import HEADER as TITLE
from memory.sections import STANDARD_SECTIONS, Line, lines_of
from memory.splitting import split

# RFC-013's model reads 128 pieces, two of them marks; the rest beside the text is for date and headings.
TEXT_PIECES = 100
ALL_PIECES = 126
ITEM = re.compile(r"[ \t]{0,3}(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)")
BULLET = re.compile(r"[ \t]*[-*+][ \t]+")
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of memory: what it says, what gives it context, and the line or message it begins at."""

    text: str
    context: str = ""
    anchor: int | None = None


def searchable(text: str, context: str, day: date | None) -> str:
    """What is embedded and indexed for a chunk: its date, its context, its text."""
    when = f"{day.day} {MONTHS[day.month - 1]} {day.year}: " if day else ""
    return f"{when}{context}\n{text}" if context else f"{when}{text}"


def file_chunks(text: str, count: Callable[[str], int]) -> list[Chunk]:
    """The chunks of MEMORY.md or a daily log. Hidden comments are left out; line numbers stay true."""
    bare = COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text)
    found: list[Chunk] = []
    for block in _blocks(lines_of(bare)):
        body = "\n".join(line.text.rstrip() for line in block.lines).strip("\n")
        body = BULLET.sub("", body, count=1) if block.is_item else body.strip()
        head, _, rest = body.partition("\n")
        context = " > ".join(block.headings)
        for number, part in enumerate(split(body, TEXT_PIECES, count)):
            # A part of a long list item keeps the item's own first words beside its headings.
            above = (
                context if number == 0 or not rest or len(head) > 200 else f"{context} > {head}".lstrip(" >")
            )
            found.append(Chunk(part, fitted(above, part, count), block.line))
    return found


def fitted(context: str, text: str, count: Callable[[str], int]) -> str:
    """As much of the context's end as the model can read together with the text and its date."""
    room = ALL_PIECES - 8 - count(text)
    pieces = count(context) if context else 0
    if pieces <= room:
        return context
    kept = context[-max(0, len(context) * room // pieces) :] if room > 0 else ""
    return kept.partition(" ")[2]


@dataclass(slots=True)
class _Block:
    lines: list[Line]
    headings: tuple[str, ...]
    line: int
    is_item: bool = False


def _blocks(lines: list[Line]) -> Iterator[_Block]:
    """Items and paragraphs in order, and headings of one's own that have nothing below them."""
    path: list[tuple[int, str]] = []
    block: _Block | None = None
    lonely: _Block | None = None
    blank_before = False
    for number, line in enumerate(lines, 1):
        heading = line.heading
        if heading or (not line.fenced and RULE.fullmatch(line.text)):
            if block:
                yield block
            block = None
            if heading:
                if lonely and heading[0] <= path[-1][0]:
                    yield lonely
                path = [entry for entry in path if entry[0] < heading[0]] + [heading]
                lonely = _lonely(path, number)
            continue
        if line.blank and not line.fenced:
            blank_before = True
            continue
        if block and _goes_on(block, line, blank_before):
            if blank_before:
                block.lines.append(Line("", "\n"))
            block.lines.append(line)
        else:
            if block:
                yield block
            is_item = not line.fenced and bool(ITEM.match(line.text))
            block = _Block([line], _titles(path), number, is_item)
            lonely = None
        blank_before = False
    if block:
        yield block
    elif lonely:
        yield lonely


def _goes_on(block: _Block, line: Line, blank_before: bool) -> bool:
    """Whether a line belongs to the block: a child of an item, the next line of a paragraph, code."""
    if line.fenced and block.lines[-1].fenced:
        return True
    if block.is_item:
        indented = line.text[:1] in " \t" and not ITEM.fullmatch(line.text)
        deep = len(line.text) - len(line.text.lstrip()) >= 2
        return (indented and deep) or (not blank_before and not ITEM.match(line.text))
    return not blank_before and not (ITEM.match(line.text) and not line.fenced)


def _titles(path: list[tuple[int, str]]) -> tuple[str, ...]:
    """The headings above, without those that every file has."""
    return tuple(title for level, title in path if title and not _is_file_title(level, title))


def _is_file_title(level: int, title: str) -> bool:
    line = f"{'#' * level} {title}"
    return line == TITLE or bool(HEADER.fullmatch(line))


def _lonely(path: list[tuple[int, str]], number: int) -> _Block | None:
    """A heading as a block of its own, in case nothing follows; the standard ones say nothing alone."""
    level, title = path[-1]
    if not title or title in STANDARD_SECTIONS or _is_file_title(level, title):
        return None
    return _Block([Line(title, "\n")], _titles(path[:-1]), number)
