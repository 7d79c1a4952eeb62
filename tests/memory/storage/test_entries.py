"""MEMORY.md as a list: each entry is known by its text and changed by itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.storage import entries
from memory.storage.entries import EntryChanged, entries_of

MEMORY = """# Long-term Memory

A line before any section.

## Preferences
- Prefers dark mode
- Likes:
  - tea

  even cold
* User requested: call me Al

### Food
1. Soup
---
<!-- a comment
over lines -->
## Notes
- code:
  ```
  ## no section
  - no entry
  ```
- last
"""


def test_entries_have_section_position_and_text():
    assert [(entry.section, entry.text) for entry in entries_of(MEMORY)] == [
        ("", "A line before any section."),
        ("Preferences", "- Prefers dark mode"),
        ("Preferences", "- Likes:\n  - tea\n\n  even cold"),
        ("Preferences", "* User requested: call me Al"),
        ("Preferences", "1. Soup"),
        ("Notes", "- code:\n  ```\n  ## no section\n  - no entry\n  ```"),
        ("Notes", "- last"),
    ]
    assert [entry.position for entry in entries_of(MEMORY)] == list(range(7))


def test_an_entry_knows_its_words_and_whether_it_was_asked_for():
    entry = entries_of(MEMORY)[3]
    assert entry.content == "User requested: call me Al"
    assert entry.user_requested
    assert not entries_of(MEMORY)[1].user_requested


def test_one_entry_is_edited_in_its_place():
    entry = entries_of(MEMORY)[1]
    text = entries.edit(MEMORY, entry.position, entry.key, "Prefers light mode")
    assert text == MEMORY.replace("dark", "light")


def test_an_edit_of_several_lines_stays_one_entry():
    entry = entries_of(MEMORY)[3]
    text = entries.edit(MEMORY, entry.position, entry.key, "call me Al\n## or Ada")
    assert "* call me Al\n  ## or Ada\n" in text
    assert len(entries_of(text)) == 7


def test_a_paragraph_stays_a_paragraph():
    entry = entries_of(MEMORY)[0]
    assert entries.edit(MEMORY, 0, entry.key, "Another.") == MEMORY.replace(
        "A line before any section.", "Another."
    )


def test_an_edit_keeps_crlf():
    text = "## Notes\r\n- a\r\n- b\r\n"
    entry = entries_of(text)[0]
    assert entry.text == "- a"
    assert entries.edit(text, 0, entry.key, "x\ny") == "## Notes\r\n- x\r\n  y\r\n- b\r\n"


def test_an_entry_of_several_lines_is_deleted_whole():
    entry = entries_of(MEMORY)[2]
    text = entries.delete(MEMORY, entry.position, entry.key)
    assert "tea" not in text
    assert "even cold" not in text
    assert len(entries_of(text)) == 6


def test_an_entry_moves_to_another_section():
    entry = entries_of(MEMORY)[2]
    text = entries.move(MEMORY, entry.position, entry.key, "Notes")
    assert [found.text for found in entries_of(text) if found.section == "Notes"][-1] == entry.text
    assert [found.section for found in entries_of(text)].count("Preferences") == 3


def test_a_move_to_a_missing_section_makes_it():
    entry = entries_of(MEMORY)[6]
    assert entries.move(MEMORY, 6, entry.key, "Projects").endswith("\n## Projects\n- last\n")


def test_a_changed_entry_is_not_touched():
    key = entries_of(MEMORY)[1].key
    changed = MEMORY.replace("dark", "blue")
    with pytest.raises(EntryChanged, match="changed or removed"):
        entries.delete(changed, 1, key)


def test_an_entry_that_moved_down_is_still_found():
    entry = entries_of(MEMORY)[1]
    longer = MEMORY.replace("## Preferences\n", "## Preferences\n- new first\n")
    assert "- Prefers dark mode" not in entries.delete(longer, entry.position, entry.key)


def test_of_two_equal_entries_the_nearest_one_goes():
    text = "## A\n- same\n\n## B\n- same\n"
    second = entries_of(text)[1]
    assert entries.delete(text, 1, second.key) == "## A\n- same\n\n## B\n"


@given(
    st.lists(st.text(alphabet="ab \n#-`é", min_size=1, max_size=20), max_size=4).map("\n".join),
    st.integers(0, 5),
)
def test_deleting_any_entry_leaves_every_other(text: str, index: int):
    found = entries_of(text)
    if not found:
        return
    entry = found[index % len(found)]
    left = entries.delete(text, entry.position, entry.key)
    assert len(left) < len(text)
    for other in found:
        if other.position != entry.position:
            assert all(line.strip() in left for line in other.text.split("\n"))
