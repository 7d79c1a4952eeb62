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


def section_for(category: str | None, text: str = "") -> str:
    """The section of a category; a missing or unknown one means Notes.

    A category may be named as prompts show it, by its heading, and a section that the text has is known too.
    """
    return _known(text).get(_named(category), "Notes")


def is_section(category: str, text: str = "") -> bool:
    """Whether a category names a section, a standard one or one of the text."""
    return _named(category) in _known(text)


def _named(category: str | None) -> str:
    return " ".join((category or "").strip("# \t\r\n[]:").casefold().split())


def _known(text: str) -> dict[str, str]:
    single = {name.removesuffix("s"): section for name, section in CATEGORIES.items()}
    names = {name.casefold(): name for name in (*STANDARD_SECTIONS, *parse_sections(text))}
    return single | CATEGORIES | names


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
