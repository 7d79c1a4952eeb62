"""How MEMORY.md is laid out: lines, headings that are not code, and the standard sections of RFC-049."""

import re
from dataclasses import dataclass

HEADER = "# Long-term Memory"
STANDARD_SECTIONS = ("User Profile", "Preferences", "Interests", "Workflow", "Projects", "Notes")
# What save_memory calls a section (RFC-049 3B); anything else is a note.
CATEGORIES = {
    "profile": "User Profile",
    "preferences": "Preferences",
    "interests": "Interests",
    "workflow": "Workflow",
    "projects": "Projects",
    "notes": "Notes",
}
# Entries that begin so were asked for in as many words and survive every compaction (FEAT-049).
USER_REQUESTED = "User requested:"

FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*$)|~{3,}).*")
HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*")


class MemorySections:
    """The names RFC-049 gives them."""

    HEADER = HEADER
    STANDARD_SECTIONS = STANDARD_SECTIONS


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the file: what it says, how it ends, and whether it is code."""

    text: str
    end: str
    fenced: bool = False

    @property
    def heading(self) -> tuple[int, str] | None:
        """Level and title of a heading that starts at the margin, outside code."""
        if self.fenced or not self.text.startswith("#"):
            return None
        match = HEADING.fullmatch(self.text)
        return (len(match[1]), (match[2] or "").strip()) if match else None

    @property
    def blank(self) -> bool:
        return not self.text.strip()


@dataclass(frozen=True, slots=True)
class Section:
    """A `## Name` with the lines `start` to `end` (the heading is the line before `start`)."""

    name: str
    start: int
    end: int


def section_for(category: str | None) -> str:
    """The section of a category; a missing or unknown one means Notes."""
    return CATEGORIES.get((category or "").strip().lower(), "Notes")


def newline_of(text: str) -> str:
    """The line end that most of the text's lines have."""
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def lines_of(text: str) -> list[Line]:
    """The text in lines. A fence that never closes fences nothing: one stray mark must hide no section."""
    raws = re.findall(r"[^\n]*\n|[^\n]+", text)
    bodies = [raw.rstrip("\n").removesuffix("\r") for raw in raws]
    fenced = [False] * len(raws)
    hopeless: dict[str, int] = {}
    at = 0
    while at < len(raws):
        fence = FENCE.fullmatch(bodies[at])
        if fence and len(fence[1]) < hopeless.get(fence[1][0], len(fence[1]) + 1):
            close = _closing(bodies, at, fence[1])
            if close is None:
                hopeless[fence[1][0]] = len(fence[1])
            else:
                fenced[at : close + 1] = [True] * (close + 1 - at)
                at = close
        at += 1
    return [Line(body, raw[len(body) :], code) for body, raw, code in zip(bodies, raws, fenced, strict=True)]


def text_of(lines: list[Line]) -> str:
    return "".join(line.text + line.end for line in lines)


def sections_of(lines: list[Line]) -> list[Section]:
    """Every `## Name`, which lasts until the next heading of its level or above."""
    found: list[Section] = []
    name, start = "", -1
    for at, line in enumerate(lines):
        heading = line.heading
        if heading and heading[0] <= 2:
            if start >= 0:
                found.append(Section(name, start, at))
            name, start = (heading[1], at + 1) if heading[0] == 2 else ("", -1)
    if start >= 0:
        found.append(Section(name, start, len(lines)))
    return found


def parse_sections(text: str) -> dict[str, str]:
    """Name to content. A section written twice reads as one."""
    lines = lines_of(text)
    bodies: dict[str, str] = {}
    for section in sections_of(lines):
        body = text_of(lines[section.start : section.end]).strip()
        bodies[section.name] = "\n".join(filter(None, [bodies.get(section.name, ""), body]))
    return bodies


def find_section(lines: list[Line], name: str) -> Section | None:
    wanted = name.strip().casefold()
    return next((found for found in sections_of(lines) if found.name.casefold() == wanted), None)


def _closing(bodies: list[str], at: int, fence: str) -> int | None:
    for later in range(at + 1, len(bodies)):
        mark = bodies[later].strip()
        if len(mark) >= len(fence) and set(mark) == {fence[0]}:
            return later
    return None
