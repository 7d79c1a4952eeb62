"""Markdown: MEMORY.md, a day's notes, and other notes, as OpenClaw, Obsidian and people keep them."""

import re
from collections.abc import Iterator
from datetime import date
from pathlib import PurePosixPath

from connect.archives.values import ForeignNote, Item, Kind, MemoryFile, Skipped, real_day, text_of

MOST_NOTE = 500_000  # bytes of one file
DAY = re.compile(r"(?<!\d)(\d{4})[-_.]?(\d{2})[-_.]?(\d{2})(?!\d)")
# Folders for year and month, or one for both, and the day as the file: 2024/05/17, 2024/05-May/17 Friday.
DAY_IN_PATH = re.compile(
    r"(?:^|/)(\d{4})(?:/(?:\d{4}-)?|[-_.])(\d{1,2})(?:[-_. ][^/]{0,40})?/"
    r"(\d{1,2}|\d{2}[-_. ][^\W\d]{2,20})$"
)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WRITTEN = (
    re.compile(r"(?<!\d)(?P<day>\d{1,2})(?:st|nd|rd|th)? (?P<month>[A-Za-z]{3,9}),? (?P<year>\d{4})(?!\d)"),
    re.compile(
        r"(?<![A-Za-z])(?P<month>[A-Za-z]{3,9}) (?P<day>\d{1,2})(?:st|nd|rd|th)?,? (?P<year>\d{4})(?!\d)"
    ),
)
FRONT_DATE = re.compile(r"^(?:date|created|created_at):[ \t]*[\"']?(\d{4}-\d{2}-\d{2})", re.MULTILINE)
MEMORY_NAMES = ("memory.md", "memories.md", "long-term memory.md")
# Files of an OpenClaw workspace that speak to the assistant and are no memory.
WORKSPACE = frozenset({"agents.md", "soul.md", "tools.md", "heartbeat.md", "bootstrap.md", "identity.md"})
PROFILE = "user.md"
# Copies of MEMORY.md that OneClaw, editors and people make; a day's notes may be called memory-2024-05-17.
COPY = re.compile(
    r"(?i:memor(?:y|ies)[-_. (]{1,3}(?:backup|bak|old|copy|archive|snapshot))(?![A-Za-z])|MEMORY[-_. (]."
)
COPIES = frozenset({"backup", "backups", "bak", "old", "snapshots"})
ODD_DAY = "The date in its name can't be."
OLD_COPY = "It is an old copy of MEMORY.md: what was corrected since would come back."


def note(name: str, data: bytes, *, aside: bool = True) -> Iterator[Item]:
    """One Markdown file; `aside` says that MEMORY.md is elsewhere, so that one among backups is old."""
    if len(data) > MOST_NOTE:
        yield Skipped(name, "It is too large for a note.")
        return
    text = text_of(decoded(data), MOST_NOTE)
    base = PurePosixPath(name).name.casefold()
    if "\0" in decoded(data)[:1000] or not text.strip():
        yield Skipped(name, "There is no text in it.")
    elif base in WORKSPACE:
        yield Skipped(name, "It holds instructions for another assistant, not memories.")
    elif is_copy(name) or (aside and is_kept_aside(name)):
        yield Skipped(name, OLD_COPY)
    elif base in (*MEMORY_NAMES, PROFILE):
        yield MemoryFile(Kind.MARKDOWN, text, name)
    elif day := day_of(name, text):
        yield ForeignNote(Kind.MARKDOWN, day, without_front(text), name)
    elif DAY.search(PurePosixPath(name).stem):
        yield Skipped(name, ODD_DAY)
    else:
        yield Skipped(name, "It is neither MEMORY.md nor a day's notes: there is no date in its name.")


def is_copy(name: str) -> bool:
    """Whether a file is called as copies of MEMORY.md are."""
    return COPY.match(f"{PurePosixPath(name).stem} ") is not None


def is_memory(name: str) -> bool:
    return PurePosixPath(name).name.casefold() in MEMORY_NAMES


def is_kept_aside(name: str) -> bool:
    """Whether it is a MEMORY.md in a folder of backups."""
    folders = {folder.casefold() for folder in PurePosixPath(name).parts[:-1]}
    return is_memory(name) and bool(folders & COPIES)


def decoded(data: bytes) -> str:
    """A text file's words in whatever encoding it is: UTF-8, UTF-16 by its mark, else as Windows wrote it."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def day_of(name: str, text: str) -> date | None:
    """The date in a note's name, else in its folders, else in the lines at its head that say what it is."""
    path = PurePosixPath(name)
    for match in DAY.finditer(path.stem):
        if day := real_day("-".join(match.groups())):
            return day
    for pattern in WRITTEN:
        if (written := pattern.search(path.stem)) and (day := _written(written)):
            return day
    if folders := DAY_IN_PATH.search(path.with_suffix("").as_posix()[-200:]):
        year, month, number = folders.groups()
        if day := real_day(f"{year}-{int(month):02}-{int(number[:2]):02}"):
            return day
    front = FRONT_DATE.search(front_of(text))
    return real_day(front[1]) if front else None


def _written(match: re.Match[str]) -> date | None:
    month = match["month"][:3].casefold()
    if month not in MONTHS:
        return None
    return real_day(f"{match['year']}-{MONTHS.index(month) + 1:02}-{int(match['day']):02}")


def front_of(text: str) -> str:
    """The head of a note between two rules."""
    if not text.startswith("---\n"):
        return ""
    end = text.find("\n---", 4)
    return text[4:end] if 0 < end < 10_000 else ""


def without_front(text: str) -> str:
    front = front_of(text)
    return text[len(front) + 8 :].lstrip("-\n") if front else text
