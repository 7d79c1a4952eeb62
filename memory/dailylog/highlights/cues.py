"""Cues that a sentence is worth keeping: decisions, preferences, plans, people, dates."""

import re
import tomllib
from functools import cache
from pathlib import Path

from memory.speech.phrases import DIVIDED, pattern, plain

# A capital in the middle of a sentence, where a script has capitals: somebody or somewhere.
NAME = re.compile(r"(?<=[\w,;:'’)] )[A-ZÀ-ÖØ-ÞА-ЯЁ][\w'’-]{2,}")
NUMBER = re.compile(r"\d")
QUESTION = re.compile(r"[?？]\s*[\"'”’)」』]*$")
NAME_WEIGHT, NUMBER_WEIGHT = 0.15, 0.1


def telling(sentence: str) -> float:
    """How much a sentence promises, from 0 to 1: each kind of sign counts once; questions count half."""
    text = plain(sentence)
    score = sum(weight for sign, weight in signs().values() if sign.search(text))
    score += NAME_WEIGHT * bool(NAME.search(sentence)) + NUMBER_WEIGHT * bool(NUMBER.search(sentence))
    return min(1.0, score) / (2 if QUESTION.search(sentence) else 1)


@cache
def signs() -> dict[str, tuple[re.Pattern[str], float]]:
    """Each kind of sign from cues.toml, with its weight."""
    kinds = tomllib.loads(Path(__file__).with_name("cues.toml").read_text(encoding="utf-8"))
    return {kind: (pattern(words(said)), float(said["weight"])) for kind, said in kinds.items()}


def words(said: dict[str, str | float]) -> list[str]:
    return [word for listed in said.values() if isinstance(listed, str) for word in DIVIDED.split(listed)]
