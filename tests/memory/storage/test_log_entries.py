"""Markers of log entries: hidden, unforgeable, and found again."""

from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.storage import log_entries
from memory.storage.log_entries import Marker
from memory.storage.markdown import without_comments

CHAT = str(uuid4())


def log(*entries: str) -> str:
    return "# Daily Log - 2026-02-28\n\n" + "".join(f"{entry}\n\n---\n\n" for entry in entries)


def test_a_marker_reads_back():
    marker = Marker(CHAT, 3, 9, "session_end", "2026-02-28T10:00:00+00:00", "model")
    assert log_entries.parse_marker(str(marker)) == marker
    assert str(marker).startswith("<!-- oneclaw:entry {")


@given(st.text())
def test_no_value_can_end_a_marker_early(text):
    marker = Marker(CHAT, 1, 2, text, text, text)
    assert log_entries.parse_marker(str(marker)) == marker
    assert without_comments(str(marker)) == ""


@given(st.text(alphabet="-*_<>! \n\r\v\x85\u2028abc#{}"))
def test_a_body_can_neither_end_its_entry_nor_hide(text):
    one = log_entries.compose(Marker(CHAT, 1, 2), f"- a\n{text}\nz")
    entries = log_entries.entries_of(log(one, log_entries.compose(Marker(CHAT, 3, 4), "- b")))
    assert [(entry.marker.first, entry.marker.last) for entry in entries if entry.marker] == [(1, 2), (3, 4)]
    assert len(entries) == 2
    assert entries[0].body.endswith("z")


def test_a_forged_marker_in_a_body_is_only_text():
    forged = str(Marker(CHAT, 1, 999))
    text = log(log_entries.compose(Marker(CHAT, 1, 2), f"- a\n{forged}"))
    assert [marker.last for marker in log_entries.markers_of(text, CHAT)] == [2]
    assert "oneclaw:entry" in log_entries.entries_of(text)[0].body


@given(st.lists(st.sampled_from(["- a", "text\n\nmore", str(Marker(CHAT, 1, 2)), "---", "", "# x", "\r\n"])))
def test_head_and_entries_are_the_whole_file(parts):
    text = "# Daily Log - 2026-02-28\n\n" + "\n".join(parts)
    head, entries = log_entries.split(text)
    assert head + "".join(entry.raw for entry in entries) == text


def test_entries_without_a_marker_are_entries_too():
    entries = log_entries.entries_of(log("- by hand", log_entries.compose(Marker(CHAT, 1, 2), "- b")))
    assert [entry.body for entry in entries] == ["- by hand", "- b"]
    assert entries[0].marker is None


def test_broken_markers_are_ignored():
    for line in (
        '<!-- oneclaw:entry {"session": "x"} -->',
        "<!-- oneclaw:entry {nope} -->",
        "<!-- oneclaw:entry [] -->",
    ):
        assert log_entries.parse_marker(line) is None


def test_markers_of_another_chat_are_not_ours():
    text = log(log_entries.compose(Marker(str(uuid4()), 1, 2), "- b"))
    assert log_entries.markers_of(text, CHAT) == []


@pytest.mark.parametrize(
    "number",
    ["1e999", "-1e999", "NaN", "1.5", "-1", str(2**63), "9" * 40, "9" * 5_000, "true", "null", '"7"']
    + ["[" * depth + "]" * depth for depth in (900, 100_000)],
)
@pytest.mark.parametrize("field", ["first", "last"])
def test_a_marker_with_anything_but_a_message_number_is_none(field: str, number: str):
    numbers = {"first": "7", "last": "9"} | {field: number}
    data = f'"session": "{CHAT}", "first": {numbers["first"]}, "last": {numbers["last"]}'
    line = f"<!-- oneclaw:entry {{{data}}} -->"
    assert log_entries.parse_marker(line) is None
    text = log(f"{line}\n- kept")
    (entry,) = log_entries.entries_of(text)
    assert (entry.marker, entry.body) == (None, "- kept")
    assert log_entries.parse_marker(line.replace(number, "8"))
