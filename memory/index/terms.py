"""Text to search terms, in every script: folded, stemmed, or cut into pairs where words have no spaces."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

MAX_TERM = 64

# Accents of Latin, Greek and Cyrillic; vowel points of Hebrew and Arabic. Kana's voicing marks and
# the vowel signs of Indic scripts are letters in their own right and stay.
POINTS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0640]")
# Scripts that write without spaces, and Hangul, whose particles stick to the word.
HAN = "\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
KANA = "\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff"
UNSPACED = HAN + KANA + "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
# `\w` leaves out the vowel signs of Indic scripts, so their blocks are named.
INDIC = "\u0900-\u0963\u0966-\u0dff\u0f00-\u0fff"
EMOJI = "\u2600-\u27bf\U0001f1e6-\U0001f3fa\U0001f400-\U0001faff"
TOKEN = re.compile(
    rf"(?P<run>[{UNSPACED}]+)|(?P<emoji>[{EMOJI}])|(?P<word>(?:(?![{UNSPACED}])[^\W_]|[{INDIC}])"
    rf"(?:(?![{UNSPACED}])[^\W_]|[{INDIC}]|['’](?=[^\W_]))*)"
)
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


def terms(text: str) -> list[str]:
    """A document's terms, in order and with repetitions; runs without spaces give single signs and pairs."""
    return [term for token in tokens(text) for term in token_terms(token, with_singles=True)]


def query_terms(text: str) -> list[str]:
    """A question's terms, each once: a run of two or more signs is asked for by its pairs alone."""
    found = [term for token in tokens(text) for term in token_terms(token, with_singles=False)]
    return list(dict.fromkeys(found))[:MAX_QUERY_TERMS]


def tokens(text: str) -> Iterator[tuple[str, str]]:
    for match in TOKEN.finditer(folded(text)):
        yield match.lastgroup or "word", match.group()


def folded(text: str) -> str:
    """Compatibility forms unified, case and accents gone, letters composed again."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFC", POINTS.sub("", decomposed)).replace("’", "'")


def token_terms(token: tuple[str, str], *, with_singles: bool) -> list[str]:
    kind, word = token
    if kind == "run":
        pairs = [word[index : index + 2] for index in range(len(word) - 1)]
        return [*word, *pairs] if with_singles or not pairs else pairs
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
