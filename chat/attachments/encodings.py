"""Text in encodings older than UTF-8, where what it says makes certain which one it is."""

from collections.abc import Callable, Iterable
from itertools import islice, pairwise

# Fewer letters beyond ASCII than this prove nothing, and more than these need not be looked at.
LEAST, ENOUGH = 6, 5_000
# With so many letters, what passes for two languages is the rarer of them.
CLEAR = 12
# Of a text's letters beyond ASCII so many are what its language is mostly written with. In a text that is
# read by the wrong table such letters are a few among rare ones.
MOSTLY = 0.9
# Kana in Japanese, beside Han; the ten commonest letters in Russian and its neighbours are over half of all.
KANA, COMMON = 0.3, 0.5
# A text in an alphabet has more letters of it than another has accents.
VARIED, LOOKED_AT = 9, 20_000
CYRILLIC = frozenset("оеаинтсрвл")
# Where most characters are ASCII, nearly every other byte of UTF-16 is zero.
ZEROS = 0.7


def share(text: str, fits: Callable[[str], bool]) -> float:
    """The part of a text's letters beyond ASCII that fit; 0 where there are too few to tell."""
    letters = list(islice(_foreign(text), ENOUGH))
    return sum(map(fits, letters)) / len(letters) if len(letters) >= LEAST else 0.0


def _foreign(text: str) -> Iterable[str]:
    return (letter for letter in text if not letter.isascii() and letter.isalpha())


def is_kana(letter: str) -> bool:
    return "\u3041" <= letter <= "\u30fe"


def is_japanese(text: str) -> bool:
    # Kana of half width are what the bytes of any other language look like.
    whole = share(text, lambda letter: is_kana(letter) or "\u4e00" <= letter <= "\u9fff")
    return whole >= MOSTLY and share(text, is_kana) >= KANA


def is_korean(text: str) -> bool:
    """Hangul as it stood in the first of its tables; the later ones hold any syllable."""
    return share(text, lambda letter: "가" <= letter <= "힣" and _stands(letter, "euc_kr")) >= MOSTLY


def is_simplified(text: str) -> bool:
    """Chinese in the part of GB 2312 that holds its 3,755 commonest characters."""
    return share(text, lambda letter: _stands(letter, "gb2312", 0xB0, 0xD7)) >= MOSTLY


def is_traditional(text: str) -> bool:
    """Chinese in the part of Big5 that holds its 5,401 commonest characters."""
    return share(text, lambda letter: _stands(letter, "big5", 0xA4, 0xC6)) >= MOSTLY


def is_cyrillic(text: str) -> bool:
    """Small letters as Russian has them, in words of their own: Italian's accents are some of them too."""
    letters = list(islice(_foreign(text), ENOUGH))
    if len(set(letters)) < VARIED or any(map(_is_mixed, text[:LOOKED_AT].split())):
        return False
    written = share(text, lambda letter: "\u0400" <= letter <= "\u04ff")
    return written >= MOSTLY and share(text, lambda letter: letter in CYRILLIC) >= COMMON


def _is_mixed(word: str) -> bool:
    """Whether a letter of ASCII stands right beside one beyond it."""
    return any(a.isalpha() and b.isalpha() and a.isascii() != b.isascii() for a, b in pairwise(word))


def _stands(letter: str, table: str, first: int = 0, last: int = 0xFF) -> bool:
    """Whether a letter stands in these rows of a table."""
    try:
        return first <= letter.encode(table)[0] <= last
    except UnicodeEncodeError:
        return False


# Each with what its text must look like. Kana and Hangul stand where Chinese has its commonest characters, so
# that the same bytes may pass for both; the other way round it would take a long row of chances.
OLD: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("cp932", is_japanese),
    ("euc_jp", is_japanese),
    ("cp949", is_korean),
    ("gb18030", is_simplified),
    ("big5hkscs", is_traditional),
    ("cp1251", is_cyrillic),
    ("koi8_u", is_cyrillic),
)


def old(data: bytes) -> str | None:
    """The text, if it is certain in which of the old encodings it was written."""
    found = []
    for encoding, is_like_it in OLD:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if is_like_it(text):
            found.append(text)
    if len(found) > 1 and not (_is_long(found[0]) and (is_japanese(found[0]) or is_korean(found[0]))):
        return None
    return found[0] if found else None


def _is_long(text: str) -> bool:
    return len(list(islice(_foreign(text), CLEAR))) == CLEAR


def unmarked_utf16(data: bytes) -> str | None:
    """The text of UTF-16 without a byte order mark, if its zeros show which half comes first."""
    halves = data[0::2], data[1::2]
    for encoding, high, low in (("utf-16-le", halves[1], halves[0]), ("utf-16-be", halves[0], halves[1])):
        if len(data) % 2 == 0 and b"\0" not in low and high.count(0) >= ZEROS * len(high):
            try:
                return data.decode(encoding)
            except UnicodeDecodeError:
                return None
    return None
