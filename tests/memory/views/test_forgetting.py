"""The page of forgetting: find, pick, forget; what deleted chats left; undo, purge, allow."""

from datetime import UTC, datetime

import pytest
from django.test import Client

from chat.models import AiModel, Session
from chat.sessions import sessions
from memory.manager import MemoryManager
from memory.models import Forgotten, Revision
from people.models import User
from tests.memory.conftest import say, summary
from tests.modelserver import ModelServer

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 2, 28, 12, tzinfo=UTC)
PAGE = "/memory/forgetting/"


@pytest.fixture
def page(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


@pytest.fixture
def chat(ada: User, model: AiModel, model_server: ModelServer) -> Session:
    chat = say(ada, "I sold my boat in May", "A pity.", at=NOON)
    model_server.reply(summary("Sold the boat", "- [notes] Sold the boat in May"))
    MemoryManager(ada).flush_daily_log(chat.id)
    return chat


def test_what_is_found_can_be_picked_and_is_forgotten(page: Client, ada: User, chat: Session):
    shown = page.get(PAGE, {"q": "boat"}).content.decode()
    assert shown.count('name="ref"') == 3
    refs = [each.ref for each in MemoryManager(ada).would_forget("boat")]
    page.post(PAGE, {"ref": refs, "q": "boat"})
    assert "matches" in page.get(PAGE, {"q": "boat"}).content.decode()
    assert "boat" not in MemoryManager(ada).read_long_term_memory()
    row = Forgotten.objects.get()
    page.post(f"{PAGE}{row.pk}/undo/")
    assert "boat" in MemoryManager(ada).read_long_term_memory()


def test_nothing_picked_forgets_nothing(page: Client, chat: Session):
    answer = page.post(PAGE, {"q": "boat & more"}, follow=True).content.decode()
    assert "Choose at least one." in answer
    assert not Forgotten.objects.exists()


def test_a_deleted_chat_is_listed_with_what_it_left_long_after_its_toast(
    page: Client, ada: User, chat: Session
):
    assert "Left by deleted chats" not in page.get(PAGE).content.decode()
    sessions.delete(ada, [chat.id])
    shown = page.get(PAGE).content.decode()
    assert f"{PAGE}?chat={chat.id}" in shown
    assert "2 things still in memory" in shown
    left = page.get(PAGE, {"chat": str(chat.id)}).content.decode()
    assert left.count('name="ref"') == 2
    page.post(PAGE, {"ref": [each.ref for each in MemoryManager(ada).left_of_chats([chat.id])]})
    assert "Left by deleted chats" not in page.get(PAGE).content.decode()


def test_the_history_is_purged_by_its_button(page: Client, ada: User, chat: Session):
    MemoryManager(ada).save_to_long_term_memory("Likes tea")
    page.post("/memory/history/purge/")
    assert Revision.objects.filter(owner=ada).count() == 1
    assert "Likes tea" in MemoryManager(ada).read_long_term_memory()


def test_another_users_request_is_not_there(page: Client, ben: User):
    row = Forgotten.objects.create(owner=ben, traces=[{"terms": ["x"]}])
    for action in ("undo", "purge", "allow"):
        assert page.post(f"{PAGE}{row.pk}/{action}/").status_code == 404
    assert page.get(PAGE, {"chat": "not a chat"}).status_code == 200


def test_what_is_allowed_again_is_written_again(page: Client, ada: User, chat: Session):
    memory = MemoryManager(ada)
    memory.forget([each.ref for each in memory.would_forget("boat")])
    page.post(f"{PAGE}{Forgotten.objects.get().pk}/allow/")
    assert not memory.was_forgotten("Sold the boat in May")
