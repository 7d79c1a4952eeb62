"""The recall self-test asks with rare words and counts what comes back."""

import pytest

from memory.manager import MemoryManager
from memory.search import selftest
from people.models import User


def test_a_question_holds_the_rarest_words_in_their_order() -> None:
    frequency = {"user": 9, "chose": 5, "lisbon": 1, "may": 2, "train": 3}
    assert selftest.question_of("User chose Lisbon in May by train", frequency) == "Lisbon May train"


def test_a_text_without_words_makes_no_question() -> None:
    assert selftest.question_of("--- !", {}) == ""


@pytest.mark.django_db(transaction=True)
def test_what_the_logs_hold_is_found() -> None:
    user = User.objects.create_user("ada")
    facts = (
        "a sailing boat in Porto",
        "a violin lesson on Mondays",
        "the dentist in Graz",
        "new running shoes",
    )
    for number, fact in enumerate(facts, start=1):
        MemoryManager(user).files.append_to_daily_log(f"2026-01-0{number}", f"- User talked about {fact}")
    report = selftest.run(user)
    assert report.asked == 4
    assert report.found == 4


@pytest.mark.django_db(transaction=True)
def test_without_logs_nothing_is_asked() -> None:
    assert selftest.run(User.objects.create_user("ada")).asked == 0
