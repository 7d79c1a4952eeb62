"""Entries taken out of the logs by their owner, and put back."""

from datetime import date
from uuid import UUID, uuid4

import pytest
from django.test import Client
from django.urls import reverse

from chat.sessions import sessions
from memory.dailylog import removal
from memory.models import RemovedEntries
from memory.storage import log_entries
from memory.storage.atomic import StorageError
from memory.storage.files import MemoryFileStorage
from memory.storage.log_entries import Marker
from people.models import User
from tests.memory.conftest import say

pytestmark = pytest.mark.django_db
ONE, TWO = date(2026, 2, 27), date(2026, 2, 28)


@pytest.fixture
def chat(ada: User) -> str:
    """A chat with entries on two days, between those of another."""
    mine, other = str(say(ada, "hello").id), str(uuid4())
    files = MemoryFileStorage(ada)
    for day, who, text in (
        (ONE, mine, "a"),
        (ONE, other, "b"),
        (ONE, mine, "c"),
        (ONE, other, "d"),
        (TWO, mine, "e"),
    ):
        files.append_to_daily_log(day, log_entries.compose(Marker(who, ord(text), ord(text)), f"- {text}"))
    return mine


def bodies(user: User, day: date) -> list[str]:
    return [e.body for e in log_entries.entries_of(MemoryFileStorage(user).read_daily_log(day) or "")]


def test_entries_of_a_chat_go_and_come_back(ada: User, chat: str):
    files = MemoryFileStorage(ada)
    before = {day: files.read_daily_log(day) for day in (ONE, TWO)}
    removed = removal.remove_entries_of(ada, chat)
    assert removed
    assert bodies(ada, ONE) == ["- b", "- d"]
    assert files.list_daily_log_dates() == ["2026-02-27"]
    assert removal.put_back(ada, removed) == 3
    assert {day: files.read_daily_log(day) for day in (ONE, TWO)} == before


def test_what_was_written_since_stays(ada: User, chat: str):
    removed = removal.remove_entries_of(ada, chat)
    assert removed
    MemoryFileStorage(ada).append_to_daily_log(TWO, "- later")
    assert removal.put_back(ada, removed) == 3
    assert sorted(bodies(ada, TWO)) == ["- e", "- later"]


def test_nothing_to_remove_is_none(ada: User, chat: str):
    assert removal.remove_entries_of(ada, uuid4()) is None
    assert not RemovedEntries.objects.exists()


def test_a_whole_day_goes_and_comes_back(ada: User, chat: str):
    before = MemoryFileStorage(ada).read_daily_log(ONE)
    removed = removal.remove(ada, [ONE], lambda entry: True)
    assert removed
    assert MemoryFileStorage(ada).read_daily_log(ONE) is None
    assert removal.put_back(ada, removed) == 4
    assert MemoryFileStorage(ada).read_daily_log(ONE) == before


def test_another_user_puts_nothing_back(ada: User, ben: User, chat: str, client: Client):
    removed = removal.remove_entries_of(ada, chat)
    assert removed
    assert removal.put_back(ben, removed) == 0
    client.force_login(ben)
    assert client.post(reverse("memory:remember", args=[removed.pk])).status_code == 404
    assert bodies(ada, TWO) == []


def test_deleting_a_chat_offers_to_remove_its_entries(ada: User, chat: str, client: Client):
    client.force_login(ada)
    htmx = {"HX-Request": "true"}
    page = client.post(reverse("chat:act", args=["delete"]), {"id": chat}, headers=htmx).content.decode()
    assert reverse("memory:forget") in page
    assert bodies(ada, TWO) == ["- e"]
    page = client.post(reverse("memory:forget"), {"id": [chat, "nonsense"]}, headers=htmx).content.decode()
    assert "3 log entries removed" in page
    assert bodies(ada, TWO) == []
    undo = reverse("memory:remember", args=[RemovedEntries.objects.get().pk])
    assert undo in page
    assert "3 log entries restored" in client.post(undo, headers=htmx).content.decode()
    assert bodies(ada, TWO) == ["- e"]


def test_a_chat_that_comes_back_brings_its_entries(ada: User, chat: str):
    sessions.delete(ada, [UUID(chat)])
    removal.remove_entries_of(ada, chat)
    sessions.undelete(ada, [UUID(chat)])
    assert bodies(ada, TWO) == ["- e"]


def test_what_was_removed_before_a_failure_can_be_put_back(
    ada: User, chat: str, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object) -> None:
        raise StorageError("The disk is full.")

    with monkeypatch.context() as broken:
        # The newer day's log goes as a whole; then the older one's can't be written.
        broken.setattr(MemoryFileStorage, "rewrite_daily_log", fail)
        with pytest.raises(StorageError):
            removal.remove_entries_of(ada, chat)
    assert bodies(ada, TWO) == []
    assert removal.put_back(ada, RemovedEntries.objects.get()) == 1
    assert bodies(ada, ONE) == ["- a", "- b", "- c", "- d"]
    assert bodies(ada, TWO) == ["- e"]


def test_what_was_summarised_again_meanwhile_does_not_come_back_beside_it(ada: User, chat: str):
    files = MemoryFileStorage(ada)
    removed = removal.remove_entries_of(ada, chat)
    assert removed
    # The day is summarised again: one entry of what had been two, and of what was said since.
    again = log_entries.compose(Marker(chat, ord("a"), ord("c")), "- a and c")
    files.append_to_daily_log(ONE, again)
    assert removal.put_back(ada, removed) == 1
    assert bodies(ada, ONE) == ["- b", "- d", "- a and c"]
    assert bodies(ada, TWO) == ["- e"]
