"""Words of any script for the search over chats: folded, and cut into pairs where no spaces divide them."""

import re
import unicodedata

# Marks that belong to words in the scripts that use them; `\w` leaves them out.
MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0dff"
    "\u0e31-\u0e4e\u0eb1-\u0ecd\u0f18-\u0fbc\u102b-\u109d\u17b4-\u17dd\u3099\u309a"
)
WORD = re.compile(rf"[^\W_][\w{MARKS}]*")
# Han, kana, Hangul, Thai, Lao, Burmese and Khmer are written without spaces, or with few.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
RUN = re.compile(rf"[{UNSPACED}]+|[^{UNSPACED}]+")
ACCENTS = re.compile("[\u0300-\u036f]")


def fold(text: str) -> str:
    """The text in one case and form, without the accents of Latin, Greek and Cyrillic."""
    plain = ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return unicodedata.normalize("NFKC", plain)


def runs(text: str) -> list[str]:
    """The folded words, cut where a script without spaces begins or ends."""
    return [run for word in WORD.findall(fold(text)) for run in RUN.findall(word)]


def is_unspaced(run: str) -> bool:
    return re.match(f"[{UNSPACED}]", run) is not None


def pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]


def index_terms(text: str) -> str:
    """What the full-text table holds for a text."""
    found: list[str] = []
    for run in runs(text):
        # The last character alone too, so that every character begins a term.
        found.extend([*pairs(run), run[-1]] if is_unspaced(run) else [run])
    return " ".join(found)


def match(query: str) -> str:
    """The query as FTS5 wants it: every word must be there, the last one may be unfinished."""
    wanted = runs(query)[:20]
    terms = []
    for number, run in enumerate(wanted):
        if is_unspaced(run):
            terms.append(f'"{run}"*' if len(run) == 1 else f'"{" ".join(pairs(run))}"')
        else:
            terms.append(f'"{run}"' + ("*" if number == len(wanted) - 1 else ""))
    return " AND ".join(terms)
