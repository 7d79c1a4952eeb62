"""What a compaction may and may not do to the entries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.compaction import refusals
from memory.compaction.parts import joined, portions
from memory.compaction.rebase import replay
from memory.compaction.refusals import Comparison


def memory(*entries: str, section: str = "Notes") -> str:
    return f"# Long-term Memory\n\n## {section}\n" + "".join(f"- {entry}\n" for entry in entries)


def problem(before: str, after: str) -> str:
    """Why a result is not taken by itself, in doubt or for certain."""
    return refusals.refusal(before, after) or Comparison(before, after).doubt


FACTS = [f"Fact number {n} about the house" for n in range(20)]


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ("", "nothing"),
        (" \n ", "nothing"),
        ("# Long-term Memory\n- x", "only 22 characters"),
        ("## Notes\n" + "- Likes tea very much indeed and always has\n" * 3, "does not begin"),
        ("Here it is:\n# Long-term Memory\n" + "- Likes tea very much indeed\n" * 3, "does not begin"),
    ],
)
def test_what_can_not_be_a_memory_file_is_refused(after, reason):
    assert reason in problem(memory("Likes tea very much indeed"), after)


def test_the_same_file_is_fine():
    assert problem(memory(*FACTS), memory(*FACTS)) == ""


def test_one_in_ten_may_go():
    assert problem(memory(*FACTS), memory(*FACTS[2:])) == ""
    assert "lost 3 of 20" in problem(memory(*FACTS), memory(*FACTS[3:]))


def test_merged_entries_are_not_lost():
    before = memory(
        "Prefers dark mode in all apps",
        "User likes dark mode in every app",
        "Wants promotional emails cleaned from Gmail",
        "Gmail: clean up promotional emails",
        "Asked for promotional email cleanup in Gmail",
        "Software engineer",
    )
    after = memory(
        "Prefers dark mode in all apps", "Gmail: wants promotional emails cleaned up", "Software engineer"
    )
    assert problem(before, after) == ""


def test_notes_that_say_the_same_count_once_when_they_are_dropped():
    switches = [f"User switched the model from {a} to {b}" for a, b in zip("OHSOHS", "HSOHSO", strict=True)]
    keep = ["Lives in Porto", "Bakes bread", "Works at night", "Plays chess", "Has two cats"]
    assert problem(memory(*keep, *switches), memory(*keep)) == ""


def test_the_same_in_fewer_words_is_a_merge():
    notes = [f"User likes tea, note {n}" for n in range(30)]
    long_enough = "Lives in a house by the river in Porto"
    assert problem(memory(*notes, long_enough), memory("User likes tea", long_enough)) == ""
    assert "lost" in problem(memory(*notes, long_enough), memory("User likes tea, note 3", long_enough))


def test_similar_entries_do_not_stand_for_each_other():
    assert Comparison(memory(*FACTS), memory(FACTS[0], "Fact number 1 about the house")).lost
    assert "lost" in problem(memory(*FACTS), memory(*FACTS[:10]))


def test_what_the_user_asked_for_survives_word_for_word():
    asked = "User requested: call me Ada, never Augusta"
    before = memory(asked, *FACTS)
    assert problem(before, memory(asked, *FACTS)) == ""
    assert "asked to keep" in problem(before, memory(*FACTS))
    assert "asked to keep" in problem(before, memory("User requested: call me Ada", *FACTS))
    assert "asked to keep" in problem(before, memory("call me Ada, never Augusta", *FACTS))
    moved = memory(*FACTS) + f"\n## Preferences\n* {asked}\n"
    assert problem(before, moved) == ""


def test_a_request_of_several_lines_or_under_another_entry_survives_too():
    asked = "User requested: the list\n  - milk\n  - bread"
    assert "asked to keep" in problem(memory(asked, *FACTS), memory("User requested: the list", *FACTS))
    nested = "Shopping\n  - User requested: milk"
    assert "asked to keep" in problem(memory(nested, *FACTS), memory("Shopping milk", *FACTS))


def test_other_scripts_are_compared_too():
    before = memory("住在波尔图的面包师", "喜欢坐火车旅行", "养了两只猫", "Говорит по-русски")
    assert problem(before, memory("面包师，住在波尔图", "喜欢坐火车", "养两只猫", "Говорит по-русски")) == ""
    assert "lost" in problem(before, memory("住在波尔图的面包师", "Говорит по-русски" * 5))


def test_nested_items_may_be_flattened():
    before = memory("Projects\n  - Garden shed with a green roof\n  - Chess clock in Rust")
    after = memory("Garden shed project with a green roof", "Chess clock project in Rust", "Projects")
    assert problem(before, after) == ""


@given(
    st.lists(st.sampled_from(["# T\n", "## A\n", "### b\n", "- x\n", "  y\n", "text\n", "\n", "```\n", "z"]))
)
def test_portions_joined_are_the_file(lines):
    text = "".join(lines)
    assert "".join(portion.text for portion in portions(text, 12)) == text


def test_large_sections_are_cut_between_entries():
    text = memory(*(f"{n} " + "x" * 90 for n in range(50))) + "\n## Projects\n- one\n- two\n"
    found = [portion for portion in portions(text, 1_000) if not portion.fixed]
    assert len(found) > 5
    assert all(len(portion.text) <= 1_001 for portion in found)
    assert {portion.section for portion in found} == {"Notes", "Projects"}
    assert joined([portion.text for portion in portions(text, 1_000)]) == text


def test_an_entry_too_long_to_send_stays_as_it_is():
    found = portions(memory("a", "y" * 5_000, "b"), 1_000)
    assert [portion.fixed for portion in found if "yyy" in portion.text] == [True]


def test_a_save_made_meanwhile_is_in_the_result():
    base = memory("Likes tea", "Likes green tea")
    current = base + "- Has a dog\n\n## Projects\n- Builds a shed\n"
    after = replay(base, memory("Likes green tea"), current)
    assert after == memory("Likes green tea", "Has a dog") + "\n## Projects\n- Builds a shed\n"


def test_an_update_made_meanwhile_is_in_the_result():
    base = memory("Prefers dark mode", "Likes tea", "Likes green tea")
    current = memory("Prefers light mode now", "Likes tea", "Likes green tea")
    after = replay(base, memory("Prefers dark mode", "Likes green tea"), current)
    assert after == memory("Likes green tea", "Prefers light mode now")
    reworded = replay(base, memory("The user prefers dark mode everywhere", "Likes green tea"), current)
    assert reworded == memory("Likes green tea", "Prefers light mode now")


def test_a_deletion_made_meanwhile_is_in_the_result():
    base = memory("Prefers dark mode", "Likes tea", "Likes tea")
    after = replay(base, memory("Prefers dark mode", "Likes tea"), memory("Likes tea", "Likes tea"))
    assert after == memory("Likes tea")


def test_a_change_to_what_was_merged_can_not_be_replayed():
    base = memory("Has a cat called Tom", "Lives in Porto by the river")
    merged = memory("Lives in Porto by the river with a cat called Tom")
    assert replay(base, merged, memory("Lives in Porto by the river")) is None


def test_nothing_meanwhile_is_the_compacted_text():
    assert replay("a", "b", "a") == "b"


def test_an_entry_that_was_moved_meanwhile_can_not_be_replayed():
    base = "# Long-term Memory\n\n## Notes\n- Builds a boat\n- Likes tea\n\n## Projects\n- A garden\n"
    moved = "# Long-term Memory\n\n## Notes\n- Likes tea\n\n## Projects\n- A garden\n- Builds a boat\n"
    assert replay(base, base, moved) is None
    assert replay(base, base, base.replace("## Notes", "## Notes on life")) is None
    assert replay(base, base, base + "- A greenhouse\n") == base + "- A greenhouse\n"
