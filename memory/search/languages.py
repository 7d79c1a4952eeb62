"""What language a message is in, and which of its words name a subject; the words stand in languages.toml.

One of the six whose words for time and courtesy are known, English by default. Whether a model can read a
text is another question (memory.embedding.language): Polish has no words here, and is no English there.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from memory.index.terms import MAX_QUERY_TERMS, query_terms
from oneclaw.text import ASCII_WORD, HAN, KANA, ONE_PAIRED, WORD, fold, words_in

# A message's language and its small words show in its beginning.
LOOKED_AT = 2000
SOME_KANA, SOME_HAN = re.compile(f"[{KANA}]"), re.compile(f"[{HAN}]")
LATIN_LETTER = re.compile(r"[a-z]")
LETTER = re.compile(r"[^\W\d_]")
# A word with a capital, not at the start of a sentence.
NAME = re.compile(r"(?<=[^\W_][ ,])[ ]?([A-Z][^\W_]+)")
# Russian has no part in languages.toml; these are its words for oneself.
OWN_IN_RUSSIAN = frozenset(
    fold("я меня мне мой моя моё мои моего моей мою мы нас нам наш наша наше наши нашего нашей").split()
)
# A number this short is nobody's name: it stands in dates, sums and lists.
SHORT_NUMBER = re.compile(r"\d{1,3}")


@dataclass(frozen=True, slots=True)
class Language:
    """One language's words. `dense` is one that is written without spaces."""

    code: str
    small: frozenset[str]
    own: frozenset[str]
    courtesy: frozenset[str]
    talk: frozenset[str]
    dense: bool
    times: dict[str, Any]
    # Small words and courtesies together.
    small_talk: frozenset[str]

    def without(self, text: str, kind: frozenset[str]) -> str:
        """A folded text without these words."""
        if self.dense:
            return said_in_a_run(kind).sub(" ", text)
        # A word of ASCII is the same by either pattern, and found sooner by its own.
        pattern = ASCII_WORD if text.isascii() else WORD
        return pattern.sub(lambda word: " " if word[0] in kind else word[0], text)

    def has(self, text: str, kind: frozenset[str]) -> bool:
        """Whether one of these words stands in a folded text."""
        if self.dense:
            return said_in_a_run(kind).search(text) is not None
        return not kind.isdisjoint(words_in(text))


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
    # Of the one who asks: "my daughter", "did we".
    is_personal: bool = False
    # Those of the terms that were said as names.
    names: tuple[str, ...] = ()

    @property
    def is_english(self) -> bool:
        return self.language == "en"


def subject_of(text: str) -> Subject:
    folded = fold(text[:LOOKED_AT])
    code = language_of(folded)
    language = languages().get(code)
    if language is None:
        personal = any(word in OWN_IN_RUSSIAN for word in WORD.findall(folded))
        paired = bool(ONE_PAIRED.search(folded))
        return Subject(tuple(telling(folded)), code, is_paired=paired, is_personal=personal)
    rest = language.without(folded, language.small_talk)
    found = telling(rest, dense=language.dense)
    words = len(words_in(folded))
    return Subject(
        tuple(found),
        code,
        is_paired=language.dense,
        is_keywords=bool(found) and words <= 3 and len(words_in(rest)) == words,
        is_personal=language.has(folded, language.own),
        is_courtesy=not found and "?" not in folded and language.has(folded, language.courtesy),
    )


def named(subject: Subject, text: str) -> Subject:
    """The subject with its names: words with a capital inside a sentence. `text` is as it was written."""
    said = (term for name in NAME.findall(text[:LOOKED_AT]) for term in query_terms(name))
    names = tuple(term for term in dict.fromkeys(said) if term in subject.terms)
    return replace(subject, names=names) if names else subject


def telling(text: str, *, dense: bool = False) -> list[str]:
    """The terms that can name something. A single Han sign is often a word of its own, a kana never is."""
    found = query_terms(text)
    if dense:
        found = [*found, *dict.fromkeys(SOME_HAN.findall(text))][:MAX_QUERY_TERMS]
    return [term for term in dict.fromkeys(found) if not SHORT_NUMBER.fullmatch(term)]


@lru_cache(maxsize=64)
def language_of(folded: str) -> str:
    """The code of a folded text's language: English where nothing speaks against it, "" for one unknown."""
    if not folded.isascii():
        if SOME_KANA.search(folded):
            return "ja"
        if SOME_HAN.search(folded):
            return "zh"
        letters = LETTER.findall(folded)
        if len(LATIN_LETTER.findall(folded)) * 2 < len(letters):
            return ""
    counts = {code: 0 for code, language in languages().items() if not language.dense}
    known = small_words()
    for word in words_in(folded):
        for code in known.get(word, ()):
            counts[code] += 1
    return max(counts, key=lambda code: (counts[code], code == "en"))


@cache
def small_words() -> dict[str, tuple[str, ...]]:
    """Each small word with the languages with spaces that it may be of."""
    found = dict[str, tuple[str, ...]]()
    for code, language in languages().items():
        for word in () if language.dense else language.small_talk:
            found[word] = (*found.get(word, ()), code)
    return found


@cache
def languages() -> dict[str, Language]:
    told = tomllib.loads(Path(__file__).with_name("languages.toml").read_text(encoding="utf-8"))
    return {
        code: Language(
            code,
            small=words_of(said["small"]),
            own=words_of(said["own"]),
            courtesy=words_of(said["courtesy"]),
            talk=words_of(said["talk"]),
            dense="months" not in said,
            times=said,
            small_talk=words_of(said["small"]) | words_of(said["courtesy"]),
        )
        for code, said in told.items()
    }


def words_of(said: str) -> frozenset[str]:
    return frozenset(fold(said).split())


@cache
def said_in_a_run(words: Iterable[str]) -> re.Pattern[str]:
    """Any of these words wherever they stand, the longest first."""
    return re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))
