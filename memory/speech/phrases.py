"""Lists of phrases in several languages as patterns, whose time is linear in the text."""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from oneclaw.text import is_paired

DIVIDED = re.compile(r"[,\n]")


@cache
def phrases(*names: str) -> re.Pattern[str]:
    """Any phrase of these lists of phrases.toml."""
    return pattern(phrase for name in names for phrase in _listed(name))


def says(name: str, text: str) -> bool:
    """Whether a plain text has a phrase of a list, for lists that most texts have nothing of."""
    return any(key in text for key in _keys(name)) and phrases(name).search(text) is not None


@cache
def _keys(name: str) -> frozenset[str]:
    """The longest word of each phrase: looking for those takes a fiftieth of the pattern's time."""
    return frozenset(max(re.findall(r"\w+", phrase), key=len) for phrase in _listed(name))


def _listed(name: str) -> list[str]:
    lists = tomllib.loads(Path(__file__).with_name("phrases.toml").read_text(encoding="utf-8"))
    return [phrase.strip() for phrase in DIVIDED.split(lists[name]) if phrase.strip()]


def pattern(wanted: Iterable[str]) -> re.Pattern[str]:
    """Whole words where a script has spaces, anywhere in the text where it has none. A star is any ending."""
    # Longest first: of two that begin alike the longer is meant.
    ordered = sorted(
        {phrase.strip() for phrase in wanted if phrase.strip()}, key=lambda one: (-len(one), one)
    )
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
