"""Whether a text is English, from its letters and smallest words. Where nothing speaks against it, it is.

It decides which model reads a text, so it only has to tell English from all other languages, in any letters.
What a question is about needs its very language, of the few whose words are known (memory.search.languages).
"""

import re
import tomllib
from functools import cache
from pathlib import Path

# A language shows in the beginning of a text.
LOOKED_AT = 1000
LETTER = re.compile(r"[^\W\d_]")
LATIN = re.compile("[A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff]")
ACCENTED = re.compile("[\u00df-\u00f6\u00f8-\u024f\u1ea0-\u1eff]")
WORD = re.compile(r"[^\W\d_]+")
MARKS = re.compile("[¿¡«»„]")


def is_english(text: str) -> bool:
    """True unless the text is written in other letters, or its small words are another language's."""
    text = text[:LOOKED_AT]
    if not text.isascii():
        letters = len(LETTER.findall(text))
        other_letters = letters - len(LATIN.findall(text))
        # A sign of Chinese says as much as a few letters.
        if other_letters * 3 > letters:
            return False
    words = WORD.findall(text.lower())
    here, elsewhere = small_words()
    english = sum(word in here for word in words)
    other = sum(word in elsewhere for word in words) + 2 * len(MARKS.findall(text))
    # An accent may be a name's: two of them count as one small word.
    other += sum(bool(ACCENTED.search(word)) for word in words if word not in elsewhere) // 2
    return other <= english


@cache
def small_words() -> tuple[frozenset[str], frozenset[str]]:
    """English ones, and those of the other languages."""
    told = tomllib.loads(Path(__file__).with_name("language.toml").read_text(encoding="utf-8"))
    english = frozenset(told.pop("english").split())
    return english, frozenset(word for said in told.values() for word in said.split())
