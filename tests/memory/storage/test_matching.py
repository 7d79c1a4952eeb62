"""Comparing long texts: the work grows with their length, and what comes of it is still the difference."""

import sys
from collections.abc import Callable
from difflib import SequenceMatcher, unified_diff
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.storage import matching
from memory.storage.markdown import raw_lines
from memory.storage.matching import LineMatcher, unified
from memory.storage.merge import merge, with_line_ends_of
from memory.views import diff


def numbered(count: int) -> list[str]:
    return [f"- entry {n}\n" for n in range(count)]


def every_other(count: int) -> list[str]:
    return [f"- entry {n}\n" if n % 2 else f"- changed {n}\n" for n in range(count)]


def few_words(count: int, step: int) -> list[str]:
    """Lines that are never one of a kind, so that nothing can be told apart by them."""
    return [f"- {n * step % 307}\n" for n in range(count)]


PAIRS: dict[str, Callable[[int], tuple[list[str], list[str]]]] = {
    "every other line": lambda n: (numbered(n), every_other(n)),
    "backwards": lambda n: (numbered(n), numbered(n)[::-1]),
    "the same lines again and again": lambda n: (few_words(n, 1), few_words(n, 7)),
    "blank lines": lambda n: (["\n"] * n, ["\n", "- a\n"] * (n // 2)),
    "nothing in common": lambda n: (numbered(n), [f"- other {k}\n" for k in range(n)]),
}


def steps(work: Callable[[], Any]) -> int:
    """How many lines of Python the work takes: the same on every machine, however busy."""
    count = 0

    def note(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("pair", PAIRS)
def test_twice_as_many_lines_are_about_twice_the_work(pair: str) -> None:
    once, twice = (PAIRS[pair](count) for count in (2_000, 4_000))
    cost = steps(lambda: LineMatcher(*once).get_opcodes())
    assert steps(lambda: LineMatcher(*twice).get_opcodes()) < 2.6 * cost
    assert cost < 2_000 * 500


@pytest.mark.parametrize("pair", PAIRS)
def test_a_long_difference_turns_one_text_into_the_other(pair: str) -> None:
    old, new = PAIRS[pair](6_000)
    assert rebuilt(old, new) == new


def rebuilt(old: list[str], new: list[str]) -> list[str]:
    """The new lines, from the old ones and what the matcher says is new."""
    out: list[str] = []
    for tag, i1, i2, j1, j2 in LineMatcher(old, new).get_opcodes():
        out += old[i1:i2] if tag == "equal" else new[j1:j2]
    return out


lines = st.lists(st.sampled_from("abcdefgh"), max_size=40)


@given(lines, lines)
def test_short_texts_are_compared_as_ever(old: list[str], new: list[str]) -> None:
    assert LineMatcher(old, new).get_opcodes() == SequenceMatcher(None, old, new).get_opcodes()


@given(lines, lines)
def test_a_unified_diff_is_difflibs_own(old: list[str], new: list[str]) -> None:
    expected = list(unified_diff(old, new, "old", "new", lineterm=""))
    assert list(unified("\n".join(old), "\n".join(new), "old", "new")) == expected


@given(lines, lines)
def test_any_two_texts_are_compared_rightly_by_the_long_way(old: list[str], new: list[str]) -> None:
    whole, matching.WHOLE = matching.WHOLE, 0
    try:
        assert rebuilt(old, new) == new
        assert rebuilt(old, old) == old
    finally:
        matching.WHOLE = whole


def test_one_changed_line_among_many_is_one_change() -> None:
    old = numbered(20_000)
    new = [*old[:9_999], "- another\n", *old[10_000:]]
    assert [code for code in LineMatcher(old, new).get_opcodes() if code[0] != "equal"] == [
        ("replace", 9_999, 10_000, 9_999, 10_000)
    ]


def test_saves_to_a_long_file_from_two_sides_still_merge() -> None:
    base = numbered(20_000)
    mine = "".join([*base[:5_000], "- mine\n", *base[5_001:]])
    theirs = "".join([*base[:15_000], "- theirs\n", *base[15_001:], "- added\n"])
    merged = merge("".join(base), mine, theirs)
    assert merged.conflicts == []
    assert merged.text == "".join(
        [*base[:5_000], "- mine\n", *base[5_001:15_000], "- theirs\n", *base[15_001:], "- added\n"]
    )


def test_a_long_file_keeps_its_line_ends() -> None:
    old = "".join(line.replace("\n", "\r\n") for line in every_other(9_000))
    text = "".join(every_other(9_000)) + "- new\n"
    assert with_line_ends_of(old, text) == old + "- new\r\n"


def test_a_merge_that_can_not_tell_loses_nothing() -> None:
    base, mine, theirs = few_words(9_000, 1), few_words(9_000, 7), few_words(9_000, 11)
    mine[100] = "- only mine\n"
    theirs[8_000] = "- only theirs\n"
    merged = merge("".join(base), "".join(mine), "".join(theirs))
    assert {"- only mine\n", "- only theirs\n"} <= set(raw_lines(merged.text))


def test_a_page_shows_the_beginning_of_a_difference_without_end() -> None:
    shown = diff.lines("".join(numbered(30_000)), "".join(every_other(30_000)))
    assert len(shown) <= diff.MOST + 1
    assert shown[0].text == "- entry 0"
    assert shown[-1].mark == "…"
    assert "more lines" in shown[-1].text
