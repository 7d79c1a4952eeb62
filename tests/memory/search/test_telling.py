"""What a chunk gains by what it begins with, and loses where it only asks."""

import pytest

from memory.index.terms import asks, opening_term
from memory.manager import MemoryManager
from memory.search.languages import subject_of
from people.models import User


@pytest.mark.parametrize(
    ("text", "question", "opens"),
    [
        ("Caroline went to the beach", "Where did Caroline go?", True),
        ("Caroline's cat is ill", "where did caroline go?", True),
        ("Tom: I bought a kite", "What did Tom buy?", True),
        ("  Élise chante", "Que chante Elise ?", True),
        ("Camping by the lake", "Where did they camp?", True),
        ("Melanie met Caroline", "Where did Caroline go?", False),
        ("Did Caroline go?", "What did Tom do?", False),
        # A small word is nobody's name, and a sentence without spaces has no first word.
        ("The dog barked", "What did the dog do?", False),
        ("我们养了一只猫", "我们养了什么宠物？", False),
        ("", "Where did Caroline go?", False),
        ("!!! ???", "Where did Caroline go?", False),
    ],
)
def test_a_chunk_opens_with_a_word_of_the_subject_or_does_not(text: str, question: str, opens: bool):
    assert (opening_term(text) in subject_of(question).terms) is opens


@pytest.mark.parametrize("text", ["Is it far?", "Wo ist es?", "远吗？"])
def test_a_text_that_ends_in_a_question_asks(text: str):
    assert asks(text)
    assert not asks(f"{text} Yes, very.")


@pytest.mark.django_db
def test_who_is_asked_about_comes_before_who_is_only_met(ada: User):
    memory = MemoryManager(ada)
    memory.files.append_to_daily_log("2026-02-01", "- Raj met Mia at the pottery class")
    memory.files.append_to_daily_log("2026-02-02", "- Mia met Raj at the pottery class")
    mia, raj = memory.search_memory("Whom did Mia meet at the pottery class?")
    assert (mia.chunk_text[:3], mia.told) == ("Mia", pytest.approx(0.2))
    # Both are named, so neither gains on the other.
    assert raj.told == 0
    both = memory.search_memory("Did Mia and Raj meet at the pottery class?")
    assert [hit.told for hit in both] == pytest.approx([0.2, 0.2])


@pytest.mark.django_db
def test_an_answer_comes_before_the_question_in_the_same_words(ada: User):
    memory = MemoryManager(ada)
    memory.files.append_to_daily_log("2026-02-01", "- Is the wedding in Lisbon in June?")
    memory.files.append_to_daily_log("2026-01-01", "- The wedding is in Lisbon in June.")
    told, asked = memory.search_memory("Where is the wedding in June?")
    assert told.chunk_text.endswith(".")
    assert asked.told == pytest.approx(-0.1)
    assert asked.score > 0
