"""Texts that were made to be slow, through all that reads text: twice as long costs about twice as much.

And what a message may cost to draw has a budget: past it the text is shown as it is, all of it.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from html import unescape

import pytest

from chat import markdown
from chat.drawn import Drawn
from chat.markdown import DRAWN, Growing, render
from memory.compaction import parts
from memory.dailylog import summary
from memory.dailylog.highlights import sentences
from memory.index import chunks, terms
from memory.injection import framing, standing
from memory.longterm import likeness
from memory.longterm.memory import first_lines
from memory.speech import pasted, requests
from memory.storage import corrections, edits, entries, log_entries, matching, merge, sections
from memory.storage import markdown as lines
from memory.views import days, diff
from oneclaw import masking
from tests.security.growth import MOST, growth, seconds

Make = Callable[[int], str]


def repeated(piece: str, start: str = "", end: str = "") -> Make:
    return lambda size: start + piece * (size // len(piece)) + end


def shrinking_fences(size: int) -> str:
    """Fences each shorter than the last, none of which closes another."""
    longest = int((2 * size) ** 0.5)
    return "".join("`" * length + "\n" for length in range(longest, 2, -1))


TEXTS: dict[str, Make] = {
    "quotes": repeated(">"),
    "quoted lines": repeated("> \n"),
    "blanks after a heading": repeated(" ", "# a", "b"),
    "hashes after a heading": repeated(" #", "# a"),
    "headings": repeated("# a\n"),
    "an angle and blanks": repeated(" ", "<"),
    "angles and blanks": repeated("<  "),
    "newlines": repeated("\n"),
    "newlines and a word": repeated("\n", "a", "b"),
    "blank lines": repeated(" \n", "- a\n", "x"),
    "comments that never end": repeated("<!-- x"),
    "comments on lines": repeated("<!-- x\n"),
    "markers": repeated('<!-- oneclaw:entry {"a": 1} -->\n'),
    "markers that never end": repeated("<!-- oneclaw:entry {"),
    "shrinking fences": shrinking_fences,
    "open fences": repeated("```\na\n\n"),
    "tildes": repeated("~~~ a\n"),
    "brackets": repeated("["),
    "images": repeated("!["),
    "links": repeated("[a](b"),
    "references": repeated("[a]: b\n"),
    "emphasis": repeated("*a**b_"),
    "ticks": repeated("`a"),
    "addresses": repeated("x://"),
    "list marks": repeated("- "),
    "items": repeated("- a\n"),
    "numbers": repeated("1. a\n"),
    "deep items": repeated("  ", "- a\n", "- b\n"),
    "rules": repeated("---\n"),
    "rows": repeated("|\n", "a|b\n-|-\n"),
    "bars": repeated("|a"),
    "stops": repeated('."'),
    "requests": repeated("user requested: "),
    "boxes": repeated("[ ", "- "),
    "words": repeated("ab cd "),
    "digits": repeated("4 "),
    "passwords": repeated("password: "),
    "quotations": repeated('"a '),
    "Han": repeated("记住"),
    "other line ends": repeated("a\u2028\x0b\x85\r"),
}


def piecewise(text: str) -> None:
    """As it arrives from a model, in pieces that are each drawn."""
    growing = Growing()
    for number in range(1, 5):
        growing.update(text[: len(text) * number // 4])


def drawn(text: str) -> str:
    DRAWN.clear()
    return str(render(text))


def count(text: str) -> int:
    return len(text) // 4


def corrected(text: str) -> None:
    """As `update_memory` does it, with words that stand there once and words that are half of the text."""
    written = edits.insert("## Notes\n- The cat is grey.\n", "Notes", text)
    for old in ("The cat is grey.", text[: len(text) // 2]):
        with suppress(corrections.NotAnEntry):
            corrections.correct(written, old, text)
            corrections.correct(written, old, "")


def merged(text: str) -> None:
    """Two changes of one file that met, and two files that never were one."""
    half = len(text) // 2
    merge.merge(text, f"x\n{text[1:]}", f"{text[:half]}\ny\n{text[half:]}")
    merge.compare(text[1:], f"y{text}")
    merge.with_line_ends_of(text, text[half:])


WORK: dict[str, Callable[[str], object]] = {
    "drawing": drawn,
    "streaming": piecewise,
    "lines": lambda text: [(line.heading, line.mark, line.rule) for line in lines.lines_of(text)],
    "comments": lines.without_comments,
    "blanked comments": lines.blank_comments,
    "sections": sections.parse_sections,
    "entries": entries.entries_of,
    "log entries": log_entries.entries_of,
    "log page": days.entries,
    "chunks": lambda text: chunks.file_chunks(text, count),
    "terms": terms.terms,
    "summary": summary.parse,
    "fact": summary.to_fact,
    "sentences": sentences.sentences,
    "frame": lambda text: (framing.inert(text), framing.one_line(text), framing.demoted(text)),
    "injected": lambda text: standing.fitted(standing.offered(text), 2_000),
    "first lines": first_lines,
    "requests": lambda text: (requests.asks_to_forget(text), requests.asks_for_silence(text)),
    "secrets": masking.mask,
    "pasted": pasted.parts_of,
    "portions": lambda text: parts.portions(text, 10_000),
    "honest": lambda text: parts.honest(text, text[:1000]),
    "words": likeness.every_word,
    "difference": lambda text: diff.lines(text, text[1:] + "x"),
    "unified": lambda text: list(matching.unified(text, text[1:] + "x", "a", "b")),
    "written": lambda text: (edits.as_entry(text), edits.append(text, text), edits.is_duplicate(text, text)),
    "replaced": lambda text: (
        edits.replace(text, text[: len(text) // 2], text),
        edits.replace(f"- one\n{text}", "one", ""),
        edits.replace(f"{text}\n- one\n", "one", text),
    ),
    "corrected": corrected,
    "merged": merged,
}


@pytest.mark.parametrize("work", WORK)
def test_twice_the_text_costs_twice_as_much(work: str) -> None:
    size = {"drawing": 2_500, "streaming": 2_500, "corrected": 5_000}.get(work, 12_000)
    slow = {name: times for name, make in TEXTS.items() if (times := growth(WORK[work], make, size)) > MOST}
    assert slow == {}


# What a message may cost

BOMBS: dict[str, str] = {
    "a fence": "```python\n" + " \n" * 9_000 + "```",
    "a fence of C": "```c\n" + "a\n" * 9_000 + "```",
    "brackets": "[" * 60_000,
    "paragraphs of brackets": ("[" * 4_900 + "\n\n") * 12,
    "paragraphs of images": ("![" * 2_400 + "\n\n") * 200,
    "paragraphs of addresses": ("x://" * 1_200 + "\n\n") * 200,
    "paragraphs of emphasis": ("*a_b~~c" * 700 + "\n\n") * 200,
    "items": "- a\n" * 250_000,
    "rows": "a|b\n-|-\n" + "|\n" * 400_000,
    "tables": "a|b\n-|-\n\n" * 100_000,
    "quotes": "> " * 38 + "a\n" + "> \n" * 300_000,
    "fences": "```js\n" + "a('b') " * 4_000 + "\n```\n" + ("```js\n" + "a('b') " * 4_000 + "\n```\n") * 30,
}
# An ordinary long reply: what is within the budget costs at most some times as much.
ORDINARY = "Some **bold** words, `code` and a [link](https://a.example).\n\n- one\n- two\n\n" * 300


@pytest.mark.parametrize("bomb", BOMBS)
def test_no_message_costs_more_than_a_few_ordinary_ones(bomb: str) -> None:
    once = min(seconds(drawn, ORDINARY) for _ in range(2))
    assert min(seconds(drawn, BOMBS[bomb]) for _ in range(2)) < 12 * once


@pytest.mark.parametrize("bomb", BOMBS)
def test_nothing_of_what_is_over_the_budget_is_lost(bomb: str) -> None:
    shown = unescape(re.sub(r"<[^>]*>", "", drawn(BOMBS[bomb])))
    letters = re.compile(r"[a-z\[]")
    lost = len(letters.findall(BOMBS[bomb])) - len(letters.findall(shown))
    # A fence's language stands in its bar, and the words of Markdown's own marks are not shown.
    assert lost < len(BOMBS[bomb]) / 50


def test_what_was_drawn_once_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    DRAWN.clear()
    first = render("**a**")
    monkeypatch.setattr(markdown, "_draw", lambda text: pytest.fail("drawn again"))
    assert render("**a**") == first


def test_what_is_kept_of_drawings_has_an_end() -> None:
    kept = Drawn(room=10_000)
    for number in range(1_000):
        kept.html(f"text {number}", f"text {number}".upper)
    assert kept._used <= 10_000
    assert 10 < len(kept._html) < 50
    assert kept.html("text 999", lambda: pytest.fail("drawn again")) == "TEXT 999"
    assert kept.html("text 0", lambda: "again") == "again"
