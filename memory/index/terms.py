"""Search terms of a text in any script: folded, stemmed, or cut into pairs where words have no spaces."""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from oneclaw.text import TOKEN, fold, pairs, tokens

MAX_TERM = 64
# A first word is looked for in so many characters.
LONGEST_WORD = 40
QUESTION_MARKS = ("?", "？", "؟")

LATIN = re.compile(r"[a-z0-9'\u00c0-\u024f]+")
CONTRACTED = re.compile(r"(?:n't|'(?:s|m|d|re|ve|ll|t))$")

# English words that say nothing about the subject; other languages are helped by the document frequency.
STOP_WORDS = frozenset(
    word
    for line in (
        "a about above after again all also am an and any are as at be because been before being below",
        "between both but by can could did do does doing done down during each ever few for from further",
        "get gets getting got had has have having he her here hers herself him himself his how i if in",
        "into is it its itself just let like me more most much my myself no nor not now of off on once",
        "only or other our ours ourselves out over own please same she should so some such tell than",
        "that the their theirs them themselves then there these they this those through to too under",
        "until up us very was we were what when where which while who whom whose why will with would yes",
        "you your yours yourself yourselves",
    )
    for word in line.split()
)
# The 10,000th word of a question tells no more than its first hundred.
MAX_QUERY_TERMS = 128


def marked(owner_id: int, terms: Iterable[str]) -> str:
    """Terms as MemoryIndex keeps them.

    Each with its owner, so that a term's list is one owner's alone; each between two spaces of its own, so
    that counting is a search.
    """
    return "".join(f" {owner_id}_{term} " for term in terms)


def terms(text: str) -> list[str]:
    """A document's terms, in order and with repetitions; runs without spaces give single signs and pairs."""
    return [term for token in tokens(text) for term in token_terms(token, with_singles=True)]


def query_terms(text: str) -> list[str]:
    """A question's terms, each once: a run of two or more signs is asked for by its pairs alone."""
    found = [term for token in tokens(text) for term in token_terms(token, with_singles=False)]
    return list(dict.fromkeys(found))[:MAX_QUERY_TERMS]


def token_terms(token: tuple[str, str], *, with_singles: bool) -> list[str]:
    kind, word = token
    if kind == "run":
        cut = pairs(word)
        return [*word, *cut] if with_singles or not cut else cut
    if kind == "emoji":
        return [word]
    term = word_term(word)
    return [term] if term else []


@lru_cache(maxsize=50_000)
def word_term(word: str) -> str:
    """The word's stem, or nothing for a stop word."""
    if not LATIN.fullmatch(word):
        return word.replace("'", "")[:MAX_TERM]
    bare = CONTRACTED.sub("", word)
    if not bare or bare in STOP_WORDS or word in STOP_WORDS:
        return ""
    return str(stemmer().stemWord(bare.replace("'", "")))[:MAX_TERM]


@cache
def stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


def opening_term(text: str) -> str:
    """The term of a text's first word: mostly who or what it is about, and in a chat of many who speaks."""
    return term_of_word(next(iter(text[:LONGEST_WORD].split(None, 1)), ""))


@lru_cache(maxsize=10_000)
def term_of_word(word: str) -> str:
    """The word as a term; none in scripts without spaces, where it would be half a sentence."""
    match = TOKEN.match(fold(word))
    return word_term(match["word"]) if match and match["word"] else ""


def asks(text: str) -> bool:
    """Whether a text ends in a question: it tells less than an answer does."""
    return text.endswith(QUESTION_MARKS)
