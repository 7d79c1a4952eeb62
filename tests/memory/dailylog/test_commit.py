"""Facts into MEMORY.md: added, replaced in place, removed, and never at the cost of what can't be judged."""

import uuid
from datetime import date

import pytest

from memory.dailylog.commit import Merging
from memory.dailylog.summary import Fact
from memory.longterm import dates
from memory.longterm.dates import Saying
from memory.longterm.memory import LongTermMemory
from memory.models import Revision
from memory.storage.entries import entries_of
from people.models import User

pytestmark = pytest.mark.django_db
DAY = date(2026, 5, 10)
CHAT = uuid.uuid4()
TEXT = "# Long-term Memory\n\n## User Profile\n- Lives in Leeds\n- Nurse\n\n## Preferences\n- Likes tea\n"


def merged(user: User, text: str, *facts: Fact, day: date = DAY) -> tuple[str, list[str]]:
    merging = Merging(user, Saying(day, CHAT))
    return merging.merged(text, facts), merging.notes


def test_a_replacement_stands_where_the_old_entry_stood(ada: User):
    text, notes = merged(ada, TEXT, Fact("Lives in York", "notes", ("Lives in Leeds",)))
    assert text == TEXT.replace("Leeds", "York")
    assert notes == []


def test_one_fact_takes_the_place_of_several(ada: User):
    text, _ = merged(ada, TEXT, Fact("Nurse who lives in York", "profile", ("Nurse", "Lives in Leeds")))
    assert [entry.content for entry in entries_of(text)] == ["Nurse who lives in York", "Likes tea"]


def test_a_removal_takes_the_entry_out(ada: User):
    text, _ = merged(ada, TEXT, Fact("", replaces=("Likes tea", "Nurse")))
    assert [entry.content for entry in entries_of(text)] == ["Lives in Leeds"]


def test_a_later_fact_of_the_same_flush_replaces_an_earlier_one(ada: User):
    text, _ = merged(
        ada, TEXT, Fact("Puppy called Rolo"), Fact("Puppy called Biscuit", "notes", ("Puppy called Rolo",))
    )
    assert "Rolo" not in text
    assert text.count("Puppy") == 1


def test_what_the_user_asked_for_is_never_touched(ada: User):
    text = TEXT + "- User requested: Always answer in German\n"
    for fact in (
        Fact("Wants answers in English", "preferences", ("User requested: Always answer in German",)),
        Fact("", replaces=("Always answer in German",)),
    ):
        after, notes = merged(ada, text, fact)
        assert "User requested: Always answer in German" in after
        assert "asked to remember" in notes[0]


def test_unlike_pairs_are_both_kept(ada: User):
    text, notes = merged(ada, TEXT, Fact("Owns a sailing boat", "notes", ("Likes tea",)))
    assert "Likes tea" in text
    assert "Owns a sailing boat" in text
    assert "too unlike" in notes[0]


def test_an_entry_said_later_than_the_chat_stays(ada: User):
    dates.note(ada, {"Lives in Leeds": Saying(date(2026, 6, 1))})
    text, notes = merged(ada, TEXT, Fact("Lives in Hull", "profile", ("Lives in Leeds",)))
    assert text == TEXT
    assert "said later" in notes[0]


def test_words_that_are_there_are_not_added_but_dated(ada: User):
    merging = Merging(ada, Saying(DAY, CHAT))
    assert merging.merged(TEXT, [Fact("likes  TEA", "notes"), Fact("Nurse", "profile", ("Lives in Leeds",))])
    assert merging.again == ["Likes tea", "Nurse"]


def test_an_entry_that_somebody_replaced_meanwhile_leaves_one_fact(ada: User):
    memory = LongTermMemory(ada)
    memory.write(TEXT)
    memory.correct("Lives in Leeds", "Lives in York")
    text, notes = merged(ada, memory.read(), Fact("Lives in York since May", "profile", ("Lives in Leeds",)))
    assert text == TEXT.replace("Lives in Leeds", "Lives in York since May")
    assert "changed by something else" in notes[0]


def test_an_entry_that_was_deleted_meanwhile_loses_no_fact(ada: User):
    memory = LongTermMemory(ada)
    memory.write(TEXT)
    memory.correct("- Lives in Leeds", "")
    text, _ = merged(ada, memory.read(), Fact("Lives in York", "profile", ("Lives in Leeds",)))
    assert "- Nurse\n- Lives in York" in text
    assert Revision.objects.count() == 2
