"""Reasons to refuse a compacted MEMORY.md, above all what it would lose (RFC-049 and the design).

An entry counts as kept if its text stands in the result, or if most of its content words occur together
in one entry of the result: that is a merge, or better wording. Words are weighted by how few of the old
entries have them, so that "Fact number 7" is not kept by a surviving "Fact number 8". An entry is also kept
by one that says the same in fewer words and nothing else: "Likes tea" for "Likes tea, note 7". Lost entries
that say the same thing as each other count once.
"""

from collections import defaultdict
from functools import cached_property

from memory.longterm.likeness import WordWeights, content_words, every_word
from memory.storage.edits import normal
from memory.storage.entries import Entry, entries_of
from memory.storage.markdown import bare_lines, without_mark
from memory.storage.sections import HEADER, USER_REQUESTED

SHORTEST = 50  # characters (RFC-049 3E)
MOST_LOST = 0.25  # of the entries
KEPT_SHARE = 0.5  # of an entry's weight
# Comparing lost entries with each other costs their number squared.
COMPARED = 1_000


class Comparison:
    """Two versions of MEMORY.md, or of a part of it."""

    def __init__(self, before: str, after: str) -> None:
        self.before, self.after = entries_of(before), entries_of(after)
        self.old = [line for entry in self.before for line in lines_of(entry)]
        self.weights = WordWeights(self.old)
        self._after_text = normal(after)
        self._words = [set(content_words(entry.text)) for entry in self.after]

    @cached_property
    def _entries_with(self) -> dict[str, list[int]]:
        found = defaultdict[str, list[int]](list)
        for at, words in enumerate(self._words):
            for word in words:
                found[word].append(at)
        return found

    def is_kept(self, line: str) -> bool:
        if normal(line) in self._after_text:
            return True
        mine, all_mine = set(content_words(line)), set(every_word(line))
        near = {at for word in mine for at in self._entries_with.get(word, ())}
        for at in near:
            if self.weights.share(line, self._words[at]) >= KEPT_SHARE:
                return True
            shorter = set(every_word(self.after[at].text)) & all_mine
            if self._words[at] <= mine and len(shorter) > KEPT_SHARE * len(all_mine):
                return True
        return False

    @cached_property
    def lost(self) -> list[str]:
        """Old lines of which nothing is left, those that say the same only once."""
        lost = list(dict.fromkeys(line for line in self.old if not self.is_kept(line)))
        if len(lost) > COMPARED:
            return lost
        distinct = list[str]()
        for line in lost:
            if not any(self._same(line, other) for other in distinct):
                distinct.append(line)
        return distinct

    def _same(self, one: str, other: str) -> bool:
        words = set(content_words(one)), set(content_words(other))
        both = self.weights.share(one, words[1]), self.weights.share(other, words[0])
        return min(both) > KEPT_SHARE

    @property
    def missing_requests(self) -> list[str]:
        """Entries that the user asked for and that are not in the result word for word."""
        kept = {plain(entry.content) for entry in self.after}
        lines = {line for entry in self.after for line in lines_of(entry)}
        missing = [entry.content for entry in self.before if is_request(entry.content)]
        missing = [text for text in missing if plain(text) not in kept]
        inner = [line for line in self.old if is_request(line) and line not in lines]
        return list(dict.fromkeys([*missing, *inner]))

    @property
    def refusal(self) -> str:
        """Why the result must not replace the original; empty if it may."""
        if missing := self.missing_requests:
            return f"It dropped or reworded something you asked to keep: “{shortened(missing[0])}”."
        total = len(dict.fromkeys(self.old))
        if total and len(self.lost) / total > MOST_LOST:
            return (
                f"It lost {len(self.lost)} of {total} entries without merging them into others, "
                f"such as “{shortened(self.lost[0])}”."
            )
        return ""


def refusal(before: str, after: str) -> str:
    """Why a compacted file must not replace the original; empty if it may."""
    if not after.strip():
        return "The model returned nothing."
    if len(after.strip()) < SHORTEST:
        return f"The model returned only {len(after.strip())} characters."
    if not has_header(after):
        return f"The result does not begin with “{HEADER}”."
    return Comparison(before, after).refusal


def has_header(text: str) -> bool:
    return text.lstrip("﻿ \t\r\n").split("\n", 1)[0].rstrip() == HEADER


def lines_of(entry: Entry) -> list[str]:
    """What an entry says, line by line, without list marks."""
    lines = (without_mark(line.strip()).strip() for line in bare_lines(entry.text))
    return [line for line in lines if content_words(line)]


def is_request(text: str) -> bool:
    return text.lstrip(" \t*_[x]").casefold().startswith(USER_REQUESTED.casefold())


def plain(text: str) -> str:
    return "\n".join(line.strip() for line in bare_lines(text.strip()))


def shortened(text: str, limit: int = 80) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0] + " …"
