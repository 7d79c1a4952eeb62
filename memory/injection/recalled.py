"""What a search found, as lines of a prompt: worth their room, each thing once, with who said it."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from memory.injection.contradictions import outdated
from memory.injection.framing import FOUND_INTRO, OLDER, OLDER_INTRO, SPEAKERS_INTRO, framed
from memory.injection.lines import READ, Said, read_line
from memory.models import Source, Speaker
from memory.search.results import MemorySearchResult
from memory.speech.orders import gives_orders
from memory.speech.pasted import is_logged
from memory.speech.pleasantries import is_small_talk
from oneclaw.tokens import quarters

# Hits below this share of the best score are noise, however much room is left.
# Measured on the development conversations: 0.4 brings 0.1 to 0.3 points more of the evidence for 300 to 500
# tokens more a message.
SCORE_SHARE = 0.53
# In less room than this no line is worth the search for one.
SHORTEST = 24
# After so many in a row that didn't fit, hardly one will; and text may shrink so much on one line.
MOST_MISSES, WHITE_SPACE = 12, 2
# So many of the best are looked at for contradictions: about as many as a block holds.
COMPARED = 60

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
        mark = f"{OLDER} " if self.hit.older else ""
        return f"- {mark}{led(self.hit, self.words)}"

    @property
    def group(self) -> str:
        """What the lines under one heading have in common: their date, wherever they stand."""
        return "" if self.hit.source_type == Source.LONG_TERM else self.hit.source_date or ""

    @property
    def heading(self) -> str:
        return f"### {self.group or source(self.hit)}"

    @property
    def place(self) -> tuple[bool, str, int]:
        """Where it stands under its heading: the log first, then each chat as it went on."""
        return self.hit.source_type == Source.TRANSCRIPT, self.hit.source_key, self.hit.anchor or 0


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
    return led(hit, read_line(hit.chunk_text).line)


def led(hit: MemorySearchResult, words: str) -> str:
    speaker = SPEAKERS.get(Speaker(hit.speaker)) if hit.speaker else ""
    return f"{speaker}: {words}" if speaker else words


def without_echoes(hits: Iterable[MemorySearchResult], message: str) -> list[MemorySearchResult]:
    """The hits that are not the message itself, said once before: asking again tells nothing new."""
    asked = read_line(message).normal
    return [hit for hit in hits if hit.speaker != Speaker.USER or read_line(hit.chunk_text).normal != asked]


def worthy(hits: Iterable[MemorySearchResult]) -> list[MemorySearchResult]:
    """The hits that are no noise beside the best, in the order in which they deserve room."""
    ranked = sorted(hits, key=lambda hit: (-round(hit.score, 2), STANDING.get(hit.speaker, 0), -hit.score))
    best = next((hit.score for hit in ranked if is_fit(hit)), 0.0)
    return [hit for hit in ranked if hit.score >= best * SCORE_SHARE]


def newest_first(hits: list[MemorySearchResult]) -> list[MemorySearchResult]:
    """The hits with those marked that a later one contradicts; that one comes before their day's lines."""
    pairs = outdated(hits[:COMPARED])
    if not pairs:
        return hits
    marked = [replace(hit, older=True) if at in pairs else hit for at, hit in enumerate(hits)]
    order = [*range(len(hits))]
    for earlier, later in pairs.items():
        day = hits[earlier].source_date
        first = next(place for place, at in enumerate(order) if hits[at].source_date == day)
        if order.index(later) > first:
            order.remove(later)
            order.insert(first, later)
    return [marked[at] for at in order]


def is_fit(hit: MemorySearchResult) -> bool:
    """Whether a hit may be recalled by itself. A search that somebody asks for finds the others too."""
    return not hit.speaker or is_fit_by(hit.speaker, hit.chunk_text)


@lru_cache(maxsize=READ)
def is_fit_by(speaker: str, text: str) -> bool:
    """The same for what somebody said in a chat."""
    if is_small_talk(text):
        return False
    if speaker == Speaker.USER:
        return True
    return not gives_orders(text) and not (speaker == Speaker.PASTED and is_logged(text))


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
        read = read_line(hit.chunk_text)
        if seen.whole(read):
            if hit.source_type == Source.LONG_TERM:
                choice.known.append(hit)
            continue
        if not is_fit(hit) or seen.nearly(read.bag):
            continue
        new = Recalled(hit, read.line)
        first = [new.heading]
        if hit.speaker:
            first.append(SPEAKERS_INTRO)
        if hit.older:
            first.append(OLDER_INTRO)
        cost = quarters(new.line) + 1
        cost += sum(quarters(text) + 1 for text in first if text not in opened)
        if cost > left:
            choice.cut.append(hit)
            misses += 1
            continue
        left -= cost
        misses = 0
        opened.update(first)
        seen.add(read)
        choice.taken.append(new)
    return choice


def block(taken: list[Recalled]) -> str:
    """The lines under their headings: groups by their best hit, lines of a group as they stand there."""
    groups: dict[str, list[Recalled]] = defaultdict(list)
    for each in taken:
        groups[each.heading].append(each)
    lines = list[str]()
    for group in groups.values():
        lines.append(group[0].heading)
        lines += [each.line for each in sorted(group, key=lambda each: each.place)]
    intro = [FOUND_INTRO]
    if any(each.hit.speaker for each in taken):
        intro.append(SPEAKERS_INTRO)
    if any(each.hit.older for each in taken):
        intro.append(OLDER_INTRO)
    return framed(" ".join(intro), "\n".join(["## Relevant Memories", *lines]))
