"""Markdown to chunks: a list item with its children, or a paragraph, under its headings and its date."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date

from memory.storage.log_entries import HEADER
from memory.storage.markdown import Heading, Line, blank_comments, lines_of, list_mark
from memory.storage.sections import HEADER as TITLE
from memory.storage.sections import STANDARD_SECTIONS

Count = Callable[[str], int]

# RFC-013's model reads 128 pieces, two of them marks; the rest beside the text is for date and headings.
TEXT_PIECES = 100
ALL_PIECES = 126
# No language has more in a word piece on average; a text with more is cut without being counted.
CHARACTERS_A_PIECE = 12
# Ends of lines, then of sentences (Chinese and Japanese need no space after them), then of words.
BOUNDARIES = (
    re.compile(r"\n+"),
    re.compile(r"(?<=[.!?…;:])[\"'”’)\]]*\s+|(?<=[。！？｡；])[」』”’）]*"),
    re.compile(r"\s+|(?<=[,、，])"),
)
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
    """A piece of memory: what it says, what gives it context, where it stands, and who said it."""

    text: str
    context: str = ""
    anchor: int | None = None
    speaker: str = ""


def searchable(text: str, context: str, day: date | None) -> str:
    """What is embedded and indexed for a chunk: its date, its context, its text."""
    when = f"{day.day} {MONTHS[day.month - 1]} {day.year}: " if day else ""
    return f"{when}{context}\n{text}" if context else f"{when}{text}"


def file_chunks(text: str, count: Count) -> list[Chunk]:
    """The chunks of MEMORY.md or a daily log. Hidden comments are left out; line numbers stay true."""
    found: list[Chunk] = []
    for block in _blocks(lines_of(blank_comments(text))):
        body = "\n".join(line.text.rstrip() for line in block.lines).strip("\n")
        body = _without_bullet(body) if block.is_item else body.strip()
        head, _, rest = body.partition("\n")
        context = " > ".join(block.headings)
        for number, part in enumerate(split(body, TEXT_PIECES, count)):
            # A part of a long list item keeps the item's own first words beside its headings.
            above = (
                context if number == 0 or not rest or len(head) > 200 else f"{context} > {head}".lstrip(" >")
            )
            found.append(Chunk(part, fitted(above, part, count), block.line))
    return found


def fitted(context: str, text: str, count: Count) -> str:
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
    path: list[Heading] = []
    block: _Block | None = None
    lonely: _Block | None = None
    blank_before = False
    for number, line in enumerate(lines, 1):
        heading = line.heading
        if heading or line.rule:
            if block:
                yield block
            block = None
            if heading:
                if lonely and heading.level <= path[-1].level:
                    yield lonely
                path = [*(above for above in path if above.level < heading.level), heading]
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
            block = _Block([line], _titles(path), number, not line.fenced and _is_item(line))
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
        deep = line.text[:1] in " \t" and len(line.text) - len(line.text.lstrip()) >= 2
        return deep or (not blank_before and not _is_item(line))
    return not blank_before and (line.fenced or not _is_item(line))


def _is_item(line: Line) -> bool:
    """An item of a list, or one that begins with code; a mark with nothing after it is none."""
    mark = list_mark(line.text)
    return mark is not None and len(mark.indent) <= 3 and bool(line.text[len(mark) :].strip())


def _without_bullet(item: str) -> str:
    """A number may say something, a dash doesn't."""
    mark = list_mark(item)
    return item[len(mark) :] if mark and not mark.is_number else item


def _titles(path: list[Heading]) -> tuple[str, ...]:
    """The headings above, without those that every file has."""
    return tuple(heading.title for heading in path if heading.title and not _is_file_title(heading))


def _is_file_title(heading: Heading) -> bool:
    line = f"{'#' * heading.level} {heading.title}"
    return line == TITLE or bool(HEADER.fullmatch(line))


def _lonely(path: list[Heading], number: int) -> _Block | None:
    """A heading as a block of its own, in case nothing follows; the standard ones say nothing alone."""
    heading = path[-1]
    if not heading.title or heading.title in STANDARD_SECTIONS or _is_file_title(heading):
        return None
    return _Block([Line(heading.title, "\n")], _titles(path[:-1]), number)


def split(text: str, limit: int, count: Count) -> list[str]:
    """Consecutive parts of the text, each of at most `limit` word pieces; only space around them goes."""
    # Cheap first: a word piece is at least one character.
    if len(text) <= limit or not _too_long(text, limit, count):
        return [text.strip()] if text.strip() else []
    return [part.strip() for part in _packed(text, limit, count, 0) if part.strip()]


def _too_long(text: str, limit: int, count: Count) -> bool:
    """Whether a text is more than one part. Counting a long one takes long, and lets nobody else work."""
    return len(text) > limit * CHARACTERS_A_PIECE or count(text) > limit


def _packed(text: str, limit: int, count: Count, level: int) -> Iterator[str]:
    """Neighbouring atoms joined while they fit."""
    held, size = "", 0
    for atom in _atoms(text, level):
        long = len(atom) > limit * CHARACTERS_A_PIECE
        pieces = limit + 1 if long else count(atom)
        if held and size + pieces > limit:
            yield held
            held, size = "", 0
        if pieces > limit and len(atom) > 1:
            yield from _packed(atom, limit, count, level + 1)
        else:
            held, size = held + atom, size + pieces
    if held:
        yield held


def _atoms(text: str, level: int) -> Iterator[str]:
    if level >= len(BOUNDARIES):
        middle = len(text) // 2
        yield from (text[:middle], text[middle:])
        return
    start = 0
    for match in BOUNDARIES[level].finditer(text):
        yield text[start : match.end()]
        start = match.end()
    yield text[start:]
