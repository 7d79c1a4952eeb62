"""Sections of MEMORY.md: the standard ones of RFC-049, and which lines belong to which."""

from dataclasses import dataclass

from memory.storage.markdown import Line, lines_of, text_of

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


@dataclass(frozen=True, slots=True)
class Section:
    """A `## Name` with the lines `start` to `end` (the heading is the line before `start`)."""

    name: str
    start: int
    end: int


def section_for(category: str | None) -> str:
    """The section of a category; a missing or unknown one means Notes."""
    return CATEGORIES.get((category or "").strip().lower(), "Notes")


def sections_of(lines: list[Line]) -> list[Section]:
    """Every `## Name`, which lasts until the next heading of its level or above."""
    found: list[Section] = []
    name, start = "", -1
    for at, line in enumerate(lines):
        heading = line.heading
        if heading and heading.level <= 2:
            if start >= 0:
                found.append(Section(name, start, at))
            name, start = (heading.title, at + 1) if heading.level == 2 else ("", -1)
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
