"""A model's answer to a compaction as text that may stand in MEMORY.md."""

import re

from memory.logentries import COMMENT
from memory.losses import is_request
from memory.sections import HEADER, lines_of, newline_of
from memory.summary import BULLET, unfenced

REQUEST = re.compile(r"^(\s*(?:[-*+]\s+)?)(?:[*_]*user requested:[*_]*\s*)+", re.IGNORECASE)


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
    asked = {line.strip().lstrip("-*+ ") for line in before.splitlines() if is_request(line.lstrip("-*+ "))}
    lines = [
        line if line.strip().lstrip("-*+ ") in asked else REQUEST.sub(r"\1", line)
        for line in text.split("\n")
    ]
    text = "\n".join(lines).strip()
    return (text + "\n").replace("\n", newline_of(before)) if text else ""
