"""Texts as lines of a prompt, read once each: their words, and whether one says what another has said."""

import re
from dataclasses import dataclass
from functools import lru_cache

from memory.injection.framing import one_line
from memory.speech.phrases import phrases
from memory.storage import edits
from memory.storage.markdown import without_mark
from oneclaw.text import words

# About what twenty messages recall, and a few megabytes: in a talk the same memories come again and again.
READ = 2_000
# A line with no more than this share of new terms repeats another, unless it has few or the other is long.
NEW_TERMS, FEWEST_TERMS, MUCH_LONGER = 0.1, 3, 3
WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Bag:
    """A line's terms, and those of its words that turn its meaning."""

    terms: frozenset[str]
    negations: frozenset[str]

    @classmethod
    def of(cls, text: str) -> "Bag":
        # Splitting at spaces is quick; other scripts are cut into pairs.
        found = WORD.findall(text.lower()) if text.isascii() else words(text)
        terms = frozenset(word for word in found if len(word) > 3 or word[0].isdigit() or not word.isascii())
        return cls(terms, phrases("negation").words.intersection(found))

    def repeats(self, said: "Bag") -> bool:
        """Whether another line, not much longer, has nearly all of these terms and the same negations."""
        if len(self.terms) < FEWEST_TERMS or len(said.terms) > MUCH_LONGER * len(self.terms):
            return False
        new = self.terms - said.terms
        if len(new) > NEW_TERMS * len(self.terms) or self.negations != said.negations:
            return False
        return not any(term[0].isdigit() for term in new)


@dataclass(frozen=True, slots=True)
class ReadLine:
    """A text on one line, as it stands in a prompt, and as it is compared with others."""

    line: str
    normal: str
    bag: Bag


@lru_cache(maxsize=READ)
def read_line(text: str) -> ReadLine:
    line = one_line(text)
    return ReadLine(line, edits.normal(line), Bag.of(line))


class Said:
    """What stands in a block already, found by whole lines and by words."""

    def __init__(self, standing: str) -> None:
        self.lines = {edits.normal(without_mark(line.strip())) for line in standing.split("\n")}
        self.text = edits.normal(standing)
        self.bags = list[Bag]()
        self.terms = set[str]()

    def whole(self, read: ReadLine) -> bool:
        """Whether the very words are there."""
        wanted = read.normal
        return wanted in self.lines or (len(wanted) > edits.DUPLICATE_LENGTH and wanted in self.text)

    def nearly(self, bag: Bag) -> bool:
        """Whether some line says the same in nearly the same words."""
        # Most lines have more new terms than one that repeats, whatever line that would be.
        if len(bag.terms - self.terms) > NEW_TERMS * len(bag.terms):
            return False
        return any(bag.repeats(said) for said in self.bags)

    def add(self, read: ReadLine) -> None:
        self.lines.add(read.normal)
        self.text += f"\n{read.normal}"
        self.bags.append(read.bag)
        self.terms |= read.bag.terms
