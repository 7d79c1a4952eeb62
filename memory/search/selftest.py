"""The recall self-test: asks questions made from the user's own logs, and counts the answers found."""

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory.index.terms import terms
from memory.models import MemoryIndex, Source
from memory.search.engine import HybridSearchEngine
from people.models import User

QUESTIONS = 20
TOP = 5
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Miss:
    question: str
    expected: str


@dataclass(frozen=True, slots=True)
class Report:
    """How many questions were asked, and which were not answered by the first five results."""

    asked: int
    missed: list[Miss]

    @property
    def found(self) -> int:
        return self.asked - len(self.missed)


def run(user: User, questions: int = QUESTIONS) -> Report:
    """Ask for chunks of daily logs by some of their words, and count those that come back."""
    engine = HybridSearchEngine(user)
    engine.search("anything new", top_k=1, judged=False)  # notices what changed on disk
    rows = list(
        MemoryIndex.objects.filter(owner=user, source_type=Source.DAILY_LOG).values_list("id", "chunk_text")
    )
    frequency = Counter(term for _, text in rows for term in set(terms(text)))
    chosen = random.Random(len(rows)).sample(rows, min(questions, len(rows)))  # noqa: S311 (not a secret)
    missed = []
    asked = 0
    for chunk_id, text in chosen:
        question = question_of(text, frequency)
        if not question:
            continue
        asked += 1
        hits = engine.search(question, top_k=TOP, sources=[Source.DAILY_LOG])
        if not answered(chunk_id, text, [(hit.chunk_id, hit.chunk_text) for hit in hits]):
            missed.append(Miss(question, text))
    return Report(asked, missed)


def question_of(text: str, frequency: Mapping[str, int]) -> str:
    """Half of the text's telling words, the rarest, in the order in which they stand."""
    found: dict[str, tuple[int, int]] = {}
    for place, match in enumerate(WORD.finditer(text)):
        rarity = min((frequency.get(term, 1) for term in terms(match.group())), default=0)
        if rarity:
            found.setdefault(match.group(), (rarity, place))
    rarest = sorted(found, key=lambda word: found[word])[: max(2, min(6, (len(found) + 1) // 2))]
    return " ".join(sorted(rarest, key=lambda word: found[word][1]))


def answered(chunk_id: int, text: str, hits: Sequence[tuple[int, str]]) -> bool:
    """The chunk itself, or another one that says the same."""
    return any(found == chunk_id or words == text for found, words in hits)
