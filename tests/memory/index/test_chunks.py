"""Chunks of Markdown: what belongs together, what gives context, and nothing lost."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.embedding import engine
from memory.index.chunks import ALL_PIECES, TEXT_PIECES, file_chunks, searchable, split


def words(text: str) -> int:
    return len(text.split())


def chunks(text: str) -> list[tuple[str, str]]:
    return [(chunk.context, chunk.text) for chunk in file_chunks(text, words)]


def test_every_list_item_is_a_chunk_under_its_headings():
    assert chunks("# Long-term Memory\n\n## Interests\n- Jazz\n- Hiking\n\n### Food\n* Ramen\n") == [
        ("Interests", "Jazz"),
        ("Interests", "Hiking"),
        ("Interests > Food", "Ramen"),
    ]


def test_an_item_keeps_its_children_and_continued_lines():
    text = "- Trip to Lisbon\n  in May\n  - hotel booked\n\n  - train not yet\n- Other\n"
    assert chunks(text) == [
        ("", "Trip to Lisbon\n  in May\n  - hotel booked\n\n  - train not yet"),
        ("", "Other"),
    ]


def test_a_paragraph_right_under_its_heading_is_not_dropped():
    assert chunks("## Workflow\nTests first, always.\nThen code.\n\nReview on Friday.") == [
        ("Workflow", "Tests first, always.\nThen code."),
        ("Workflow", "Review on Friday."),
    ]


def test_a_heading_of_ones_own_with_nothing_below_is_kept():
    assert chunks("## Projects\n\n## Call the plumber\n\n## Notes\n") == [("", "Call the plumber")]


def test_code_is_not_read_as_headings_or_items():
    text = "## Notes\n```sh\n## not a heading\n- not an item\n\n---\nmake\n```\nAfter.\n"
    ((context, code),) = chunks(text)
    assert context == "Notes"
    assert "## not a heading" in code
    assert "make" in code


def test_markers_rules_and_the_file_title_are_left_out():
    text = (
        '# Daily Log - 2026-02-28\n\n<!-- oneclaw:entry {"session": "x"} -->\n- One\n\n---\n\n'
        "<!-- hidden\nover lines -->\n- Two\n\n---\n"
    )
    assert chunks(text) == [("", "One"), ("", "Two")]


def test_an_anchor_is_the_line_where_the_chunk_begins():
    text = "# Title\n<!-- a\nb -->\n- One\n\n- Two\n"
    assert [chunk.anchor for chunk in file_chunks(text, words)] == [4, 6]


@pytest.mark.parametrize("text", ["", "\n\n", "---", "# Long-term Memory\n", "<!-- only hidden"])
def test_nothing_to_say_makes_no_chunk(text: str):
    assert chunks(text) == []


def test_windows_line_ends_and_a_missing_last_newline_change_nothing():
    assert chunks("## A\r\n- x\r\n- y") == [("A", "x"), ("A", "y")]


def test_long_text_is_split_at_sentences_and_nothing_is_cut_off():
    text = " ".join(f"Sentence number {n} tells of thing {n}." for n in range(200))
    parts = [chunk.text for chunk in file_chunks(f"- {text}", engine().count_tokens)]
    assert " ".join(parts) == text
    assert all(part.endswith(".") for part in parts)
    assert all(engine().count_tokens(part) <= TEXT_PIECES for part in parts)


def test_a_long_item_gives_its_first_words_to_its_parts():
    text = "- Shopping list\n" + "\n".join(f"  - item {n} of many things to buy" for n in range(40))
    first, second, *_ = file_chunks(f"## Notes\n{text}", engine().count_tokens)
    assert first.context == "Notes"
    assert second.context == "Notes > Shopping list"


def test_what_is_embedded_fits_the_model_whole():
    heading = "A heading that goes on and on about very many things " * 12
    text = f"## {heading}\n" + "word " * 90
    for chunk in file_chunks(text, engine().count_tokens):
        whole = searchable(chunk.text, chunk.context, date(2026, 2, 28))
        assert engine().count_tokens(whole) <= ALL_PIECES


def test_the_date_is_part_of_what_is_searched():
    assert searchable("Tea.", "Food", date(2026, 2, 8)) == "8 February 2026: Food\nTea."
    assert searchable("Tea.", "", None) == "Tea."


@pytest.mark.parametrize(
    "text", ["x" * 5000, "字" * 3000, "a,b;" * 900, "\n" * 500 + "end", "https://" + "a/" * 900]
)
def test_text_without_good_places_to_cut_is_cut_anyway(text: str):
    parts = split(text, 50, engine().count_tokens)
    assert "".join(parts) == text.strip()
    assert all(engine().count_tokens(part) <= 50 for part in parts)


@given(st.text(alphabet="ab .,\n!。#-", max_size=400), st.integers(5, 40))
def test_splitting_loses_nothing_but_space(text: str, limit: int):
    parts = split(text, limit, len)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_a_long_line_is_cut_without_being_counted_whole():
    asked = list[int]()

    def count(text: str) -> int:
        asked.append(len(text))
        return words(text)

    line = "plain words and no more " * 2_000
    parts = split(line, TEXT_PIECES, count)
    assert " ".join(parts) == line.strip()
    assert all(words(part) <= TEXT_PIECES for part in parts)
    assert max(asked) <= 12 * TEXT_PIECES
