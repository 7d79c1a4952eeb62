"""What memory adds to a request: MEMORY.md's first lines, then what a search finds, within a budget."""

import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from memory.injection.framing import STABLE_INTRO, VARIABLE_INTRO, demoted, framed, one_line
from memory.longterm import revisions
from memory.longterm.memory import INJECTED_LINES, LongTermMemory, first_lines
from memory.models import Source
from memory.search.results import MemorySearchResult
from memory.storage import edits
from memory.storage.markdown import raw_lines, without_mark
from memory.storage.sections import HEADER
from oneclaw.tokens import estimate, quarters

log = logging.getLogger(__name__)

DEFAULT_TOKEN_BUDGET = 2000  # RFC-013
# Hits below this share of the best score are noise, however much room is left.
SCORE_SHARE = 0.5
# What stands beside a good hit is often its other half: a line or message next to it lends it this share of
# its score. On the development conversations that adds two to three points of recall to the block.
NEIGHBOUR_SHARE = 0.3
NEAR = 2
MOST_HITS = 200
CUT_SHOWN = 20

# A question, how many results, and the key of a source to leave out.
Search = Callable[[str, int, str], list[MemorySearchResult]]


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


class MemoryInjector:
    """A part that fails is left out; the message goes all the same."""

    def __init__(self, long_term: LongTermMemory, search: Search) -> None:
        self.long_term = long_term
        self.search = search

    def build(self, query: str, token_budget: int = DEFAULT_TOKEN_BUDGET, leave_out: str = "") -> Injection:
        """The block for a message. `leave_out` is a source key whose text the request holds already."""
        failed: list[str] = []
        room = max(token_budget, 0) * 4
        hits = self._hits(query, token_budget, leave_out, failed)
        text = self._text(failed)
        lines, beyond = injected(text)
        stable, used = fit_lines(lines, room, beyond)
        chosen, cut = self._choose(hits, stable, room - quarters(stable))
        if cut:
            # Something waits: MEMORY.md keeps two thirds at most.
            stable, used = fit_lines(lines, room * 2 // 3, beyond)
            chosen, cut = self._choose(hits, stable, room - quarters(stable))
        variable = relevant([line for _, line in chosen])
        receipt = {
            "budget": token_budget,
            "tokens": estimate("\n\n".join(filter(None, [stable, variable]))),
            "long_term": {
                "lines": len(used),
                "skipped": skipped(used),
                "of": len(lines) + beyond,
                "tokens": estimate(stable),
                # By this the very text is found again in the history.
                "file": revisions.digest(text),
            },
            "memories": [_receipt(hit) for hit, _ in chosen],
            "cut": {
                "long_term_lines": len(lines) + beyond - len(used),
                "memories": len(cut),
                "list": [_receipt(hit) for hit in cut[:CUT_SHOWN]],
            },
            "keyword_only": bool(hits) and not any(hit.vector_score for hit in hits),
            "failed": failed,
        }
        return Injection(stable, variable, receipt)

    def _hits(
        self, query: str, token_budget: int, leave_out: str, failed: list[str]
    ) -> list[MemorySearchResult]:
        if not query.strip() or token_budget <= 0:
            return []
        try:
            hits = self.search(query, max(5, min(MOST_HITS, token_budget // 8)), leave_out)
        except Exception:
            log.exception("Memory could not be searched; the message goes without it")
            failed.append("search")
            return []
        return worthy(hits)

    def _text(self, failed: list[str]) -> str:
        try:
            return self.long_term.read()
        except Exception:
            log.exception("MEMORY.md could not be read; the message goes without it")
            failed.append("long_term")
            return ""

    def _choose(
        self, hits: list[MemorySearchResult], stable: str, room: int
    ) -> tuple[list[tuple[MemorySearchResult, str]], list[MemorySearchResult]]:
        """The hits that fit, best first, and those that the budget cut."""
        chosen: list[tuple[MemorySearchResult, str]] = []
        cut: list[MemorySearchResult] = []
        room -= quarters(relevant([""])) + (2 if stable else 0)
        for hit, line in _unrepeated(hits, stable):
            cost = quarters(line) + 1
            if cost <= room:
                chosen.append((hit, line))
                room -= cost
            else:
                cut.append(hit)
        return chosen, cut


def worthy(hits: list[MemorySearchResult]) -> list[MemorySearchResult]:
    """The hits that are no noise, in the order in which they deserve room. Their scores stay their own."""
    scores = {(hit.source_key, hit.anchor): hit.score for hit in reversed(hits) if hit.anchor is not None}

    def worth(hit: MemorySearchResult) -> float:
        places = (
            [hit.anchor + step for step in range(-NEAR, NEAR + 1) if step] if hit.anchor is not None else []
        )
        beside = max((scores.get((hit.source_key, place), 0.0) for place in places), default=0.0)
        return hit.score + NEIGHBOUR_SHARE * beside

    ranked = sorted(((worth(hit), hit) for hit in hits), key=lambda pair: -pair[0])
    return [hit for value, hit in ranked if value >= ranked[0][0] * SCORE_SHARE]


def injected(text: str) -> tuple[list[str], int]:
    """MEMORY.md's lines for the block, and how many there are beyond them."""
    lines = demoted(without_header(first_lines(text)))
    # Headings alone tell nothing.
    if not any(line.strip() and not line.startswith("#") for line in lines):
        return [], 0
    return lines, max(0, len(raw_lines(text)) - INJECTED_LINES)


def without_header(text: str) -> str:
    """MEMORY.md's text as its lines are counted: the file's own title is no part of what is injected."""
    return re.sub(rf"\A\s*+{HEADER}[ \t]*+(?:\r?\n|\Z)", "", text).strip("\r\n")


def skipped(used: list[int]) -> list[int]:
    """The lines before the last used one that were not."""
    return sorted(set(range(used[-1])) - set(used)) if used else []


def fit_lines(lines: list[str], room: int, beyond: int = 0) -> tuple[str, list[int]]:
    """MEMORY.md's part, cut at a line's end to fit; and which lines are in it."""
    if not lines:
        return "", []
    room -= quarters(long_term([])) + 1
    if not beyond and sum(quarters(line) + 1 for line in lines) <= room:
        return long_term(lines), list(range(len(lines)))
    note = "[{} more lines are in MEMORY.md]"
    left, kept = room - quarters(note.format(len(lines) + beyond)) - 1, list[int]()
    for at, line in enumerate(lines):
        cost = quarters(line) + 1
        if cost > room:
            # A line that could never fit must not hide those after it.
            continue
        if cost > left:
            break
        kept.append(at)
        left -= cost
    while kept and (not lines[kept[-1]].strip() or lines[kept[-1]].startswith("#")):
        kept.pop()
    if not kept:
        return "", []
    rest = note.format(len(lines) + beyond - len(kept))
    return long_term([*(lines[at] for at in kept), rest]), kept


def long_term(lines: list[str]) -> str:
    return framed(STABLE_INTRO, "\n".join(["## Long-term Memory", *lines]))


def relevant(lines: list[str]) -> str:
    return framed(VARIABLE_INTRO, "\n".join(["## Relevant Memories", *lines])) if lines else ""


def label(hit: MemorySearchResult) -> str:
    """Where a memory comes from, as the model sees it."""
    kinds = {Source.DAILY_LOG: "Daily log", Source.TRANSCRIPT: "Chat", Source.LONG_TERM: "Long-term memory"}
    kind = kinds.get(Source(hit.source_type), "Memory")
    dated = hit.source_date and hit.source_type != Source.LONG_TERM
    return f"[{kind} {hit.source_date}]" if dated else f"[{kind}]"


def _unrepeated(hits: list[MemorySearchResult], stable: str) -> Iterator[tuple[MemorySearchResult, str]]:
    """Hits as lines, without those whose words stand in the block already."""
    lines = {edits.normal(without_mark(line.strip())) for line in stable.split("\n")}
    whole = edits.normal(stable)
    for hit in hits:
        body = one_line(hit.chunk_text)
        words = edits.normal(body)
        if not words or words in lines or (len(words) > edits.DUPLICATE_LENGTH and words in whole):
            continue
        lines.add(words)
        whole += f"\n{words}"
        yield hit, f"- {label(hit)} {body}"


def _receipt(hit: MemorySearchResult) -> dict[str, Any]:
    return {
        "id": hit.chunk_id,
        "source": hit.source_type,
        "date": hit.source_date,
        "key": hit.source_key,
        "anchor": hit.anchor,
        "text": one_line(hit.chunk_text),
        "score": round(hit.score, 4),
        "bm25": round(hit.bm25_score, 4),
        "vector": round(hit.vector_score, 4),
        "age": hit.age_in_days,
        "cosine": round(hit.cosine, 4),
        "decay": round(hit.decay, 4),
        "dated": round(hit.dated, 4),
        "lent": round(hit.lent, 4),
        "match": round(hit.match, 4),
    }
