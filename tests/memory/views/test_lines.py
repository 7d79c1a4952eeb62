"""Each line of a receipt can be edited, pinned or forgotten where it is shown, and that be undone."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from chat.models import Message
from memory.manager import MemoryManager, ShownLine
from people.models import User
from tests.memory.conftest import say

DAY = "2026-02-28"


@pytest.fixture
def manager(ada: User) -> MemoryManager:
    memory = MemoryManager(ada)
    memory.save_to_long_term_memory("Has a cat called Miso", "profile")
    memory.files.append_to_daily_log(DAY, "- Adopted a cat called Miso\n- Baked rye bread")
    say(ada, "Miso is a grey cat", "Lovely!", at=datetime(2026, 2, 28, 12, tzinfo=UTC))
    return memory


@pytest.fixture
def browser(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def message(user: User) -> Message:
    return Message.objects.get(session__owner=user, content="Miso is a grey cat")


def line(kind: str, user: User) -> dict[str, str]:
    """The line as the page sends it."""
    if kind == "long_term":
        return {"source": kind, "text": "Has a cat called Miso"}
    if kind == "daily_log":
        return {"source": kind, "text": "Adopted a cat called Miso", "date": DAY}
    return {"source": "transcript", "text": "Miso is a grey cat", "anchor": str(message(user).id)}


def act(browser: Client, sent: dict[str, str], action: str, **more: str) -> str:
    answer = browser.post(
        reverse("memory:line"), {**sent, "action": action, **more}, headers={"HX-Request": "true"}
    )
    assert answer.status_code == 200
    return answer.content.decode()


def undo_of(page: str) -> str:
    return page.partition('name="undo" value="')[2].partition('"')[0]


def texts(memory: MemoryManager) -> str:
    return memory.read_long_term_memory() + memory.read_log(DAY)


def found(memory: MemoryManager) -> list[str]:
    return [hit.chunk_text for hit in memory.search_memory("cat Miso", 20, judged=False)]


@pytest.mark.parametrize("kind", ["long_term", "daily_log", "transcript"])
def test_a_line_is_forgotten_at_once_and_can_come_back(manager: MemoryManager, browser: Client, kind: str):
    sent = line(kind, manager.user)
    page = act(browser, sent, "forget")
    assert "Forgotten" in page
    assert sent["text"] not in found(manager)
    assert sent["text"] not in texts(manager)
    assert "Baked rye bread" in texts(manager)
    act(browser, sent, "undo", undo=undo_of(page))
    assert sent["text"] in found(manager)


@pytest.mark.parametrize("kind", ["long_term", "daily_log", "transcript"])
def test_a_pinned_line_is_a_standing_request(manager: MemoryManager, browser: Client, kind: str):
    before, sent = manager.read_long_term_memory(), line(kind, manager.user)
    page = act(browser, sent, "pin")
    assert f"- User requested: {sent['text']}\n" in manager.read_long_term_memory()
    assert f"- {sent['text']}\n" not in manager.read_long_term_memory()
    assert f"- User requested: {sent['text']}\n</oneclaw-requests>" in manager.inject("hi").stable
    act(browser, sent, "undo", undo=undo_of(page))
    assert manager.read_long_term_memory() == before


def test_pinning_twice_pins_once(manager: MemoryManager, browser: Client):
    sent = line("daily_log", manager.user)
    act(browser, sent, "pin")
    assert "pinned already" in act(browser, sent, "pin")
    assert manager.read_long_term_memory().count(sent["text"]) == 1


@pytest.mark.parametrize("kind", ["long_term", "daily_log"])
def test_an_edited_line_says_the_new_words_in_its_place(manager: MemoryManager, browser: Client, kind: str):
    before, sent = texts(manager), line(kind, manager.user)
    page = act(browser, sent, "edit", words="The cat is called Momo")
    assert "The cat is called Momo" in page
    assert texts(manager) == before.replace(sent["text"], "The cat is called Momo")
    assert "The cat is called Momo" in found(manager)
    act(browser, sent, "undo", undo=undo_of(page))
    assert texts(manager) == before


def test_the_correction_of_a_chat_is_an_entry_and_the_message_goes_off_the_record(
    manager: MemoryManager, browser: Client
):
    sent, before = line("transcript", manager.user), manager.read_long_term_memory()
    page = act(browser, sent, "edit", words="Miso is a black cat")
    assert "- Miso is a black cat\n" in manager.read_long_term_memory()
    assert message(manager.user).off_record
    act(browser, sent, "undo", undo=undo_of(page))
    assert manager.read_long_term_memory() == before
    assert not message(manager.user).off_record


@pytest.mark.parametrize("action", ["edit", "pin", "forget"])
@pytest.mark.parametrize(
    "sent",
    [
        {"source": "long_term", "text": "Has a dog"},
        {"source": "long_term", "text": ""},
        {"source": "daily_log", "text": "Adopted a cat called Miso", "date": "2026-03-01"},
        {"source": "daily_log", "text": "x", "date": "../../etc"},
        {"source": "transcript", "text": "x", "anchor": "99999"},
        {"source": "elsewhere", "text": "Has a cat called Miso"},
    ],
)
def test_what_is_no_longer_there_changes_nothing(
    manager: MemoryManager, browser: Client, sent: dict[str, str], action: str
):
    before = texts(manager)
    assert "no longer in memory" in act(browser, sent, action, words="y")
    assert texts(manager) == before


def test_an_edit_holds_something_and_no_secret(manager: MemoryManager, browser: Client):
    sent, before = line("long_term", manager.user), texts(manager)
    assert "Write something" in act(browser, sent, "edit", words=" ")
    assert "5,000" in act(browser, sent, "edit", words="x" * 6000)
    assert "Secrets are not kept" in act(browser, sent, "edit", words="My card is 4111 1111 1111 1111")
    assert texts(manager) == before


def test_nobody_acts_on_anothers_memory(manager: MemoryManager, ben: User):
    stranger = Client()
    stranger.force_login(ben)
    before = texts(manager)
    for kind in ("long_term", "daily_log", "transcript"):
        for action in ("edit", "pin", "forget"):
            assert "no longer in memory" in act(stranger, line(kind, manager.user), action, words="y")
    change = manager.forget_line(ShownLine("long_term", "Has a cat called Miso"))
    act(stranger, line("long_term", manager.user), "undo", undo=change.undo)
    assert texts(manager) == before.replace("- Has a cat called Miso\n", "")
    assert not message(manager.user).off_record


def test_without_script_the_page_comes_back_with_a_sentence(manager: MemoryManager, browser: Client):
    sent = line("long_term", manager.user) | {"action": "forget", "next": "https://evil.example/"}
    answer = browser.post(reverse("memory:line"), sent, follow=True)
    assert answer.redirect_chain[-1][0] == reverse("memory:home")
    assert "Forgotten" in answer.content.decode()


def test_what_is_drawn_anew_leads_back_to_the_page_it_stands_on(manager: MemoryManager, browser: Client):
    forgotten = act(browser, line("long_term", manager.user), "forget", next="/chat/")
    assert 'name="next" value="/chat/"' in forgotten


def test_a_receipt_knows_which_of_its_lines_are_gone(manager: MemoryManager):
    lines: list[dict[str, Any]] = [
        {"source": "long_term", "text": "Has a cat called Miso"},
        {"source": "daily_log", "text": "Adopted a cat called Miso", "date": DAY},
        {"source": "transcript", "text": "Miso is a grey cat", "anchor": message(manager.user).id},
    ]
    assert [each["gone"] for each in manager.with_those_gone(lines)] == [False] * 3
    for each in lines:
        manager.forget_line(ShownLine.of(each))
    assert [each["gone"] for each in manager.with_those_gone(lines)] == [True] * 3
    assert manager.with_those_gone([]) == []
