"""MEMORY.md in portions that a model can take one at a time; all of them joined are the file."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from memory.entries import entries_of
from memory.sections import lines_of, text_of


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
            section = heading[1]
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
