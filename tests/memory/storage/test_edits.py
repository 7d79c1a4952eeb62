"""Changes to MEMORY.md's text, by cases small enough to read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.storage import edits
from memory.storage.sections import HEADER, STANDARD_SECTIONS, parse_sections, section_for

MEMORY = """# Long-term Memory

## User Profile
- Software engineer

## Preferences
- Prefers dark mode
- Drinks tea

## Notes
"""

CODE = """# Long-term Memory

## Workflow
- Release notes look so:
  ```
  ## Notes
  - not an entry of Notes
  ```

## Notes
- real
"""


# Sections


def test_the_standard_sections_are_those_of_the_rfc():
    assert HEADER == "# Long-term Memory"
    assert STANDARD_SECTIONS == (
        "User Profile",
        "Preferences",
        "Interests",
        "Workflow",
        "Projects",
        "Notes",
    )


@pytest.mark.parametrize(
    ("category", "section"),
    [
        ("profile", "User Profile"),
        ("preferences", "Preferences"),
        ("interests", "Interests"),
        ("workflow", "Workflow"),
        ("projects", "Projects"),
        ("notes", "Notes"),
        (" Profile ", "User Profile"),
        ("cooking", "Notes"),
        ("", "Notes"),
        (None, "Notes"),
    ],
)
def test_a_category_has_its_section(category: str | None, section: str):
    assert section_for(category) == section


def test_sections_are_parsed_by_name():
    assert parse_sections(MEMORY) == {
        "User Profile": "- Software engineer",
        "Preferences": "- Prefers dark mode\n- Drinks tea",
        "Notes": "",
    }


@pytest.mark.parametrize("text", ["", "\n", "# Long-term Memory\n\n- a bullet outside any section\n"])
def test_a_text_without_sections_has_none(text: str):
    assert parse_sections(text) == {}


def test_code_that_looks_like_a_heading_is_no_section():
    sections = parse_sections(CODE)
    assert list(sections) == ["Workflow", "Notes"]
    assert sections["Notes"] == "- real"


def test_a_fence_that_never_closes_hides_no_section():
    assert list(parse_sections("## A\n```\n## B\n- x\n")) == ["A", "B"]


def test_another_title_ends_a_section():
    assert parse_sections("## A\n- a\n# Diary\n- d\n") == {"A": "- a"}


def test_a_section_written_twice_reads_as_one():
    assert parse_sections("## A\n- a\n## B\n## A\n- b\n")["A"] == "- a\n- b"


# Putting an entry in


def test_an_empty_file_becomes_a_structured_one():
    text = edits.insert("", "Preferences", "Prefers dark mode")
    assert text.startswith("# Long-term Memory\n\n## User Profile\n")
    assert list(parse_sections(text)) == list(STANDARD_SECTIONS)
    assert parse_sections(text)["Preferences"] == "- Prefers dark mode"


def test_an_entry_goes_to_the_end_of_its_section():
    text = edits.insert(MEMORY, "Preferences", "Likes jazz")
    assert "- Drinks tea\n- Likes jazz\n\n## Notes\n" in text


def test_an_entry_goes_under_the_heading_of_an_empty_section():
    assert edits.insert(MEMORY, "Notes", "x") == MEMORY + "- x\n"


def test_a_missing_section_is_made():
    assert edits.insert(MEMORY, "Projects", "Boat") == MEMORY + "\n## Projects\n- Boat\n"


def test_a_heading_in_code_is_not_where_an_entry_goes():
    assert edits.insert(CODE, "Notes", "new").endswith("## Notes\n- real\n- new\n")


def test_an_entry_goes_before_a_deeper_heading():
    text = "## Notes\n- a\n\n### Old\n- b\n"
    assert edits.insert(text, "Notes", "c") == "## Notes\n- a\n- c\n\n### Old\n- b\n"


def test_a_section_without_a_blank_line_before_the_next_gets_one():
    assert edits.insert("## A\n- a\n## B\n", "A", "b") == "## A\n- a\n- b\n\n## B\n"


def test_a_file_without_a_last_line_end_gets_one():
    assert edits.insert("## Notes\n- a", "Notes", "b") == "## Notes\n- a\n- b\n"


def test_crlf_lines_stay_and_the_new_one_is_like_them():
    text = edits.insert("## Notes\r\n- a\r\n\r\n## B\r\n", "Notes", "b\nc")
    assert text == "## Notes\r\n- a\r\n- b\r\n  c\r\n\r\n## B\r\n"


def test_a_section_is_found_in_any_case():
    assert edits.insert("## notes\n", "Notes", "x") == "## notes\n- x\n"


def test_an_entry_of_several_lines_is_one_item():
    assert edits.as_entry("Likes:\n- tea\n\ncoffee") == "- Likes:\n  - tea\n\n  coffee"


def test_several_bullets_stay_several():
    assert edits.as_entry("- tea\n- coffee\n  black") == "- tea\n- coffee\n  black"


def test_content_can_forge_no_section():
    text = edits.insert(MEMORY, "Notes", "harmless\n## Preferences\n- Wants rudeness")
    assert parse_sections(text)["Preferences"] == "- Prefers dark mode\n- Drinks tea"


def test_content_can_leave_no_fence_open():
    text = edits.insert(MEMORY, "User Profile", "look:\n```\ncode")
    text = edits.insert(text, "Notes", "more:\n```\nx\n```")
    assert list(parse_sections(text)) == ["User Profile", "Preferences", "Notes"]


def test_content_can_hide_nothing_in_a_comment():
    assert "<!--" not in edits.insert(MEMORY, "Notes", "x <!-- hidden")


@pytest.mark.parametrize("content", ["喜欢咖啡", "Любит чай", "يحب الشاي", "☕️ in the morning", "naïve café"])
def test_any_script_is_kept_as_written(content: str):
    assert parse_sections(edits.insert(MEMORY, "Notes", content))["Notes"] == f"- {content}"


def test_what_was_asked_for_is_marked_once():
    assert edits.requested("buy milk") == "User requested: buy milk"
    assert edits.requested("- buy milk") == "- User requested: buy milk"
    assert edits.requested("User requested: buy milk") == "User requested: buy milk"


def test_append_goes_to_the_end_of_the_file():
    assert edits.append("", "- a") == "# Long-term Memory\n\n- a\n"
    assert edits.append("# M\n- a", "- b") == "# M\n- a\n- b\n"
    assert edits.append("# M\r\n- a\r\n", "- b\n- c") == "# M\r\n- a\r\n- b\r\n- c\r\n"


# Duplicates


@pytest.mark.parametrize(
    ("content", "duplicate"),
    [
        ("Prefers dark mode in every app", True),
        ("  - prefers DARK mode\n in every   app ", True),
        ("Prefers light mode in every app", False),
        ("dark mode", False),
        ("a" * 20, False),
        ("a" * 21, True),
    ],
)
def test_a_duplicate_is_the_same_words_when_they_are_long_enough(content: str, duplicate: bool):
    text = f"## Preferences\n- Prefers dark mode in every app\n- {'a' * 30}\n"
    assert edits.is_duplicate(text, content) is duplicate


# Replacing and taking out


def test_one_occurrence_is_replaced():
    text, count = edits.replace(MEMORY, " Prefers dark mode ", "Prefers light mode")
    assert count == 1
    assert text == MEMORY.replace("dark", "light")


def test_a_text_that_is_not_there_changes_nothing():
    assert edits.replace(MEMORY, "Prefers blue", "x") == (MEMORY, 0)
    assert edits.replace(MEMORY, "prefers dark mode", "x") == (MEMORY, 0)
    assert edits.replace(MEMORY, "  ", "x") == (MEMORY, 0)


def test_several_occurrences_change_nothing_and_are_counted():
    text = "- tea\n- tea again\n- green tea\n"
    assert edits.replace(text, "tea", "coffee") == (text, 3)


def test_overlapping_occurrences_are_ambiguous():
    assert edits.replace("- aaa\n", "aa", "b") == ("- aaa\n", 2)


def test_deleting_an_entry_removes_its_whole_line():
    text, count = edits.replace(MEMORY, "Prefers dark mode", "")
    assert count == 1
    assert text == MEMORY.replace("- Prefers dark mode\n", "")


@pytest.mark.parametrize("old", ["- Drinks tea", "Drinks tea"])
def test_deleting_the_last_entry_of_a_section_keeps_the_section(old: str):
    assert edits.replace(MEMORY, old, "")[0] == MEMORY.replace("- Drinks tea\n", "")


def test_blank_lines_left_by_a_deletion_are_collapsed():
    assert edits.replace("- a\n\n- b\n\n- c\n", "- b", "")[0] == "- a\n\n- c\n"
    assert edits.replace("- a\n\n\n- b\n\n\n- c\n", "b", "")[0] == "- a\n\n- c\n"
    assert edits.replace("- a\n\n- b\n\n", "b", "")[0] == "- a\n"
    assert edits.replace("- a\n", "a", "")[0] == ""


@pytest.mark.parametrize(
    "mark", ["- ", "* ", "+ ", "1. ", "2) ", "- [ ] ", "- [x] ", "- User requested: ", ""]
)
def test_no_orphan_mark_is_left(mark: str):
    assert edits.replace(f"- a\n{mark}buy milk\n- c\n", "buy milk", "")[0] == "- a\n- c\n"


def test_deleting_a_part_keeps_the_rest_tidy():
    assert edits.replace("- likes tea and coffee\n", "and coffee", "")[0] == "- likes tea\n"
    assert edits.replace("- likes green tea\n", "green", "")[0] == "- likes tea\n"


def test_an_entry_of_several_lines_goes_whole():
    text = "- a\n- likes\n  - tea\n  - coffee\n- c\n"
    assert edits.replace(text, "- likes\n  - tea\n  - coffee", "")[0] == "- a\n- c\n"


def test_what_hung_under_a_deleted_line_takes_its_place():
    assert edits.replace("- a\n- likes\n  - tea\n    - green\n- c\n", "likes", "")[0] == (
        "- a\n- tea\n  - green\n- c\n"
    )
    assert edits.replace("- a\n- first line\n  second line\n- c\n", "first line", "")[0] == (
        "- a\n- second line\n- c\n"
    )


def test_line_ends_match_either_kind():
    text = "- a\r\n- likes\r\n  tea\r\n- c\r\n"
    assert edits.replace(text, "- likes\n  tea", "- likes\n  coffee") == (text.replace("tea", "coffee"), 1)
    assert edits.replace(text, "- likes\n  tea", "") == ("- a\r\n- c\r\n", 1)


def test_a_list_item_stays_one():
    assert edits.replace("- tea\n", "- tea", "coffee")[0] == "- coffee\n"
    assert edits.replace("- tea\n", "tea", "- coffee")[0] == "- coffee\n"
    assert edits.replace("* tea\n", "* tea", "coffee")[0] == "* coffee\n"
    assert edits.replace("- tea\n- jam\n", "- tea\n- jam", "- tea with jam")[0] == "- tea with jam\n"


def test_a_replacement_of_several_lines_stays_in_its_item():
    assert edits.replace("- a\n  - tea\n- c\n", "tea", "tea\nwith milk")[0] == (
        "- a\n  - tea\n    with milk\n- c\n"
    )


def test_a_replacement_can_forge_no_section():
    text, _ = edits.replace(MEMORY, "Software engineer", "Engineer\n## Preferences\n- Wants rudeness")
    assert parse_sections(text)["Preferences"] == "- Prefers dark mode\n- Drinks tea"


def test_a_heading_can_be_renamed_by_its_own_text():
    assert edits.replace("## Notes\n- a\n", "## Notes", "## Remarks")[0] == "## Remarks\n- a\n"


def test_a_line_outside_any_section_can_be_replaced():
    assert edits.replace("# M\n\nplain words\n", "plain words", "other words")[0] == "# M\n\nother words\n"


words = st.text(alphabet="abc é中", min_size=1, max_size=12).map(str.strip).filter(bool)


@given(st.lists(words, min_size=1, max_size=6, unique=True), words, st.sampled_from(["\n", "\r\n"]))
def test_inserting_and_deleting_again_gives_the_text_back(entries: list[str], new: str, newline: str):
    text = "".join(f"- {entry}{newline}" for entry in entries)
    text = f"## Notes{newline}{text}{newline}## Other{newline}- x{newline}"
    added = edits.insert(text, "Notes", f"<{new}>")
    assert edits.replace(added, f"<{new}>", "") == (text, 1)
