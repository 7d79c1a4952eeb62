"""Sentences of what a person wrote, in every script, without code, quotes and list marks."""

import re
import unicodedata

from memory.storage.markdown import item_words
from oneclaw.text import is_unspaced

FENCE = re.compile(r"^(```|~~~).*?(^\1|\Z)", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r"^[^\S\n]*+>.*$", re.MULTILINE)
HEADING_MARK = re.compile(r"\A\s*+#{1,6}\s++")
# After a full stop comes a space, except in Chinese and Japanese, which have a stop of their own.
END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？｡])[」』”’）]*\s*")
TITLE = re.compile(r"(?:^|\W)(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|No|Nr)\.$")
SHORT_FORM = re.compile(r"(?:^|\W)(?:e\.g|i\.e|etc|vs|approx|ca|z\.B|bzw|a\.m|p\.m)\.$")
LONGEST = 280


def sentences(text: str) -> list[str]:
    """The sentences of a message, each on one line and not longer than a quotation should be."""
    text = QUOTED.sub("", FENCE.sub("\n", text))
    found = [part for line in text.splitlines() for part in split(unmarked(line))]
    return [shorten(clean) for part in found if (clean := tidy(part))]


def unmarked(line: str) -> str:
    """A line without the mark of a list item or a heading."""
    words = item_words(line)
    return words if words is not None else HEADING_MARK.sub("", line)


def split(line: str) -> list[str]:
    parts: list[str] = []
    for part in END.split(line):
        if not part:
            continue
        if parts and goes_on(parts[-1], part):
            parts[-1] = f"{parts[-1]} {part}"
        else:
            parts.append(part)
    return parts


def goes_on(before: str, after: str) -> bool:
    """Whether a full stop ended no sentence: "Dr. Weiss", "No. 5", "at 5 p.m. today"."""
    capital = after[0].isupper() or after[0].isdigit()
    return bool(TITLE.search(before) if capital else SHORT_FORM.search(before))


def tidy(text: str) -> str:
    """One line of printable text that can't open or close a Markdown comment."""
    text = "".join(" " if unicodedata.category(letter) == "Cc" else letter for letter in text)
    return " ".join(text.replace("<!--", "").replace("-->", "").split())


def shorten(sentence: str) -> str:
    if len(sentence) <= LONGEST:
        return sentence
    head = sentence[:LONGEST].rsplit(" ", 1)[0] if " " in sentence[:LONGEST] else sentence[:LONGEST]
    return head.rstrip(",;: ") + "…"


def word_count(sentence: str) -> float:
    """Words; where a script has no spaces, about two letters make one."""
    dense = sum(1 for letter in sentence if is_unspaced(letter))
    return len(re.findall(r"[^\W_]+", "".join(" " if is_unspaced(c) else c for c in sentence))) + dense / 2
