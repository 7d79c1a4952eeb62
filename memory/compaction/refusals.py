"""Reasons to refuse a compacted MEMORY.md, or to doubt it (RFC-049 and the design).

An entry counts as kept if its text stands in the result, or if most of its content words occur together
in one entry of the result: that is a merge, or better wording. Words are weighted by how few of the old
entries have them, so that "Fact number 7" is not kept by a surviving "Fact number 8". An entry is also kept
by one that says the same in fewer words and nothing else: "Likes tea" for "Likes tea, note 7"; and by one
that means the same, in other words or another language. Lost entries that say the same thing as each other
count once. Where an entry gave way to another one that was there before, the later date has to be the one
that holds.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Literal

from memory.longterm.dates import words_of
from memory.longterm.likeness import Likeness, WordWeights, content_words, every_word
from memory.storage.edits import normal
from memory.storage.entries import Entry, entries_of
from memory.storage.markdown import bare_lines, without_mark
from memory.storage.sections import HEADER, USER_REQUESTED

SHORTEST = 50  # characters (RFC-049 3E)
MOST_LOST = 0.1  # of the entries, and of a few entries one
MOST_PASSING = 0.7  # of the entries that may go because the model says that they were passing
KEPT_SHARE = 0.5  # of an entry's weight
SAME_MEANING = 0.65  # cosine; most translations reach 0.66, "Wohnt in Berlin" and "Wohnt in München" 0.62
FOUND_SHARE = 0.34  # of a new entry's weight that old ones must have
GROWN = 1.02
# Comparing lost entries with each other costs their number squared.
COMPARED = 1_000


@dataclass(frozen=True, slots=True)
class Dropped:
    """A note that the model says it dropped, and why."""

    text: str
    reason: str

    @property
    def passing(self) -> bool:
        return self.reason.casefold().startswith("pass")

    @property
    def superseded(self) -> bool:
        return self.reason.casefold().startswith(("supersed", "contradict", "outdated", "replaced"))


class Comparison:
    """Two versions of MEMORY.md, or of a part of it.

    `days` tells when an entry was last said, by its words as memory.longterm.dates names them.
    """

    def __init__(
        self,
        before: str,
        after: str,
        days: Mapping[str, date] | None = None,
        dropped: Sequence[Dropped] = (),
        likeness: Likeness | None = None,
    ) -> None:
        self.before, self.after = entries_of(before), entries_of(after)
        self.days, self.dropped, self.likeness = days or {}, dropped, likeness or Likeness()
        self.old = [line for entry in self.before for line in lines_of(entry)]
        self.weights = WordWeights(self.old)
        self._after_text = normal(after)
        self._words = [set(content_words(entry.text)) for entry in self.after]
        self._said = {
            line: self.days[words]
            for entry in self.before
            if (words := words_of(entry.text)) in self.days
            for line in lines_of(entry)
        }
        self._unchanged = {normal(entry.content) for entry in self.before}

    @cached_property
    def _entries_with(self) -> dict[str, list[int]]:
        found = defaultdict[str, list[int]](list)
        for at, words in enumerate(self._words):
            for word in words:
                found[word].append(at)
        return found

    def is_kept(self, line: str) -> bool:
        return normal(line) in self._after_text or bool(self.heirs(line))

    def heirs(self, line: str) -> list[Entry]:
        """The entries of the result that say what a line said: by its words, else by its meaning."""
        mine, all_mine = set(content_words(line)), set(every_word(line))
        near = {at for word in mine for at in self._entries_with.get(word, ())}
        found = list[Entry]()
        for at in sorted(near):
            shorter = set(every_word(self.after[at].text)) & all_mine
            is_shorter = self._words[at] <= mine and len(shorter) > KEPT_SHARE * len(all_mine)
            if is_shorter or self.weights.share(line, self._words[at]) >= KEPT_SHARE:
                found.append(self.after[at])
        return found or [entry for entry in self.after if self._means(line, entry.content)]

    def _means(self, line: str, other: str) -> bool:
        # To a model of meaning, one number is like another.
        if not numbers(line) <= numbers(other):
            return False
        self.likeness.learn(entry.content for entry in self.after)
        near = self.likeness.cosine(line, other)
        return near is not None and near >= SAME_MEANING

    @cached_property
    def _gone(self) -> list[tuple[str, list[Entry]]]:
        """Old lines that are not in the result as they were, and who says the same now."""
        lines = dict.fromkeys(line for line in self.old if normal(line) not in self._after_text)
        return [(line, self.heirs(line)) for line in lines]

    @cached_property
    def outdated(self) -> list[tuple[str, str]]:
        """Lines that gave way to an entry that was there before and was last said earlier, and that entry."""
        found = list[tuple[str, str]]()
        for line, heirs in self._gone:
            day, old = self._said.get(line), [heir for heir in heirs if self._was_there(heir)]
            is_repeat = any(set(content_words(line)) <= set(content_words(heir.text)) for heir in old)
            if not day or is_repeat or len(old) < len(heirs):
                continue
            if not heirs:
                # Nothing is left of it: did an older word on the same thing stay?
                old = [entry for entry in self.after if self._is_older(entry, day, line)]
            said = [self.days.get(words_of(heir.text)) for heir in old]
            if old and line not in self._explained and all(each is not None and each < day for each in said):
                found.append((line, old[0].content))
        return found

    def _is_older(self, entry: Entry, day: date, line: str) -> bool:
        said = self.days.get(words_of(entry.text))
        return said is not None and said < day and self.likeness.related(entry.content, line)

    @cached_property
    def _explained(self) -> set[str]:
        """Lines that went because they were passing, or because a later word on the same thing holds."""
        found = {line for line, _ in self._gone if self._is_dropped(line, "passing")}
        for line, _ in self._gone:
            day = self._said.get(line)
            if day and self._is_dropped(line, "superseded"):
                later = (e for e in self.after if (self.days.get(words_of(e.text)) or day) > day)
                found |= {line} if any(self.likeness.related(e.content, line) for e in later) else set()
        return found

    def _was_there(self, entry: Entry) -> bool:
        return normal(entry.content) in self._unchanged

    @cached_property
    def lost(self) -> list[str]:
        """Old lines of which nothing is left, those that say the same only once."""
        return self._distinct([line for line in self._without_heir if line not in self._explained])

    @cached_property
    def passing(self) -> list[str]:
        """Old lines of which nothing is left because the model says that they were only true for a while."""
        return self._distinct([line for line in self._without_heir if self._is_dropped(line, "passing")])

    @cached_property
    def _without_heir(self) -> list[str]:
        return [line for line, heirs in self._gone if not heirs]

    def _is_dropped(self, line: str, reason: Literal["passing", "superseded"]) -> bool:
        said = (each.text for each in self.dropped if getattr(each, reason))
        return any(normal(text) == normal(line) or self._same(text, line) for text in said)

    def _distinct(self, lines: list[str]) -> list[str]:
        if len(lines) > COMPARED:
            return lines
        found = list[str]()
        for line in lines:
            if not any(self._same(line, other) for other in found):
                found.append(line)
        return found

    def _same(self, one: str, other: str) -> bool:
        words = self.weights.words(one), self.weights.words(other)
        if words[0].isdisjoint(words[1]):
            return False
        both = self.weights.share(one, words[1]), self.weights.share(other, words[0])
        return min(both) > KEPT_SHARE

    @cached_property
    def invented(self) -> list[str]:
        """Entries of the result that no old one is about."""
        known = {word for line in self.old for word in content_words(line)}
        found = list[str]()
        for entry, words in zip(self.after, self._words, strict=True):
            new = words - known
            if not words or len(new) <= (1 - FOUND_SHARE) * len(words):
                continue
            if not any(self._means_either(entry.content, line) for line in self.old):
                found.append(entry.content)
        return found

    def _means_either(self, one: str, other: str) -> bool:
        near = self.likeness.cosine(one, other)
        return near is not None and near >= SAME_MEANING

    @property
    def has_grown(self) -> bool:
        """Whether it says it all in more words; headings and marks don't count."""
        sizes = [sum(len(entry.content) for entry in found) for found in (self.before, self.after)]
        return sizes[1] > max(sizes[0] * GROWN, sizes[0] + 20)

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
        """Why the result must never replace the original; empty if it may."""
        if missing := self.missing_requests:
            return f"It dropped or reworded something you asked to keep: “{shortened(missing[0])}”."
        return ""

    @property
    def doubt(self) -> str:
        """Why somebody should look before the result replaces the original; empty if nobody needs to."""
        total = len(dict.fromkeys(self.old))
        if self.lost and len(self.lost) > max(1, total * MOST_LOST):
            return (
                f"It lost {len(self.lost)} of {total} entries without merging them into others, "
                f"such as “{shortened(self.lost[0])}”."
            )
        if self.passing and len(self.passing) > max(1, total * MOST_PASSING):
            return f"It dropped {len(self.passing)} of {total} entries as passing."
        if self.outdated:
            new, old = self.outdated[0]
            return f"It kept “{shortened(old)}”, though “{shortened(new)}” was said later."
        if self.invented:
            return f"It says something that no entry said: “{shortened(self.invented[0])}”."
        return "It has become longer instead of shorter." if self.has_grown else ""

    def inherited(self) -> dict[str, str]:
        """For each entry that speaks for old lines, the latest of them: it was said when that was."""
        found = dict[str, str]()
        for line, heirs in self._gone:
            for heir in heirs:
                best = found.get(heir.content)
                if best is None or self._day(line) > self._day(best):
                    found[heir.content] = line
        return found

    def _day(self, line: str) -> date:
        return self._said.get(line, date.min)

    def entry_of(self, line: str) -> Entry | None:
        """The old entry that a line is part of."""
        return next((entry for entry in self.before if line in lines_of(entry)), None)


def refusal(before: str, after: str) -> str:
    """Why a compacted file must never replace the original; empty if it may."""
    if not after.strip():
        return "The model returned nothing."
    if len(after.strip()) < SHORTEST:
        return f"The model returned only {len(after.strip())} characters."
    if not has_header(after):
        return f"The result does not begin with “{HEADER}”."
    return Comparison(before, after).refusal


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+", text))


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
