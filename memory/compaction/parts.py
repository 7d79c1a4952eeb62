"""Portions of MEMORY.md that a model can take one at a time, and its answers as text for their place."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise

from memory.compaction.refusals import Dropped, is_request
from memory.longterm.dates import words_of
from memory.prompts import BULLET, unfenced
from memory.storage import edits
from memory.storage.entries import entries_of
from memory.storage.markdown import COMMENT, bare_lines, item_words, lines_of, newline_of, text_of
from memory.storage.sections import HEADER

DAY = re.compile(r"(?<![ \t])[ \t]*+⟦\d{4}-\d\d-\d\d⟧")
DROPPED = re.compile(r"[ \t#*_=<-]*+dropped[ \t:*_=>-]*+", re.IGNORECASE)
REQUEST = re.compile(r"^(\s*(?:[-*+]\s+)?)(?:[*_]*user requested:[*_]*\s*)+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Portion:
    """Some lines of the file. Only those with several entries are for the model."""

    text: str
    section: str = ""
    entry_count: int = 0
    # Headings, blank lines and entries too long to send stay as they are.
    fixed: bool = False


def portions(text: str, limit: int) -> list[Portion]:
    """The file by sections, and large sections by entries, at most `limit` characters each."""
    lines = lines_of(text)
    cut = [0, *(at + side for at, line in enumerate(lines) if line.heading for side in (0, 1)), len(lines)]
    found, section = list[Portion](), ""
    for start, end in pairwise(cut):
        block = lines[start:end]
        if not block:
            continue
        heading = block[0].heading
        if heading:
            section = heading.title
            found.append(Portion(text_of(block), section, fixed=True))
        else:
            found += _of_section(text_of(block), section, limit)
    return found


def _of_section(text: str, section: str, limit: int) -> Iterator[Portion]:
    """A section's body cut between entries."""
    lines, entries = lines_of(text), entries_of(text)
    held, count, start = 0, 0, 0
    for entry in entries:
        size = len(text_of(lines[entry.start : entry.end]))
        if count and held + size > limit:
            yield Portion(text_of(lines[start : entry.start]), section, count, fixed=held > limit)
            held, count, start = 0, 0, entry.start
        held += size
        count += 1
    yield Portion(text_of(lines[start:]), section, count, fixed=held > limit or count == 0)


def joined(texts: list[str]) -> str:
    """Portions and their successors as one file, each beginning on a line of its own."""
    out = ""
    for text in texts:
        if out and text and not out.endswith("\n"):
            out += "\n"
        out += text
    return out


def sorted_into(text: str, sorted_notes: str) -> str:
    """The text with each entry of another one in its section."""
    for entry in entries_of(sorted_notes):
        text = edits.insert(text, entry.section or "Notes", entry.text)
    return text


def with_days(text: str, days: Mapping[str, date]) -> str:
    """The text as a model gets it: each entry with the day it was last said, where that is known."""
    lines = lines_of(text)
    for entry in entries_of(text):
        if day := days.get(words_of(entry.text)):
            first = lines[entry.start]
            lines[entry.start] = replace(first, text=f"{first.text} ⟦{day.isoformat()}⟧")
    return text_of(lines)


def split_dropped(answer: str) -> tuple[str, list[Dropped]]:
    """What the model made of the notes, and what it says it dropped: "- the note | why"."""
    lines = unfenced(answer).split("\n")
    at = next((at for at in range(len(lines) - 1, -1, -1) if DROPPED.fullmatch(lines[at])), None)
    if at is None:
        return answer, []
    found = (item.rpartition("|") for line in lines[at + 1 :] if (item := item_words(line)))
    dropped = [
        Dropped(DAY.sub("", text).strip(), reason.strip()) for text, _, reason in found if text.strip()
    ]
    return "\n".join(lines[:at]), dropped


def file_text(answer: str, before: str) -> str:
    """The whole file, from its header on; anything said before it is dropped."""
    lines = unfenced(answer).split("\n")
    start = next((at for at, line in enumerate(lines) if line.strip() == HEADER), 0)
    return honest("\n".join(lines[start:]), before)


def section_text(answer: str, before: str) -> str:
    """The bullets of one portion; headings and words around them are dropped."""
    lines = [line for line in lines_of(unfenced(answer)) if not line.heading]
    start = next((at for at, line in enumerate(lines) if BULLET.match(line.text)), 0)
    return honest("\n".join(line.text.rstrip() for line in lines[start:]), before)


def honest(text: str, before: str) -> str:
    """Without hidden text, and without requests that the user never made; line ends as they were."""
    text = COMMENT.sub(lambda found: found[0] if found[0] in before else "", DAY.sub("", text))
    asked = {line.strip().lstrip("-*+ ") for line in bare_lines(before) if is_request(line.lstrip("-*+ "))}
    lines = [
        line if line.strip().lstrip("-*+ ") in asked else REQUEST.sub(r"\1", line)
        for line in text.split("\n")
    ]
    text = "\n".join(lines).strip()
    return (text + "\n").replace("\n", newline_of(before)) if text else ""
