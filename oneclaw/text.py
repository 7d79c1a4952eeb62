"""Text of every script: folded for comparison, split into words, cut into pairs where there are no spaces."""

import re
import unicodedata
from collections.abc import Iterator

# Accents of Latin, Greek and Cyrillic; vowel points of Hebrew and Arabic. Kana's voicing marks and
# the vowel signs of Indic scripts are letters in their own right and stay.
POINTS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0640]")
HAN = "\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
KANA = "\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff"
# Scripts without spaces: Han, kana, Thai, Lao, Burmese and Khmer.
UNSPACED = HAN + KANA + "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
# Hangul has spaces, but its particles stick to the word: it is cut into pairs like the others.
HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
PAIRED = UNSPACED + HANGUL
# `\w` leaves out the vowel signs of Indic scripts, so their blocks are named.
INDIC = "\u0900-\u0963\u0966-\u0dff\u0f00-\u0fff"
EMOJI = "\u2600-\u27bf\U0001f1e6-\U0001f3fa\U0001f400-\U0001faff"
# Marks that belong to words in text that is not folded yet.
MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0e31-\u0e4e\u0eb1-\u0ecd\u102b-\u109d\u17b4-\u17dd\u3099\u309a" + INDIC
)

WORD = re.compile(rf"[^\W_](?:[^\W_]|[{MARKS}])*")
TOKEN = re.compile(
    rf"(?P<run>[{PAIRED}]+)|(?P<emoji>[{EMOJI}])|(?P<word>(?:(?![{PAIRED}])[^\W_]|[{INDIC}])"
    rf"(?:(?![{PAIRED}])[^\W_]|[{INDIC}]|['’](?=[^\W_]))*)"
)
# WORD and TOKEN for folded ASCII, in a quarter of the time.
ASCII_WORD, ASCII_TOKEN = re.compile(r"[a-z0-9]+"), re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
ONE_UNSPACED, ONE_PAIRED = re.compile(f"[{UNSPACED}]"), re.compile(f"[{PAIRED}]")


def fold(text: str) -> str:
    """Compatibility forms unified, case and accents gone, letters composed again."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFC", POINTS.sub("", decomposed)).replace("’", "'")


def tokens(text: str) -> Iterator[tuple[str, str]]:
    """The folded text piece by piece: a `word`, an `emoji`, or a `run` of a script that is cut into pairs."""
    folded = fold(text)
    if folded.isascii():
        yield from (("word", word) for word in ASCII_TOKEN.findall(folded))
        return
    for match in TOKEN.finditer(folded):
        yield match.lastgroup or "word", match.group()


def words_in(folded: str) -> list[str]:
    """The words of a folded text as they stand there, a run as one."""
    return (ASCII_WORD if folded.isascii() else WORD).findall(folded)


def words(text: str) -> list[str]:
    """Folded words, as often as they occur; of a run its pairs, or its only sign."""
    found = list[str]()
    for kind, word in tokens(text):
        if kind != "emoji":
            found += (pairs(word) or [word]) if kind == "run" else [word]
    return found


def pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def is_unspaced(text: str) -> bool:
    """Whether a text begins in a script that is written without spaces."""
    return ONE_UNSPACED.match(text) is not None


def is_paired(text: str) -> bool:
    """Whether a text begins in a script whose runs are cut into pairs: those without spaces, and Hangul."""
    return ONE_PAIRED.match(text) is not None
