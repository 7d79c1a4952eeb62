"""Markdown as memory reads it: lines, code, headings, list marks, rules and hidden comments.

Nothing else reads them. It goes line by line and not by markdown-it, which takes eighteen times as long over
five megabytes, ends a line at a lone CR, and lets a fence that never closes swallow the rest of the file. The
time is linear in the text, whatever the text is.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from io import StringIO

LIST_MARK = re.compile(r"([ \t]*+)([-*+]|\d{1,9}[.)])(?:([ \t]++)|(?=\r?\n|\Z))")
# As models and people write it: other signs too, any space around it. A year that begins a sentence is none.
LOOSE_MARK = re.compile(r"\s*+(?:[-*+•–]|\d{1,3}[.)])\s++")
HASHES = re.compile(r" {0,3}+(#{1,6}+)(?=[ \t]|\Z)")
UNDERLINE = re.compile(r" {0,3}+(?:=++|-++)[ \t]*+")
RULE = re.compile(r"[ \t]{0,3}+(?:(?:-[ \t]*+){3,}+|(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)")
# A list item may begin with its code.
FENCE = re.compile(r"[ \t]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)?(`{3,}+(?=[^`]*+\Z)|~{3,}+)")
COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Heading:
    """A `## Title`; `indent` counts the spaces before it."""

    level: int
    title: str
    indent: int = 0


@dataclass(frozen=True, slots=True)
class ListMark:
    """What makes a line a list item: the space before, the sign, and the space up to the words."""

    indent: str
    sign: str
    gap: str

    def __str__(self) -> str:
        return self.indent + self.sign + self.gap

    def __len__(self) -> int:
        return len(self.indent) + len(self.sign) + len(self.gap)

    @property
    def is_number(self) -> bool:
        return len(self.sign) > 1


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a text: what it says, how it ends, and whether it is code."""

    text: str
    end: str
    fenced: bool = False

    @property
    def heading(self) -> Heading | None:
        """A heading that starts at the margin, outside code."""
        return heading_of(self.text) if self.text.startswith("#") and not self.fenced else None

    @property
    def mark(self) -> ListMark | None:
        """The list mark of a line outside code."""
        return None if self.fenced else list_mark(self.text)

    @property
    def rule(self) -> bool:
        return not self.fenced and is_rule(self.text)

    @property
    def blank(self) -> bool:
        return not self.text.strip()


def raw_lines(text: str) -> list[str]:
    """The text in lines that keep their ends. Only LF, with or without a CR before it, ends a line."""
    return StringIO(text, newline="\n").readlines()


def bare_lines(text: str) -> list[str]:
    """The text in lines without their ends."""
    return [raw.removesuffix("\n").removesuffix("\r") for raw in raw_lines(text)]


def newline_of(text: str) -> str:
    """The line end that most of the text's lines have."""
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def lines_of(text: str) -> list[Line]:
    """The text in lines that know whether they are code."""
    raws, bodies = raw_lines(text), bare_lines(text)
    fenced = _fenced(bodies)
    return [Line(body, raw[len(body) :], code) for body, raw, code in zip(bodies, raws, fenced, strict=True)]


def text_of(lines: list[Line]) -> str:
    return "".join(line.text + line.end for line in lines)


def heading_of(text: str) -> Heading | None:
    """The heading that a line outside code is, indented by three spaces at most."""
    hashes = HASHES.match(text)
    if hashes is None:
        return None
    title = text[hashes.end() :].strip(" \t")
    # A heading may be closed by hashes of its own.
    words = title.rstrip("#")
    if not words or words[-1] in " \t":
        title = words
    return Heading(len(hashes[1]), title.strip(), hashes.start(1))


def is_underline(text: str) -> bool:
    """Whether the line makes a heading of the words above it."""
    return UNDERLINE.fullmatch(text) is not None


def is_rule(text: str) -> bool:
    return RULE.fullmatch(text) is not None


def list_mark(text: str) -> ListMark | None:
    """The list mark that a text begins with."""
    mark = LIST_MARK.match(text)
    return ListMark(mark[1], mark[2], mark[3] or "") if mark else None


def without_mark(text: str) -> str:
    mark = list_mark(text)
    return text[len(mark) :] if mark else text


def item_words(line: str) -> str | None:
    """The words of a list item in whatever way it was marked; None for any other line."""
    mark = LOOSE_MARK.match(line)
    return line[mark.end() :] if mark else None


def fence_of(text: str) -> str | None:
    """The marks that open code on this line, if it is closed further down."""
    fence = FENCE.match(text)
    return fence[1] if fence else None


def without_comments(text: str) -> str:
    """What may be shown, indexed or injected: no marker, no hidden text of any kind."""
    return COMMENT.sub("", text)


def blank_comments(text: str) -> str:
    """The same, with every other line still where it was."""
    return COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)


def _fenced(bodies: list[str]) -> list[bool]:
    """Which lines are code. A fence that never closes fences nothing: one stray mark must hide no section."""
    closing = _closings(bodies)
    fenced = [False] * len(bodies)
    past = 0
    for at in sorted(closing):
        if at >= past:
            past = closing[at] + 1
            fenced[at:past] = [True] * (past - at)
    return fenced


def _closings(bodies: list[str]) -> dict[int, int]:
    """For each line that may open a fence, the first one after it that would close it."""
    found: dict[int, int] = {}
    # From the end up. Of the closing lines below, a nearer one hides those that are no longer than it, so
    # their lengths grow downwards, and the right one is found by bisection.
    lengths: dict[str, list[int]] = {"`": [], "~": []}
    places: dict[str, list[int]] = {"`": [], "~": []}
    for at in range(len(bodies) - 1, -1, -1):
        body = bodies[at]
        if "```" not in body and "~~~" not in body:
            continue
        if fence := fence_of(body):
            below = bisect_right(lengths[fence[0]], -len(fence))
            if below:
                found[at] = places[fence[0]][below - 1]
        mark = body.strip()
        if not mark.strip(mark[0]) and mark[0] in lengths:
            shorter, where = lengths[mark[0]], places[mark[0]]
            while shorter and -shorter[-1] <= len(mark):
                shorter.pop()
                where.pop()
            shorter.append(-len(mark))
            where.append(at)
    return found
