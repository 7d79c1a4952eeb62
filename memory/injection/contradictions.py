"""Of two memories that can't both hold now, which is the older: "lives in Bonn", and later "moved to Oslo".

Nothing is guessed. Two lines contradict each other where both say of the same one what there is one of at a
time (a home, a deadline, a favourite) and name other values, or where the later one takes the same words
back. What may be true side by side, two trips, two children or two meals, is left alone. The words stand in
contradictions.toml.
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

from memory.index.terms import STOP_WORDS, terms
from memory.injection.lines import READ
from memory.models import Source, Speaker
from memory.search.languages import language_of, languages
from memory.search.results import MemorySearchResult
from oneclaw.text import WORD, fold, is_unspaced, words_in

# A fact is short. In a long text, who and what are anybody's guess.
LONGEST = 240
# A line that takes another back may say so much more, and the other must say at least so much.
MORE_SAID, LEAST_SAID = 2, 2
# Whose lines can hold what is true of the user: logs, and the user's own words.
TRUSTED = ("", Speaker.USER)
FACTS = ("home", "work")


@dataclass(frozen=True, slots=True)
class Grammar:
    """One language's way to say what there is one of."""

    facts: tuple[tuple[str, re.Pattern[str]], ...]
    thing: re.Pattern[str]
    gives: re.Pattern[str]
    ended: re.Pattern[str]
    stop: re.Pattern[str]
    past: frozenset[str]
    own: frozenset[str]


@dataclass(frozen=True, slots=True)
class Claim:
    """What a line says of something: of whom, which fact or thing, and its value."""

    of: frozenset[str]
    attribute: str
    value: frozenset[str]

    def excludes(self, other: "Claim") -> bool:
        same = self.attribute == other.attribute and self.of == other.of
        return same and not self.value & other.value


@dataclass(frozen=True, slots=True)
class Line:
    """A line as far as it can contradict another; what takes longer is looked at only where it may matter."""

    text: str
    said: frozenset[str]

    @classmethod
    def of(cls, text: str) -> "Line | None":
        return None if len(text) > LONGEST or text.endswith("?") else line_of(text)

    @property
    def claims(self) -> tuple[Claim, ...]:
        return claims_in(self.text) if cues().may_be_in(self) else ()

    @property
    def may_end(self) -> bool:
        return endings().may_be_in(self)

    def takes_back(self, other: "Line") -> bool:
        """Whether it says the same as another line but for a word that ends it, or begins it again."""
        if len(other.said - self.said) > 2 * MORE_SAID or len(self.said) - len(other.said) > 3 * MORE_SAID:
            return False
        code = language_of(self.text)
        grammar = grammars().get(code)
        if grammar is None or (self.said | other.said) & grammar.past:
            return False
        if bool(grammar.ended.search(self.text)) == bool(grammar.ended.search(other.text)):
            return False
        mine, theirs = (meant(grammar.ended.sub(" ", one.text), grammar, code) for one in (self, other))
        return len(theirs) >= LEAST_SAID and theirs <= mine and len(mine - theirs) <= MORE_SAID


@lru_cache(maxsize=READ)
def line_of(text: str) -> Line:
    folded = fold(" ".join(text.split()))
    return Line(folded, frozenset(words_in(folded)))


@dataclass(frozen=True, slots=True)
class Cues:
    """Words of which one stands in every line of a kind; those of scripts without spaces anywhere in it."""

    words: frozenset[str]
    inside: tuple[str, ...]

    @classmethod
    def of(cls, listed: Iterable[str]) -> "Cues":
        wanted = set(listed)
        inside = {word for word in wanted if is_unspaced(word)}
        return cls(frozenset(wanted - inside), tuple(inside))

    def may_be_in(self, line: Line) -> bool:
        if not self.words.isdisjoint(line.said):
            return True
        return not line.text.isascii() and any(cue in line.text for cue in self.inside)


def outdated(hits: Sequence[MemorySearchResult]) -> dict[int, int]:
    """For each hit that another, later one contradicts, the place of that one: the latest there is."""
    read = {
        at: line
        for at, hit in enumerate(hits)
        if hit.source_date and hit.source_type != Source.LONG_TERM and hit.speaker in TRUSTED
        if (line := Line.of(hit.chunk_text)) is not None
    }
    claims = {at: claimed for at, line in read.items() if (claimed := line.claims)}
    pairs = [
        (one, other)
        for one, other in combinations(claims, 2)
        if any(mine.excludes(theirs) for mine in claims[one] for theirs in claims[other])
    ]
    days = {at: hits[at].source_date or "" for at in read}
    ending = {at for at, line in read.items() if line.may_end}
    for one, other in product(ending, read.keys() - ending):
        later, earlier = (one, other) if days[one] > days[other] else (other, one)
        if read[later].takes_back(read[earlier]):
            pairs.append((later, earlier))
    found = dict[int, int]()
    for one, other in pairs:
        later, earlier = (one, other) if days[one] > days[other] else (other, one)
        if days[later] != days[earlier] and days[later] > days.get(found.get(earlier, -1), ""):
            found[earlier] = later
    return found


@lru_cache(maxsize=READ)
def claims_in(text: str) -> tuple[Claim, ...]:
    """The claims of a line. Three words may be of two languages: the one that finds a claim reads it."""
    known, code = grammars(), language_of(text)
    if code not in known or known[code].ended.search(text):
        return ()
    for each in (code, *(other for other in known if other != code)):
        if found := tuple(claims_of(text, known[each], each)):
            return found
    return ()


def claims_of(text: str, grammar: Grammar, code: str) -> Iterable[Claim]:
    for name, pattern in grammar.facts:
        if match := pattern.search(text):
            value = meant(until(match["value"], grammar), grammar, code)
            if value:
                yield Claim(meant(text[: match.start()], grammar, code), name, value)
    if (thing := grammar.thing.search(text)) and (given := grammar.gives.search(text, thing.end())):
        of = meant(text[: given.start()], grammar, code)
        value = meant(until(text[given.end() :], grammar), grammar, code)
        if of and value:
            yield Claim(of, "thing", value)


def until(text: str, grammar: Grammar) -> str:
    """A value without what is said after it."""
    end = grammar.stop.search(text)
    return text[: end.start()] if end else text


def meant(text: str, grammar: Grammar, code: str) -> frozenset[str]:
    """The terms of a text that name something; the user is nobody in particular."""
    language = languages()[code]
    small = language.small - {"no", "not", "first", "second", "third", "may"}
    found = terms(language.without(text, small | grammar.own))
    # "likes" is cut to a word that says as little as "like" does.
    return frozenset(term for term in found if term not in STOP_WORDS)


@cache
def cues() -> Cues:
    return Cues.of(
        word for said in told().values() for key in ("cues", "things") for word in fold(said[key]).split()
    )


@cache
def endings() -> Cues:
    """Of each phrase the longest word; of a run all of it."""
    phrases = [phrase for said in told().values() for phrase in fold(said["ended"]).split("|")]
    return Cues.of(max(WORD.findall(phrase), key=len) for phrase in phrases)


@cache
def told() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("contradictions.toml").read_text(encoding="utf-8"))


@cache
def grammars() -> dict[str, Grammar]:
    return {code: grammar_of(said, dense=languages()[code].dense) for code, said in told().items()}


def grammar_of(said: dict[str, Any], *, dense: bool) -> Grammar:
    edge = "" if dense else r"\b"
    ends = "" if dense else r"(?!\w)"
    things = "|".join(re.escape(word) for word in sorted(fold(said["things"]).split(), key=len, reverse=True))
    gives = "|".join(sorted(fold(said["is"]).split("|"), key=len, reverse=True))
    before = "" if dense else r"(?<![\w])"
    return Grammar(
        facts=tuple((name, re.compile(pattern)) for name in FACTS for pattern in said[name]),
        thing=re.compile(f"{edge}(?:{things}){ends}"),
        gives=re.compile(f"{before}(?:{gives}){ends}"),
        ended=re.compile(f"{edge}(?:{fold(said['ended'])}){ends}"),
        stop=re.compile(said["stop"]),
        past=frozenset(fold(said["past"]).split()),
        own=frozenset(fold(said["self"]).split()),
    )
