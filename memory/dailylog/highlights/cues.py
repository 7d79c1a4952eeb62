"""Cues that a sentence is worth keeping: decisions, preferences, plans, people, dates."""

import re
import tomllib
from functools import cache
from pathlib import Path

from oneclaw.text import is_paired

SMALL_TALK = "small_talk"
# A capital in the middle of a sentence, where a script has capitals: somebody or somewhere.
NAME = re.compile(r"(?<=[\w,;:'’)] )[A-ZÀ-ÖØ-ÞА-ЯЁ][\w'’-]{2,}")
NUMBER = re.compile(r"\d")
QUESTION = re.compile(r"[?？]\s*[\"'”’)」』]*$")
NAME_WEIGHT, NUMBER_WEIGHT = 0.15, 0.1


def telling(sentence: str) -> float:
    """How much a sentence promises, from 0 to 1: each kind of sign counts once; questions count half."""
    text = plain(sentence)
    score = sum(weight for kind, (pattern, weight) in signs().items() if weight and pattern.search(text))
    score += NAME_WEIGHT * bool(NAME.search(sentence)) + NUMBER_WEIGHT * bool(NUMBER.search(sentence))
    return min(1.0, score) / (2 if QUESTION.search(sentence) else 1)


def is_small_talk(sentence: str) -> bool:
    """Nothing but greetings, thanks and yes or no."""
    pattern, _ = signs()[SMALL_TALK]
    return not re.search(r"\w", pattern.sub(" ", plain(sentence)))


@cache
def signs() -> dict[str, tuple[re.Pattern[str], float]]:
    """Each kind of sign from cues.toml, with its weight."""
    kinds = tomllib.loads(Path(__file__).with_name("cues.toml").read_text(encoding="utf-8"))
    return {kind: (pattern(said), float(said["weight"])) for kind, said in kinds.items()}


def pattern(said: dict[str, str | float]) -> re.Pattern[str]:
    """Whole words where a script has spaces, anywhere in the text where it has none."""
    phrases = [
        phrase.strip() for words in said.values() if isinstance(words, str) for phrase in words.split(",")
    ]
    dense = [re.escape(phrase) for phrase in phrases if is_paired(phrase)]
    spaced = [
        re.escape(phrase).replace(r"\*", r"\w*").replace(r"\ ", r"\s+")
        for phrase in sorted(phrases, key=len, reverse=True)
        if not is_paired(phrase)
    ]
    return re.compile("|".join([rf"\b(?:{'|'.join(spaced)})\b", *dense]))


def plain(sentence: str) -> str:
    """Lower case with straight apostrophes, as the words in cues.toml are written."""
    return sentence.casefold().replace("’", "'")
