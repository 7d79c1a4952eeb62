"""What a search found, as lines of a prompt: worth their room, each thing once, with who said it."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory.injection.framing import FOUND_INTRO, SPEAKERS_INTRO, framed, one_line
from memory.models import Source, Speaker
from memory.search.results import MemorySearchResult
from memory.speech.orders import gives_orders
from memory.speech.pasted import is_logged
from memory.speech.phrases import phrases
from memory.speech.pleasantries import is_small_talk
from memory.storage import edits
from memory.storage.markdown import without_mark
from oneclaw.text import words
from oneclaw.tokens import quarters

# Hits below this share of the best score are noise, however much room is left.
# Measured with neighbours lending: 0.3 brings 0.3 points more of the evidence for a fifth more tokens.
SCORE_SHARE = 0.53
# A line with no more than this share of new terms repeats another, unless it has few or the other is long.
NEW_TERMS, FEWEST_TERMS, MUCH_LONGER = 0.1, 3, 3
WORD = re.compile(r"\w+")
# In less room than this no line is worth the search for one.
SHORTEST = 24
# After so many in a row that didn't fit, hardly one will; and text may shrink so much on one line.
MOST_MISSES, WHITE_SPACE = 30, 2

KINDS = {Source.DAILY_LOG: "Daily log", Source.TRANSCRIPT: "Chat", Source.LONG_TERM: "Long-term memory"}
SPEAKERS = {
    Speaker.USER: "User",
    Speaker.ASSISTANT: "Assistant",
    Speaker.PASTED: "Pasted text",
    Speaker.PLAYED: "Role-play",
}
# At equal worth the user's own words come first, and what is nobody's word last.
STANDING = {"": 0, Speaker.USER: 0, Speaker.ASSISTANT: 1, Speaker.PASTED: 2, Speaker.PLAYED: 2}


@dataclass(frozen=True, slots=True)
class Recalled:
    """A hit and its words as they stand in the prompt."""

    hit: MemorySearchResult
    words: str

    @property
    def line(self) -> str:
        return f"- {led(self.hit, self.words)}"

    @property
    def group(self) -> tuple[str, str, str]:
        """What the lines under one heading have in common."""
        return self.hit.source_type, self.hit.source_date or "", self.hit.source_key

    @property
    def heading(self) -> str:
        return f"### {source(self.hit)}"


@dataclass(frozen=True, slots=True)
class Choice:
    """What goes in, what the budget cut, and what MEMORY.md's part says already."""

    taken: list[Recalled]
    cut: list[MemorySearchResult]
    known: list[MemorySearchResult]

    @property
    def text(self) -> str:
        return block(self.taken)


def source(hit: MemorySearchResult) -> str:
    """Where a memory comes from: `Daily log 2026-02-28`."""
    kind = KINDS.get(Source(hit.source_type), "Memory")
    dated = hit.source_date and hit.source_type != Source.LONG_TERM
    return f"{kind} {hit.source_date}" if dated else kind


def said(hit: MemorySearchResult) -> str:
    """A memory on one line, led by who said it where that was in a chat."""
    return led(hit, one_line(hit.chunk_text))


def led(hit: MemorySearchResult, words: str) -> str:
    speaker = SPEAKERS.get(Speaker(hit.speaker)) if hit.speaker else ""
    return f"{speaker}: {words}" if speaker else words


def worthy(hits: Iterable[MemorySearchResult]) -> list[MemorySearchResult]:
    """The hits that are no noise beside the best, in the order in which they deserve room."""
    ranked = sorted(hits, key=lambda hit: (-round(hit.score, 2), STANDING.get(hit.speaker, 0), -hit.score))
    best = next((hit.score for hit in ranked if is_fit(hit)), 0.0)
    return [hit for hit in ranked if hit.score >= best * SCORE_SHARE]


def is_fit(hit: MemorySearchResult) -> bool:
    """Whether a hit may be recalled by itself. A search that somebody asks for finds the others too."""
    if not hit.speaker:
        return True
    if is_small_talk(hit.chunk_text):
        return False
    if hit.speaker == Speaker.USER:
        return True
    return not gives_orders(hit.chunk_text) and not (
        hit.speaker == Speaker.PASTED and is_logged(hit.chunk_text)
    )


def choose(hits: Sequence[MemorySearchResult], standing: str, room: int) -> Choice:
    """The hits that fit into the room (in quarter tokens) and that nothing before them says already."""
    choice = Choice([], [], [])
    seen = Said(standing)
    left = room - quarters(block([]))
    opened = set[str]()
    misses = 0
    for number, hit in enumerate(hits):
        if left < SHORTEST or misses == MOST_MISSES:
            choice.cut.extend(hits[number:])
            break
        # Looking closer costs more than counting letters.
        if len(hit.chunk_text) > WHITE_SPACE * left:
            choice.cut.append(hit)
            misses += 1
            continue
        body = one_line(hit.chunk_text)
        if seen.whole(body):
            if hit.source_type == Source.LONG_TERM:
                choice.known.append(hit)
            continue
        bag = Bag.of(body)
        if not is_fit(hit) or seen.nearly(bag):
            continue
        new = Recalled(hit, body)
        first = {"\n".join(new.group): new.heading} | ({"chats": SPEAKERS_INTRO} if hit.speaker else {})
        cost = quarters(new.line) + 1
        cost += sum(quarters(text) + 1 for key, text in first.items() if key not in opened)
        if cost > left:
            choice.cut.append(hit)
            misses += 1
            continue
        left -= cost
        misses = 0
        opened.update(first)
        seen.add(body, bag)
        choice.taken.append(new)
    return choice


def block(taken: list[Recalled]) -> str:
    """The lines under their headings: groups by their best hit, lines of a group as they stand there."""
    groups: dict[tuple[str, str, str], list[Recalled]] = defaultdict(list)
    for each in taken:
        groups[each.group].append(each)
    lines = list[str]()
    for group in groups.values():
        lines.append(group[0].heading)
        lines += [each.line for each in sorted(group, key=lambda each: each.hit.anchor or 0)]
    chats = any(each.hit.speaker for each in taken)
    intro = f"{FOUND_INTRO} {SPEAKERS_INTRO}" if chats else FOUND_INTRO
    return framed(intro, "\n".join(["## Relevant Memories", *lines]))


class Said:
    """What stands in a block already, found by whole lines and by words."""

    def __init__(self, standing: str) -> None:
        self.lines = {edits.normal(without_mark(line.strip())) for line in standing.split("\n")}
        self.text = edits.normal(standing)
        self.bags = list[Bag]()
        self.holding: dict[str, list[int]] = defaultdict(list)

    def whole(self, line: str) -> bool:
        """Whether the very words are there."""
        wanted = edits.normal(line)
        return wanted in self.lines or (len(wanted) > edits.DUPLICATE_LENGTH and wanted in self.text)

    def nearly(self, bag: "Bag") -> bool:
        """Whether some line says the same in nearly the same words."""
        # A line that has nearly all of these terms has one of the two longest.
        rare = sorted(bag.terms, key=lambda term: (-len(term), term))[:2]
        return any(bag.repeats(self.bags[at]) for at in {at for term in rare for at in self.holding[term]})

    def add(self, line: str, bag: "Bag") -> None:
        wanted = edits.normal(line)
        self.lines.add(wanted)
        self.text += f"\n{wanted}"
        for term in bag.terms:
            self.holding[term].append(len(self.bags))
        self.bags.append(bag)


@dataclass(frozen=True, slots=True)
class Bag:
    """A line's terms, and those of its words that turn its meaning."""

    terms: frozenset[str]
    negations: frozenset[str]

    @classmethod
    def of(cls, text: str) -> "Bag":
        # Splitting at spaces is quick; other scripts are cut into pairs.
        found = WORD.findall(text.lower()) if text.isascii() else words(text)
        terms = (word for word in found if len(word) > 3 or word[0].isdigit() or not word.isascii())
        return cls(frozenset(terms), phrases("negation").words.intersection(found))

    def repeats(self, said: "Bag") -> bool:
        """Whether another line, not much longer, has nearly all of these terms and the same negations."""
        if len(self.terms) < FEWEST_TERMS or len(said.terms) > MUCH_LONGER * len(self.terms):
            return False
        new = self.terms - said.terms
        if len(new) > NEW_TERMS * len(self.terms) or self.negations != said.negations:
            return False
        return not any(term[0].isdigit() for term in new)
