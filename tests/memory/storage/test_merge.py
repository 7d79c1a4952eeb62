"""Three texts into one: what doesn't collide is merged, nothing is lost, collisions are shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.storage.markdown import raw_lines
from memory.storage.merge import Conflict, changes, merge, with_line_ends_of

BASE = "# M\n- a\n- b\n- c\n"


@pytest.mark.parametrize(
    ("mine", "theirs", "merged"),
    [
        (BASE, BASE, BASE),
        ("# M\n- A\n- b\n- c\n", BASE, "# M\n- A\n- b\n- c\n"),
        (BASE, "# M\n- a\n- b\n", "# M\n- a\n- b\n"),
        # changes in different places, also side by side
        ("# M\n- A\n- b\n- c\n", "# M\n- a\n- b\n- C\n", "# M\n- A\n- b\n- C\n"),
        ("# M\n- A\n- b\n- c\n", "# M\n- a\n- B\n- c\n", "# M\n- A\n- B\n- c\n"),
        # the same change on both sides
        ("# M\n- A\n- b\n- c\n", "# M\n- A\n- b\n- c\n", "# M\n- A\n- b\n- c\n"),
        # two additions at one place, and one of them on both sides
        (BASE + "- mine\n", BASE + "- theirs\n", BASE + "- theirs\n- mine\n"),
        (BASE + "- both\n- mine\n", BASE + "- both\n", BASE + "- both\n- mine\n"),
        # an addition beside a deletion
        ("# M\n- a\n- b\n", BASE + "- new\n", "# M\n- a\n- b\n- new\n"),
    ],
)
def test_what_does_not_collide_is_merged(mine: str, theirs: str, merged: str):
    result = merge(BASE, mine, theirs)
    assert result.conflicts == []
    assert result.text == merged


def test_a_missing_last_line_end_is_no_conflict():
    assert merge("# M\n- a", "# M\n- A", "# M\n- a\n- b").text == "# M\n- A\n- b"
    assert merge("# M\n- a", "# M\n- A", "# M\n- a\n- b\n").text == "# M\n- A\n- b\n"


def test_unchanged_lines_keep_their_line_ends():
    assert with_line_ends_of("- a\r\n- b\r\n- c\n", "- a\n- B\n- c\n") == "- a\r\n- B\r\n- c\n"


def test_one_line_changed_in_two_ways_is_a_conflict():
    result = merge(BASE, "# M\n- mine\n- b\n- c\n", "# M\n- theirs\n- b\n- C\n")
    assert result.conflicts == [Conflict(2, "- a\n", "- mine\n", "- theirs\n")]
    assert result.settled("mine") == "# M\n- mine\n- b\n- C\n"
    assert result.settled("theirs") == "# M\n- theirs\n- b\n- C\n"
    assert result.text == "# M\n- mine\n- theirs\n- b\n- C\n"


def test_a_line_deleted_here_and_edited_there_is_a_conflict():
    result = merge(BASE, "# M\n- b\n- c\n", "# M\n- a!\n- b\n- c\n")
    assert [(conflict.mine, conflict.theirs) for conflict in result.conflicts] == [("", "- a!\n")]


def test_an_addition_inside_what_the_other_side_rewrote_is_a_conflict():
    result = merge(BASE, "# M\n- all\n- new\n", "# M\n- a\n- b\n- between\n- c\n")
    assert len(result.conflicts) == 1
    assert "between" in result.text
    assert "all" in result.text


texts = st.lists(st.sampled_from(["- a\n", "- b\n", "- c\n", "- d\n", "\n"]), max_size=8).map("".join)


@given(texts, texts)
def test_changes_turn_one_text_into_the_other(old: str, new: str):
    lines, out, at = raw_lines(old), [], 0
    for change in changes(lines, raw_lines(new)):
        out += lines[at : change.start] + change.lines
        at = change.end
    assert "".join(out + lines[at:]) == new


@given(texts, texts, texts)
def test_every_line_that_is_new_on_either_side_is_in_the_merge(base: str, mine: str, theirs: str):
    text = merge(base, mine, theirs).text
    new = {
        line for line in raw_lines(mine) + raw_lines(theirs) if line not in raw_lines(base) and line.strip()
    }
    assert new <= set(raw_lines(text))


@given(texts, texts)
def test_a_side_that_changed_nothing_decides_nothing(base: str, other: str):
    assert merge(base, other, base).text == other
    assert merge(base, base, other).text == other
    assert merge(base, other, other).text == other


@given(texts, texts, texts)
def test_conflicts_settled_for_one_side_hold_that_sides_lines(base: str, mine: str, theirs: str):
    result = merge(base, mine, theirs)
    if not result.conflicts:
        assert result.settled("mine") == result.settled("theirs") == result.text
