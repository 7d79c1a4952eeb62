"""Portions of MEMORY.md that a model can take one at a time, and its answers as text for their place."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from memory.compaction.refusals import is_request
from memory.prompts import BULLET, unfenced
from memory.storage.entries import entries_of
from memory.storage.markdown import COMMENT, bare_lines, lines_of, newline_of, text_of
from memory.storage.sections import HEADER

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
    text = COMMENT.sub(lambda found: found[0] if found[0] in before else "", text)
    asked = {line.strip().lstrip("-*+ ") for line in bare_lines(before) if is_request(line.lstrip("-*+ "))}
    lines = [
        line if line.strip().lstrip("-*+ ") in asked else REQUEST.sub(r"\1", line)
        for line in text.split("\n")
    ]
    text = "\n".join(lines).strip()
    return (text + "\n").replace("\n", newline_of(before)) if text else ""
