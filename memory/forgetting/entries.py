"""Entries of MEMORY.md that a request to forget is about: shown first, taken out one by one."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from memory.storage.entries import Entry, entries_of
from memory.storage.sections import USER_REQUESTED

if TYPE_CHECKING:
    from memory.embedding import Vector

    Embed = Callable[[Sequence[str]], Sequence[Vector | None]]

MOST = 5
# Meanings are compared while somebody waits: of more entries, those that share most words.
MOST_COMPARED = 300
# Share of the asked words that an entry must have, or how near its meaning must be.
WORDS, MEANING = 0.5, 0.4


def would_remove(text: str, words: str, embed: "Embed", most: int = MOST) -> list[Entry]:
    """Entries that hold the words; where none does, those that share most of them or mean nearly that."""
    entries, wanted = entries_of(text), normal(words)
    if not wanted:
        return []
    holding = [entry for entry in entries if wanted in normal(entry.text)]
    return (holding or alike(entries, words, embed))[:most]


def alike(entries: list[Entry], words: str, embed: "Embed") -> list[Entry]:
    if not entries:
        return []
    if len(entries) > MOST_COMPARED:
        entries = sorted(entries, key=lambda entry: -overlap(words, entry.text))[:MOST_COMPARED]
    asked, *vectors = embed([words, *(entry.content.removeprefix(USER_REQUESTED) for entry in entries)])
    scored = []
    for entry, vector in zip(entries, vectors, strict=True):
        shared = overlap(words, entry.text)
        near = float(asked @ vector) if asked is not None and vector is not None else 0.0
        if shared >= WORDS or near >= MEANING:
            scored.append((max(shared, near), entry))
    return [entry for _, entry in sorted(scored, key=lambda pair: -pair[0])]


def overlap(words: str, text: str) -> float:
    asked = set(re.findall(r"\w{3,}", words.casefold()))
    return len(asked & set(re.findall(r"\w{3,}", text.casefold()))) / len(asked) if asked else 0.0


def normal(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
