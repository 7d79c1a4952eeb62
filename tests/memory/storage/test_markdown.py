"""Markdown's lines, code, headings, marks and comments, by cases small enough to read."""

import subprocess
import sys

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from memory.storage import entries, log_entries, merge
from memory.storage.markdown import (
    Heading,
    ListMark,
    bare_lines,
    blank_comments,
    heading_of,
    is_rule,
    is_underline,
    item_words,
    lines_of,
    list_mark,
    raw_lines,
    text_of,
    without_comments,
    without_mark,
)

# What Python's splitlines ends a line at, and Markdown doesn't.
OTHER_ENDS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029\r"


def code(text: str) -> list[bool]:
    return [line.fenced for line in lines_of(text)]


# Lines


@given(st.text(alphabet=f"ab#-` ~\n{OTHER_ENDS}é", max_size=60))
def test_lines_join_to_the_text_they_came_from(text: str):
    assert "".join(raw_lines(text)) == text
    assert text_of(lines_of(text)) == text
    assert [line.text for line in lines_of(text)] == bare_lines(text)


def test_a_line_ends_at_lf_with_or_without_cr():
    assert bare_lines("a\r\nb\nc\rd") == ["a", "b", "c\rd"]
    assert raw_lines("a\r\n\nb") == ["a\r\n", "\n", "b"]
    assert raw_lines("") == []


@pytest.mark.parametrize("end", OTHER_ENDS)
def test_nothing_else_ends_a_line(end: str):
    assert raw_lines(f"a{end}b") == [f"a{end}b"]
    assert [entry.text for entry in entries.entries_of(f"- a{end}- b\n")] == [f"- a{end}- b"]
    assert merge.merge("- a\n", f"- a\n- b{end}c\n", "- a\n").text == f"- a\n- b{end}c\n"


@pytest.mark.parametrize("end", OTHER_ENDS)
def test_nothing_else_ends_an_entry_of_a_log(end: str):
    body = f"- a{end}---{end}- b"
    (entry,) = log_entries.entries_of(f"# Daily Log - 2026-02-28\n\n{body}\n\n---\n\n")
    assert entry.body == body


# Code


def test_a_fence_is_closed_by_one_that_is_as_long():
    assert code("```\n``\n```\n") == [True] * 3
    assert code("````\n```\n````\na\n") == [True, True, True, False]
    assert code("```\n~~~\n```\n~~~\n") == [True, True, True, False]


def test_a_fence_that_never_closes_fences_nothing():
    assert not any(code("```\n# a\n"))
    assert code("````\n```\na\n```\n") == [False, True, True, True]


def test_code_may_begin_an_item():
    assert code("- ```sh\n  make\n  ```\nb\n") == [True, True, True, False]
    assert not any(code("```a``` is no fence\n```a``` either\n"))


# Headings, rules, marks


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# A", Heading(1, "A")),
        ("###### A b ", Heading(6, "A b")),
        ("## A ##", Heading(2, "A")),
        ("## A # #", Heading(2, "A #")),
        ("## A#", Heading(2, "A#")),
        ("##", Heading(2, "")),
        ("## ##", Heading(2, "")),
        ("   # A", Heading(1, "A", 3)),
        ("    # A", None),
        ("####### A", None),
        ("#A", None),
        ("A", None),
    ],
)
def test_a_heading_is_read(line: str, heading: Heading | None):
    assert heading_of(line) == heading


def test_a_line_is_a_heading_only_at_the_margin_and_outside_code():
    assert [line.heading for line in lines_of(" # A\n```\n# B\n```\n# C")][-1] == Heading(1, "C")
    assert sum(line.heading is not None for line in lines_of(" # A\n```\n# B\n```\n# C")) == 1


@pytest.mark.parametrize("line", ["---", "***", "___", "- - -", "   ---  ", "-----"])
def test_a_rule_is_three_signs_of_one_kind(line: str):
    assert is_rule(line)


@pytest.mark.parametrize("line", ["--", "-*-", "    ---", "--- a", "", "\u2028---"])
def test_anything_else_is_no_rule(line: str):
    assert not is_rule(line)


def test_words_are_underlined_by_signs_of_one_kind():
    assert is_underline("===")
    assert is_underline("-- ")
    assert not is_underline("=-=")


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("- a", ListMark("", "-", " ")),
        (" *\ta", ListMark(" ", "*", "\t")),
        ("12) a", ListMark("", "12)", " ")),
        ("-", ListMark("", "-", "")),
        ("-\n  a", ListMark("", "-", "")),
        ("-a", None),
        ("a - b", None),
        ("1234567890. a", None),
    ],
)
def test_a_list_mark_is_read(text: str, mark: ListMark | None):
    assert list_mark(text) == mark


def test_only_the_first_mark_goes_and_only_from_the_start():
    assert without_mark("- a - b") == "a - b"
    assert without_mark("see 2. below") == "see 2. below"
    assert entries.entries_of("see 2. below\n")[0].content == "see 2. below"


@pytest.mark.parametrize("line", ["- a", "• a", "– a", "  3) a", "1.\u3000a"])
def test_a_model_marks_items_in_many_ways(line: str):
    assert item_words(line) == "a"


@pytest.mark.parametrize("line", ["a", "-a", "2024. A year", "**a**"])
def test_other_lines_of_a_model_are_no_items(line: str):
    assert item_words(line) is None


# Comments


def test_comments_go_and_the_lines_below_keep_their_numbers():
    text = "a\n<!-- b\nc -->\nd <!-- e"
    assert without_comments(text) == "a\n\nd "
    assert blank_comments(text) == "a\n\n\nd "


# Time

HOSTILE = """
import django; django.setup()
from memory.index.chunks import file_chunks
from memory.injection.framing import demoted, one_line
from memory.injection.standing import offered
from memory.storage import edits, entries, log_entries, sections

n = 100_000
texts = [
    "# x" + " " * n + "x",
    "-" + " " * n + "[ ]" + " " * n + "User requested:" + " " * n + "x",
    "- " * n + "x",
    "<" + " " * n,
    "<!-- x\\n" * (n // 5),
    "".join("`" * length + "\\n" for length in range(400, 2, -1)) + "- a\\n" * (n // 5),
    "\\n" * (n // 5) + "x",
    "`" * n,
    "a" * n,
]
for text in texts:
    entries.entries_of(text)
    sections.parse_sections(text)
    log_entries.split(log_entries.compose(log_entries.Marker("x", 1, 2), text) + text)
    edits.insert(text, "Notes", text)
    edits.replace("- z" + text, "z", "")
    edits.replace(text, text[: n // 2], "z")
    edits.is_duplicate(text, text)
    file_chunks(text, len)
    demoted(text)
    one_line(text)
    offered(text)
"""


def test_hostile_text_takes_no_more_time_than_other_text():
    """Seconds, where one step too many a character would take hours."""
    told = {"DJANGO_SETTINGS_MODULE": "oneclaw.settings", "ONECLAW_DATA_DIR": str(settings.DATA_DIR)}
    command = [sys.executable, "-c", HOSTILE]
    subprocess.run(command, env=told, cwd=settings.BASE_DIR, check=True, timeout=300)
