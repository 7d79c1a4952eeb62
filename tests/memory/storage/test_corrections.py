"""Corrections of MEMORY.md by an entry's words: what is found, what goes whole, what can't go."""

import pytest

from memory.injection.standing import offered
from memory.storage.corrections import NotAnEntry, correct
from memory.storage.entries import entries_of
from memory.storage.sections import HEADER

MEMORY = f"""{HEADER}

## Preferences
- User requested: Answer in German <!-- since May -->
- Likes tea
- Likes tea with   milk
  - but never at night
- The wifi password is swordfish
- Leads the team

## Notes
Two lines of prose
that belong together.
- The cat is called Momo
"""


def test_an_entry_named_in_part_goes_whole():
    found = correct(MEMORY, "never at night", "")
    assert found.count == 1
    assert found.before == ("- Likes tea with   milk\n  - but never at night",)
    assert found.text == MEMORY.replace("- Likes tea with   milk\n  - but never at night\n", "")
    assert correct(MEMORY, "that belong together", "").before == (
        "Two lines of prose\nthat belong together.",
    )


def test_the_entry_that_is_all_these_words_is_meant_by_its_list_mark():
    assert correct(MEMORY, "- Likes tea", "").text == MEMORY.replace("- Likes tea\n", "")
    assert correct(MEMORY, "- likes TEA", "Likes cocoa").text == MEMORY.replace(
        "- Likes tea\n", "- Likes cocoa\n"
    )


def test_words_inside_other_words_are_not_meant():
    assert correct(MEMORY, "eam", "").count == 0


def test_words_that_fit_several_entries_change_nothing_and_name_them():
    found = correct(MEMORY, "Likes", "")
    assert (found.text, found.count) == (MEMORY, 2)
    assert found.before[0] == "- Likes tea"


@pytest.mark.parametrize("old", [HEADER, "## Notes", "### Notes", "## Notes\n- The cat is called Momo"])
@pytest.mark.parametrize("new", ["", "other words"])
def test_headings_and_the_title_stay(old: str, new: str):
    with pytest.raises(NotAnEntry):
        correct(MEMORY, old, new)
    assert correct(MEMORY, "Preferences", new).count == 0


def test_every_line_as_injected_is_found():
    lines = offered(MEMORY).lines
    for line in lines:
        if line.strip() and not line.startswith("#"):
            assert correct(MEMORY, line, "").count == 1, line


def test_an_entry_on_one_line_as_a_search_shows_it_is_found():
    shown = "Likes tea with milk - but never at night"
    assert correct(MEMORY, shown, "Likes coffee").text == MEMORY.replace(
        "- Likes tea with   milk\n  - but never at night\n", "- Likes coffee\n"
    )


def test_a_part_is_reworded_in_its_place():
    assert correct(MEMORY, "with milk", "with lemon").text == MEMORY.replace("with   milk", "with lemon")
    assert correct(MEMORY, "Answer in German", "Answer in French").text == MEMORY.replace("German", "French")


def test_a_request_stays_a_request_when_all_of_it_is_reworded():
    found = correct(MEMORY, "answer  in German", "Answer in French")
    assert "- User requested: Answer in French" in found.text


def test_a_masked_secret_comes_back_and_can_be_left_out():
    found = correct(MEMORY, "The wifi password is [secret]", "The guests' wifi password is [secret]")
    assert "- The guests' wifi password is swordfish\n" in found.text
    assert "- No wifi\n" in correct(MEMORY, "The wifi password is [secret]", "No wifi").text
    with pytest.raises(NotAnEntry):
        correct(MEMORY, "The wifi password is [secret]", "Passwords: [secret] and [secret]")


def test_several_entries_named_at_once_go_together():
    both = correct(MEMORY, "password is swordfish\n- Leads the", "")
    assert both.before == ("- The wifi password is swordfish", "- Leads the team")
    assert "swordfish" not in both.text
    assert len(entries_of(both.text)) == len(entries_of(MEMORY)) - 2
