"""Rows drawn once: they look as if drawn anew, follow each change, and hold the reader's own token."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.utils import timezone

from chat import drawn
from chat.models import Message, Run, Session
from chat.templatetags import chat as tags
from people.models import User

pytestmark = pytest.mark.django_db

TOKENS = re.compile(r'name="csrfmiddlewaretoken" value="([^"]*+)"')
TOKEN = re.compile(r"\b[A-Za-z0-9]{64}\b")


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    drawn.DRAWN_ROWS.clear()


@pytest.fixture
def as_ada(client: Client, ada: User) -> Client:
    client.force_login(ada)
    return client


@pytest.fixture
def chat(ada: User) -> Session:
    """Every kind of row that is kept."""
    chat = Session.objects.create(owner=ada, title="Bread", preview="**Rye**, please")
    asked = Message.objects.create(session=chat, type=Message.Type.USER, content="Rye or <wheat>?")
    Message.objects.create(session=chat, type=Message.Type.USER, content="Secret", silenced_at=timezone.now())
    Message.objects.create(session=chat, type=Message.Type.USER, content="Off", off_record=True)
    for status in (Run.Status.DONE, Run.Status.STOPPED, Run.Status.INTERRUPTED):
        run = Run.objects.create(session=chat, prompt=asked, status=status)
        Message.objects.create(
            session=chat,
            type=Message.Type.AI_RESPONSE,
            run=run,
            content=f"**Rye**, {status}.",
            thinking="Hm." if status == Run.Status.DONE else "",
            model_name="bench",
            output_tokens=7,
            receipt={"tokens": 3, "lines": 1, "left_out_messages": 2, "memories": []},
        )
    return chat


def page(client: Client, chat: Session) -> str:
    return client.get(f"/chat/{chat.id}/").content.decode()


def bare(html: str) -> str:
    """A page without its token, which is another at each request."""
    return TOKEN.sub("", html)


def rows(html: str) -> str:
    return html[html.index("<article") :]


def test_a_row_that_is_kept_looks_as_if_drawn_from_all_that_a_page_has(
    as_ada: Client, chat: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = as_ada.get(f"/chat/{chat.id}/")

    def anew(
        template: str, values: dict[str, Any], known_by: object, token: str, *, tight: bool = False
    ) -> str:
        html = render_to_string(template, {**values, "csrf_token": token}, kept.wsgi_request)
        return drawn.tightened(html) if tight else html

    monkeypatch.setattr(tags, "row", anew)
    assert bare(page(as_ada, chat)) == bare(kept.content.decode())


def test_a_row_is_drawn_once(as_ada: Client, chat: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    first = page(as_ada, chat)
    monkeypatch.setattr(drawn, "get_template", lambda name: pytest.fail(f"{name} is drawn again"))
    assert bare(page(as_ada, chat)) == bare(first)


def test_every_form_has_the_readers_own_token(as_ada: Client, chat: Session) -> None:
    for _ in range(2):
        html = page(as_ada, chat)
        assert drawn.TOKEN not in html
        assert len(set(TOKENS.findall(html))) == 1
        assert len(TOKENS.findall(html)[0]) == 64
    other = Client(enforce_csrf_checks=True)
    other.force_login(chat.owner)
    token = TOKENS.findall(page(other, chat))[-1]
    message = chat.messages.first()
    assert message
    url = f"/chat/{chat.id}/messages/{message.id}/record/"
    assert other.post(url, {"csrfmiddlewaretoken": "x" * 64}).status_code == 403
    assert other.post(url, {"csrfmiddlewaretoken": token}).status_code < 400


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({"content": "Spelt?"}, "Spelt?"),
        ({"off_record": True}, '<span class="badge"'),
        ({"silenced_at": timezone.now()}, "Put back"),
        ({"created_at": timezone.now() - timedelta(hours=5)}, "Rye or"),
    ],
)
def test_a_message_that_changed_is_drawn_again(
    as_ada: Client, chat: Session, change: dict[str, Any], shown: str
) -> None:
    before = bare(rows(page(as_ada, chat)))
    first = chat.messages.order_by("id").first()
    assert first
    Message.objects.filter(id=first.id).update(**change)
    after = bare(rows(page(as_ada, chat)))
    assert after != before
    assert shown in after


def test_another_version_is_counted(as_ada: Client, chat: Session) -> None:
    assert "1/2" not in page(as_ada, chat)
    first = chat.messages.order_by("id").first()
    assert first
    Message.objects.create(session=chat, type="user", content="Spelt?", version_of=first, shelf=first)
    assert "1/2" in page(as_ada, chat)


def test_another_time_zone_shows_other_times(as_ada: Client, chat: Session) -> None:
    before = bare(rows(page(as_ada, chat)))
    User.objects.filter(pk=chat.owner_id).update(time_zone="Asia/Tokyo")
    assert bare(rows(page(as_ada, chat))) != before


def test_the_list_follows_names_previews_and_the_open_chat(as_ada: Client, chat: Session) -> None:
    other = Session.objects.create(owner=chat.owner, title="Cheese")
    assert 'aria-current="page"' in page(as_ada, chat)
    assert "Bread" in page(as_ada, other)
    Session.objects.filter(id=chat.id).update(title="Rolls", preview="Poppy seed")
    html = page(as_ada, other)
    assert "Rolls" in html
    assert "Poppy seed" in html
    assert "Select Bread" not in html


def test_what_a_value_holds_is_all_told() -> None:
    assert drawn.facts({"a": [1, {"b": (2,)}]}) == [("a", [1, [("b", [2])]])]
    assert drawn.facts({1, 2}) == repr({1, 2})
