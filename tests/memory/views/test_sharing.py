"""Remember something: what another app shares is shown first, and saved by a form like any request."""

import pytest
from django.test import Client
from django.urls import reverse

from memory.manager import MemoryManager
from people.models import User

PAGE = "/memory/new/"


@pytest.fixture
def page(client: Client, ada: User) -> Client:
    client.force_login(ada)
    return client


@pytest.fixture
def memory(ada: User) -> MemoryManager:
    return MemoryManager(ada)


def test_the_installed_app_takes_what_others_share_and_has_a_shortcut(client: Client):
    manifest = client.get(reverse("manifest")).json()
    target = manifest["share_target"]
    assert (target["action"], target["method"]) == (PAGE, "GET")
    assert {"name": "Remember something", "url": PAGE} in manifest["shortcuts"]
    assert {"name": "New chat", "url": "/"} in manifest["shortcuts"]


def test_what_is_shared_is_shown_and_nothing_is_saved(page: Client, memory: MemoryManager):
    link = "https://example.org/ferry"
    answer = page.get(
        PAGE, {"title": "Ferry <b>times</b>", "text": f"The ferry goes at nine {link}", "url": link}
    )
    assert answer.context["form"].initial["text"] == f"Ferry <b>times</b>\nThe ferry goes at nine {link}"
    assert "Ferry &lt;b&gt;times" in answer.content.decode()
    assert "ferry" not in memory.read_long_term_memory()


def test_it_is_saved_as_the_readers_request_in_its_section(page: Client, memory: MemoryManager):
    answer = page.post(PAGE, {"text": "The ferry goes at nine", "section": "Projects"}, follow=True)
    text = memory.read_long_term_memory()
    assert "User requested: The ferry goes at nine" in text
    assert text.index("## Projects") < text.index("ferry")
    assert "Undo" in answer.content.decode()


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({"text": "", "section": "Notes"}, "required"),
        ({"text": "x" * 5_001, "section": "Notes"}, "5000"),
        ({"text": "Fine", "section": "Elsewhere"}, "valid choice"),
        ({"text": "My card is 4111 1111 1111 1111", "section": "Notes"}, "card"),
        ({"text": "Already there", "section": "Notes"}, "already in memory"),
    ],
)
def test_what_can_not_be_saved_stays_on_the_form_with_the_reason(
    page: Client, memory: MemoryManager, sent: dict[str, str], why: str
):
    memory.save_to_long_term_memory("Already there", user_requested=True)
    before = memory.read_long_term_memory()
    answer = page.post(PAGE, sent)
    assert answer.status_code == 200
    assert why in str(answer.context["form"].errors)
    assert memory.read_long_term_memory() == before


def test_with_memory_off_nothing_is_saved(page: Client, ada: User, memory: MemoryManager):
    ada.memory_enabled = False
    ada.save()
    answer = page.post(PAGE, {"text": "The ferry goes at nine", "section": "Notes"})
    assert "switched off" in answer.content.decode()
    assert "ferry" not in memory.read_long_term_memory()


def test_who_is_not_logged_in_comes_back_to_what_they_shared(client: Client, ada: User):
    answer = client.get(PAGE, {"text": "The ferry"})
    assert answer.status_code == 302
    assert "next=/memory/new/%3Ftext%3DThe%2Bferry" in answer["Location"]


def test_another_site_can_not_save_anything(ada: User, memory: MemoryManager):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ada)
    assert strict.post(PAGE, {"text": "Buy our shares", "section": "Notes"}).status_code == 403
    assert "shares" not in memory.read_long_term_memory()
