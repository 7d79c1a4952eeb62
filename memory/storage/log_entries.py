"""Entries of a daily log: the hidden marker that says which messages an entry came from, and its text."""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from uuid import UUID

from memory.storage.markdown import bare_lines, is_rule, raw_lines, without_comments

MARKER = re.compile(r"<!-- oneclaw:entry (\{.*\}) -->")
HEADER = re.compile(r"# Daily Log - \d{4}-\d{2}-\d{2}\s*")
MODEL, HIGHLIGHTS = "model", "highlights"


@dataclass(frozen=True, slots=True)
class Marker:
    """Where an entry came from. `by` tells a model's summary from extracted highlights."""

    session: str
    first: int
    last: int
    trigger: str = ""
    made: str = ""
    by: str = MODEL

    def __str__(self) -> str:
        # Angle brackets are escaped, so no value can end the comment early.
        data = json.dumps(asdict(self), ensure_ascii=True).replace("<", "\\u003c").replace(">", "\\u003e")
        return f"<!-- oneclaw:entry {data} -->"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One entry as it stands in the file: `raw` is the whole of it, with marker and rule."""

    marker: Marker | None
    body: str
    raw: str


def compose(marker: Marker, body: str) -> str:
    """An entry's text for the log; the body can neither hide text, forge a marker nor end the entry."""
    return f"{marker}\n{inert(body)}"


def inert(text: str) -> str:
    """Text that stays text in a log: comments are opened to view, rules are taken out."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    text = text.replace("<!--", "<! --").replace("-->", "-- >")
    return "\n".join(line.rstrip() for line in text.split("\n") if not is_rule(line)).strip("\n")


def parse_marker(line: str) -> Marker | None:
    match = MARKER.fullmatch(line.strip())
    if not match:
        return None
    try:
        data = json.loads(match[1])
        return Marker(
            session=str(UUID(data["session"])),
            first=_message(data["first"]),
            last=_message(data["last"]),
            trigger=str(data.get("trigger", "")),
            made=str(data.get("made", "")),
            by=str(data.get("by", MODEL)),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _message(number: object) -> int:
    """The id of a message as the database may have it; in JSON a number can be anything, even infinite."""
    if type(number) is not int or not 0 <= number < 2**63:
        raise ValueError(f"{number!r} is no message")
    return number


def split(text: str) -> tuple[str, list[LogEntry]]:
    """A log as its head and its entries; head and raw entries joined are the text again."""
    pieces: list[list[str]] = [[]]
    for line in raw_lines(text):
        if parse_marker(line) and any(part.strip() for part in pieces[-1]):
            pieces.append([])
        if not line.strip() and not pieces[-1] and len(pieces) > 1:
            # Blank lines after a rule belong to the entry that it ends.
            pieces[-2].append(line)
            continue
        pieces[-1].append(line)
        if is_rule(line.rstrip("\r\n")):
            pieces.append([])
    return _entries(pieces)


def _entries(pieces: Iterable[list[str]]) -> tuple[str, list[LogEntry]]:
    head, entries = "", list[LogEntry]()
    for number, lines in enumerate(pieces):
        if number == 0:
            # The header and blank lines before the first entry belong to the file, not to the entry.
            own = (at for at, line in enumerate(lines) if line.strip() and not HEADER.fullmatch(line))
            start = next(own, len(lines))
            head, lines = "".join(lines[:start]), lines[start:]
        raw = "".join(lines)
        if not raw.strip():
            if entries:
                entries[-1] = LogEntry(entries[-1].marker, entries[-1].body, entries[-1].raw + raw)
            else:
                head += raw
            continue
        marker = next((found for line in lines if (found := parse_marker(line))), None)
        body = "\n".join(line for line in bare_lines(raw) if not is_rule(line))
        entries.append(LogEntry(marker, without_comments(body).strip(), raw))
    return head, entries


def entries_of(text: str) -> list[LogEntry]:
    return split(text)[1]


def markers_of(text: str, session_id: UUID | str) -> list[Marker]:
    """The markers of one chat's entries in a log."""
    wanted = str(session_id)
    return [entry.marker for entry in entries_of(text) if entry.marker and entry.marker.session == wanted]
