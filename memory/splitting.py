"""Cuts a long text where the embedding model needs it: at line ends, then sentences, then words."""

import re
from collections.abc import Callable, Iterator

Count = Callable[[str], int]

# Ends of lines, then of sentences (Chinese and Japanese need no space after them), then of words.
BOUNDARIES = (
    re.compile(r"\n+"),
    re.compile(r"(?<=[.!?…;:])[\"'”’)\]]*\s+|(?<=[。！？｡；])[」』”’）]*"),
    re.compile(r"\s+|(?<=[,、，])"),
)


def split(text: str, limit: int, count: Count) -> list[str]:
    """Consecutive parts of the text, each of at most `limit` word pieces; only space around them goes."""
    # Cheap first: a word piece is at least one character.
    if len(text) <= limit or (len(text) <= limit * 12 and count(text) <= limit):
        return [text.strip()] if text.strip() else []
    return [part.strip() for part in _packed(text, limit, count, 0) if part.strip()]


def _packed(text: str, limit: int, count: Count, level: int) -> Iterator[str]:
    """Neighbouring atoms joined while they fit."""
    held, size = "", 0
    for atom in _atoms(text, level):
        pieces = count(atom)
        if held and size + pieces > limit:
            yield held
            held, size = "", 0
        if pieces > limit and len(atom) > 1:
            yield from _packed(atom, limit, count, level + 1)
        else:
            held, size = held + atom, size + pieces
    if held:
        yield held


def _atoms(text: str, level: int) -> Iterator[str]:
    if level >= len(BOUNDARIES):
        middle = len(text) // 2
        yield from (text[:middle], text[middle:])
        return
    start = 0
    for match in BOUNDARIES[level].finditer(text):
        yield text[start : match.end()]
        start = match.end()
    yield text[start:]
