"""What language a message is in, and which of its words name a subject; the words stand in languages.toml."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from memory.index.terms import MAX_QUERY_TERMS, query_terms
from oneclaw.text import HAN, KANA, ONE_PAIRED, WORD, fold

# A message's language and its small words show in its beginning.
LOOKED_AT = 2000
SOME_KANA, SOME_HAN = re.compile(f"[{KANA}]"), re.compile(f"[{HAN}]")
LATIN_LETTER = re.compile(r"[a-z]")
LETTER = re.compile(r"[^\W\d_]")
# A number this short is nobody's name: it stands in dates, sums and lists.
SHORT_NUMBER = re.compile(r"\d{1,3}")


@dataclass(frozen=True, slots=True)
class Language:
    """One language's words. `dense` is one that is written without spaces."""

    code: str
    small: frozenset[str]
    courtesy: frozenset[str]
    talk: frozenset[str]
    dense: bool
    times: dict[str, Any]

    def without(self, text: str, *kinds: frozenset[str]) -> str:
        """A folded text without these words."""
        if self.dense:
            return said_in_a_run(frozenset().union(*kinds)).sub(" ", text)
        return WORD.sub(lambda word: " " if any(word[0] in kind for kind in kinds) else word[0], text)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a message is about: its terms without the small words, and how they were said."""

    terms: tuple[str, ...]
    language: str
    # In pairs of signs, because the script has no spaces or particles stick to its words.
    is_paired: bool = False
    # Nothing but a few words side by side, as typed into a search field.
    is_keywords: bool = False
    # A greeting or thanks, and nothing else.
    is_courtesy: bool = False

    @property
    def is_english(self) -> bool:
        return self.language == "en"


def subject_of(text: str) -> Subject:
    folded = fold(text[:LOOKED_AT])
    code = language_of(folded)
    language = languages().get(code)
    if language is None:
        return Subject(tuple(telling(folded)), code, is_paired=bool(ONE_PAIRED.search(folded)))
    rest = language.without(folded, language.small, language.courtesy)
    found = telling(rest, dense=language.dense)
    words = len(WORD.findall(folded))
    return Subject(
        tuple(found),
        code,
        is_paired=language.dense,
        is_keywords=bool(found) and words <= 3 and len(WORD.findall(rest)) == words,
        is_courtesy=not found and "?" not in folded and language.without(folded, language.courtesy) != folded,
    )


def telling(text: str, *, dense: bool = False) -> list[str]:
    """The terms that can name something. A single Han sign is often a word of its own, a kana never is."""
    found = query_terms(text)
    if dense:
        found = [*found, *dict.fromkeys(SOME_HAN.findall(text))][:MAX_QUERY_TERMS]
    return [term for term in dict.fromkeys(found) if not SHORT_NUMBER.fullmatch(term)]


def language_of(folded: str) -> str:
    """The code of a folded text's language: English where nothing speaks against it, "" for one unknown."""
    if SOME_KANA.search(folded):
        return "ja"
    if SOME_HAN.search(folded):
        return "zh"
    letters = LETTER.findall(folded)
    if len(LATIN_LETTER.findall(folded)) * 2 < len(letters):
        return ""
    words = WORD.findall(folded)
    counts = {
        code: sum(word in language.small or word in language.courtesy for word in words)
        for code, language in languages().items()
        if not language.dense
    }
    return max(counts, key=lambda code: (counts[code], code == "en"))


@cache
def languages() -> dict[str, Language]:
    told = tomllib.loads(Path(__file__).with_name("languages.toml").read_text(encoding="utf-8"))
    return {
        code: Language(
            code,
            small=words_of(said["small"]),
            courtesy=words_of(said["courtesy"]),
            talk=words_of(said["talk"]),
            dense="months" not in said,
            times=said,
        )
        for code, said in told.items()
    }


def words_of(said: str) -> frozenset[str]:
    return frozenset(fold(said).split())


@cache
def said_in_a_run(words: Iterable[str]) -> re.Pattern[str]:
    """Any of these words wherever they stand, the longest first."""
    return re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))
