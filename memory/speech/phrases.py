"""Lists of phrases in several languages, found in time that is linear in the text."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from oneclaw.text import is_paired

DIVIDED = re.compile(r"[,\n]")
WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Phrases:
    """Phrases as a pattern, and what must stand in a text for the pattern to be worth trying.

    An alternation of a hundred phrases is tried at every word. Most texts have nothing of a list, and a look
    at their words tells so in a fiftieth of the time.
    """

    pattern: re.Pattern[str]
    # The longest word of each phrase, whole or as a beginning; and what may stand inside a run.
    words: frozenset[str]
    beginnings: tuple[str, ...]
    inside: tuple[str, ...]

    @classmethod
    def of(cls, listed: Iterable[str]) -> "Phrases":
        wanted = {phrase.strip() for phrase in listed if phrase.strip()}
        spaced = {phrase for phrase in wanted if not is_paired(phrase)}
        longest = {max(re.findall(r"\w+\*?", phrase), key=len) for phrase in spaced}
        return cls(
            pattern(wanted),
            frozenset(word for word in longest if not word.endswith("*")),
            tuple(word.removesuffix("*") for word in longest if word.endswith("*")),
            tuple(wanted - spaced),
        )

    def are_in(self, text: str, words: Iterable[str] | None = None) -> bool:
        """Whether a plain text has one of the phrases; `words` are its words, if they are known."""
        return self.may_be_in(text, words) and self.pattern.search(text) is not None

    def may_be_in(self, text: str, words: Iterable[str] | None = None) -> bool:
        found = WORD.findall(text) if words is None else words
        return (
            not self.words.isdisjoint(found)
            or any(word.startswith(self.beginnings) for word in found)
            or (not text.isascii() and any(phrase in text for phrase in self.inside))
        )


@cache
def phrases(*names: str) -> Phrases:
    """The phrases of these lists of phrases.toml."""
    lists = tomllib.loads(Path(__file__).with_name("phrases.toml").read_text(encoding="utf-8"))
    return Phrases.of(phrase for name in names for phrase in DIVIDED.split(lists[name]))


def pattern(listed: Iterable[str]) -> re.Pattern[str]:
    """Whole words where a script has spaces, anywhere in the text where it has none. A star is any ending."""
    # Longest first: of two that begin alike the longer is meant.
    wanted = {phrase.strip() for phrase in listed if phrase.strip()}
    ordered = sorted(wanted, key=lambda phrase: (-len(phrase), phrase))
    spaced = [
        re.escape(phrase).replace(r"\*", r"\w*+").replace(r"\ ", r"\s{1,3}")
        for phrase in ordered
        if not is_paired(phrase)
    ]
    unspaced = [re.escape(phrase) for phrase in ordered if is_paired(phrase)]
    return re.compile("|".join([*([rf"\b(?:{'|'.join(spaced)})\b"] if spaced else []), *unspaced]))


def plain(text: str) -> str:
    """Lower case with straight apostrophes, as phrases are written."""
    return text.casefold().replace("’", "'")
