"""What memory adds to a request: MEMORY.md, then what a search finds for the message, within a budget."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from memory.injection import recalled, standing
from memory.injection.lines import read_line
from memory.injection.recalled import Choice, newest_first, without_echoes, worthy
from memory.injection.standing import Offered, StandingPart
from memory.longterm import revisions
from memory.longterm.memory import LongTermMemory
from memory.search.results import MemorySearchResult
from oneclaw.tokens import estimate, quarters

log = logging.getLogger(__name__)

DEFAULT_TOKEN_BUDGET = 2000  # RFC-013
MOST_HITS = 400
# A memory takes about so many tokens of the block; where they turn out shorter, more are asked for.
TOKENS_A_HIT = 16
CUT_SHOWN = 20
# MEMORY.md gives way only to hits that fit so well by themselves, and leaves them at most this share.
STRONG, GIVEN_WAY = 0.5, 1 / 3

# A question, how many results, and the key of a source to leave out.
Search = Callable[[str, int, str], list[MemorySearchResult]]


class EntryUse(Protocol):
    """How much the entries of MEMORY.md are used."""

    def known(self, words: Iterable[str]) -> dict[str, tuple[int, ...]]: ...

    def note(self, words: Iterable[str]) -> None: ...


@dataclass(frozen=True, slots=True)
class Injection:
    """The block in its two parts, and the receipt of what went into it (plain JSON values)."""

    stable: str = ""
    variable: str = ""
    receipt: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "\n\n".join(filter(None, [self.stable, self.variable]))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Filled:
    """What was looked at for a message, and what of it went in."""

    budget: int
    # MEMORY.md, what of it may go in, and what did.
    file: str
    offer: Offered
    part: StandingPart
    hits: list[MemorySearchResult]
    choice: Choice
    # Hits that MEMORY.md's part says anyway.
    matched: list[MemorySearchResult]
    failed: list[str]

    @property
    def injection(self) -> Injection:
        """The block, without its receipt."""
        return Injection(self.part.text, self.choice.text if self.choice.taken else "")

    def receipt(self, text: str) -> dict[str, Any]:
        """What went in and what did not, for a block with this text."""
        part, choice = self.part, self.choice
        return {
            "budget": self.budget,
            "tokens": estimate(text),
            "long_term": {
                "lines": len(part.used),
                "skipped": skipped(part.used),
                "of": self.offer.count,
                "tokens": estimate(part.text),
                # By this the very text is found again in the history.
                "file": revisions.digest(self.file),
            },
            # What MEMORY.md's part says of the message anyway, and what was found beside it.
            "matched": [_receipt(hit) for hit in self.matched],
            "memories": [_receipt(each.hit, each.words) for each in choice.taken],
            "cut": {
                "long_term_lines": part.left_out,
                "memories": len(choice.cut),
                "list": [_receipt(hit) for hit in choice.cut[:CUT_SHOWN]],
            },
            "keyword_only": bool(self.hits) and not any(hit.vector_score or hit.dated for hit in self.hits),
            "failed": self.failed,
        }


class MemoryInjector:
    """A part that fails is left out; the message goes all the same."""

    def __init__(self, long_term: LongTermMemory, search: Search, use: EntryUse | None = None) -> None:
        self.long_term = long_term
        self.search = search
        self.use = use

    def build(self, query: str, token_budget: int = DEFAULT_TOKEN_BUDGET, leave_out: str = "") -> Injection:
        """The block for a message. `leave_out` is a source key whose text the request holds already."""
        filled = self._filled(query, token_budget, leave_out)
        injection = filled.injection
        return replace(injection, receipt=filled.receipt(injection.text))

    def text(self, query: str, token_budget: int = DEFAULT_TOKEN_BUDGET) -> str:
        """The block alone: a receipt would take a tenth of the time again, and nobody would read it."""
        return self._filled(query, token_budget, "").injection.text

    def _filled(self, query: str, token_budget: int, leave_out: str) -> Filled:
        failed: list[str] = []
        room = max(token_budget, 0) * 4
        wanted = max(5, min(MOST_HITS, token_budget // TOKENS_A_HIT))
        hits, more = self._hits(query, wanted if token_budget > 0 else 0, leave_out, failed)
        text = self._text(failed)
        offer = standing.offered(text)
        part, choice = self._fill(offer, hits, room)
        if more and not choice.cut:
            hits, _ = self._hits(query, MOST_HITS, leave_out, failed)
            part, choice = self._fill(offer, hits, room)
        matched = [hit for hit in choice.known if hit.match >= STRONG or hit is hits[0]]
        self._note_use(offer, matched)
        return Filled(token_budget, text, offer, part, hits, choice, matched, failed)

    def _fill(self, offer: Offered, hits: list[MemorySearchResult], room: int) -> tuple[StandingPart, Choice]:
        """MEMORY.md whole where it fits, then hits; where strong ones wait, it gives way to them."""
        use = self.use.known if self.use else None
        part = standing.fitted(offer, room, use)
        choice = recalled.choose(hits, part.text, _left(room, part))
        if not part.text or not any(hit.match >= STRONG for hit in choice.cut):
            return part, choice
        best = [hit for hit in hits if hit.match >= STRONG]
        wanted = quarters(recalled.choose(best, part.text, int(room * GIVEN_WAY)).text) + 2
        if wanted <= _left(room, part):
            return part, choice
        part = standing.fitted(offer, room - wanted, use)
        # An entry that gave way may be what the message asks for.
        return part, recalled.choose(hits, part.text, _left(room, part))

    def _hits(
        self, query: str, wanted: int, leave_out: str, failed: list[str]
    ) -> tuple[list[MemorySearchResult], bool]:
        """The hits worth their room, and whether a search for more could bring others."""
        if not query.strip() or wanted < 1:
            return [], False
        try:
            hits = self.search(query, wanted, leave_out)
        except Exception:
            log.exception("Memory could not be searched; the message goes without it")
            failed.append("search")
            return [], False
        others = without_echoes(hits, query)
        kept = worthy(others)
        return newest_first(kept), len(kept) == len(others) and len(hits) == wanted < MOST_HITS

    def _text(self, failed: list[str]) -> str:
        try:
            return self.long_term.read()
        except Exception:
            log.exception("MEMORY.md could not be read; the message goes without it")
            failed.append("long_term")
            return ""

    def _note_use(self, offer: Offered, matched: list[MemorySearchResult]) -> None:
        if self.use is None or not matched:
            return
        try:
            self.use.note(standing.names_of(offer, [read_line(hit.chunk_text).line for hit in matched]))
        except Exception:
            log.exception("It could not be noted which entries were of use")


def _left(room: int, part: StandingPart) -> int:
    return room - quarters(part.text) - (2 if part.text else 0)


def skipped(used: tuple[int, ...]) -> list[int]:
    """The lines before the last used one that were not."""
    return sorted(set(range(used[-1])) - set(used)) if used else []


def _receipt(hit: MemorySearchResult, words: str = "") -> dict[str, Any]:
    return {
        "id": hit.chunk_id,
        "source": hit.source_type,
        "date": hit.source_date,
        "key": hit.source_key,
        "anchor": hit.anchor,
        "speaker": hit.speaker,
        "text": words or read_line(hit.chunk_text).line,
        "score": round(hit.score, 4),
        "bm25": round(hit.bm25_score, 4),
        "vector": round(hit.vector_score, 4),
        "age": hit.age_in_days,
        "cosine": round(hit.cosine, 4),
        "decay": round(hit.decay, 4),
        "dated": round(hit.dated, 4),
        "lent": round(hit.lent, 4),
        "told": round(hit.told, 4),
        "held": round(hit.held, 4),
        "match": round(hit.match, 4),
        "older": hit.older,
    }
