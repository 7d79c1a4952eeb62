"""The list of chats: pages, headings, names, deletion and undo, and whose is whose."""

from datetime import date, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chat.models import Message, Run, Session
from chat.replies import titles
from chat.sessions import sessions
from people.models import User
from tests.chat.conftest import said


def test_home_stores_nothing_before_the_first_message(page: Client):
    assert page.get(reverse("home")).status_code == 200
    assert Session.objects.count() == 0


def test_the_first_message_makes_the_chat_its_run_and_an_empty_reply(page: Client, user: User):
    answer = page.post(reverse("chat:start"), {"text": "How do bridges stand?"})
    chat = Session.objects.get()
    assert answer["Location"] == reverse("chat:session", args=[chat.id])
    assert (chat.owner, chat.title) == (user, "How do bridges stand?")
    assert [m.type for m in chat.messages.all()] == ["user", "ai_response"]
    assert Run.objects.get().prompt == chat.messages.first()


@pytest.mark.parametrize("text", ["", " \n\t", "\0", "x" * 200_001, "long " * 200_000])
def test_a_message_that_cant_be_sent_comes_back_with_its_text(page: Client, text: str):
    answer = page.post(reverse("chat:start"), {"text": text})
    assert answer.status_code == 200
    assert 'role="alert"' in answer.content.decode()
    assert text[:100].strip("\0 \n\t") in answer.content.decode()
    assert Session.objects.count() == 0


def test_nul_is_taken_out_of_a_message(page: Client):
    page.post(reverse("chat:start"), {"text": "a\0b"})
    assert Message.objects.earliest("id").content == "ab"


def test_titles_end_at_a_word():
    assert titles.first_words("word " * 30) == ("word " * 10).strip() + "…"
    assert titles.first_words("x" * 80) == "x" * 50 + "…"
    assert titles.first_words("  two\n words ") == "two words"


def test_the_list_pages_by_key_and_shows_every_chat_once(user: User):
    now = timezone.now()
    made = [
        Session.objects.create(owner=user, title=str(n), active_at=now - timedelta(minutes=n // 2))
        for n in range(75)
    ]
    Session.objects.filter(id=made[50].id).update(pinned=True)
    seen, cursor = [], ""
    for _ in range(3):
        page = sessions.page(user, cursor)
        seen += [chat.id for group in page.groups for chat in group.sessions]
        cursor = page.cursor
    assert cursor == ""
    assert sorted(seen) == sorted(chat.id for chat in made)
    assert seen[0] == made[50].id


def test_headings_follow_the_users_calendar():
    today = date(2026, 3, 15)
    days = [0, 1, 3, 20, 60, 400]
    found = [sessions.heading(today - timedelta(days=n), today) for n in days]
    assert found == [
        "Today", "Yesterday", "Previous 7 days", "Previous 30 days", "January", "February 2025",
    ]  # fmt: skip


def test_a_deleted_chat_is_gone_until_undone(page: Client, user: User, session: Session):
    said(session, "hello", "hi")
    answer = page.post(
        reverse("chat:act", args=["delete"]), {"id": session.id}, headers={"HX-Request": "true"}
    )
    assert "Undo" in answer.content.decode()
    assert page.get(reverse("chat:session", args=[session.id])).status_code == 404
    page.post(reverse("chat:act", args=["undelete"]), {"id": session.id})
    assert page.get(reverse("chat:session", args=[session.id])).status_code == 200


def test_deleted_chats_are_removed_for_good_after_thirty_days(user: User, session: Session):
    said(session, "hello")
    sessions.delete(user, [session.id])
    assert sessions.purge() == 0
    assert sessions.purge(timezone.now() + timedelta(days=31)) == 1
    assert Message.objects.count() == 0


def test_pin_archive_and_batch(page: Client, user: User):
    made = [Session.objects.create(owner=user, title=str(n)) for n in range(3)]
    page.post(reverse("chat:act", args=["archive"]), {"id": [made[0].id, made[1].id]})
    page.post(reverse("chat:act", args=["pin"]), {"id": made[2].id})
    assert [group.name for group in sessions.page(user).groups] == ["Pinned"]
    archived = sessions.page(user, archived=True)
    assert {chat.title for group in archived.groups for chat in group.sessions} == {"0", "1"}


def test_the_users_title_stays(page: Client, session: Session):
    page.post(reverse("chat:rename", args=[session.id]), {"title": "  My <b>\n title "})
    session.refresh_from_db()
    assert (session.title, session.title_by) == ("My <b> title", "user")
    page.post(reverse("chat:rename", args=[session.id]), {"title": "  "})
    session.refresh_from_db()
    assert session.title == "My <b> title"


def test_another_users_chat_is_a_404_by_every_address(client: Client, other: User, session: Session):
    message, reply = said(session, "mine", "yours")
    client.force_login(other)
    for name in ("session", "older", "updates", "row", "rename", "export_markdown", "export_json"):
        assert client.get(reverse(f"chat:{name}", args=[session.id])).status_code == 404, name
    for name in ("send", "stop", "choose", "rename", "compact", "end"):
        assert client.post(reverse(f"chat:{name}", args=[session.id]), {"text": "x"}).status_code == 404
    for name, row in (("retry", reply), ("edit", message), ("version", message)):
        assert client.post(reverse(f"chat:{name}", args=[session.id, row.id])).status_code == 404
    client.post(reverse("chat:act", args=["delete"]), {"id": session.id})
    session.refresh_from_db()
    assert session.deleted_at is None


def test_addresses_with_rubbish_are_404s(page: Client, session: Session):
    for query in ("?at=x", "?at=" + "9" * 30, "?at=-1"):
        assert page.get(reverse("chat:session", args=[session.id]) + query).status_code == 404
    assert page.get(reverse("chat:list") + "?cursor=x").status_code == 404
    assert page.get(reverse("chat:list") + "?cursor=2026-01-01_x").status_code == 404
    assert page.post(reverse("chat:act", args=["delete"]), {"id": "x"}).status_code == 404
    assert page.post(reverse("chat:act", args=["burn"]), {"id": session.id}).status_code == 404


def htmx(page: Client, action: str, chat: Session, at: str) -> Any:
    """What the script of the page at an address gets for an action on a chat of the list."""
    return page.post(
        reverse("chat:act", args=[action]),
        {"id": str(chat.id)},
        headers={"HX-Request": "true", "HX-Current-URL": f"http://testserver{at}"},
    )


@pytest.mark.parametrize("action", ["delete", "archive"])
def test_the_page_of_a_chat_that_goes_from_the_list_leads_home(page: Client, session: Session, action: str):
    answer = htmx(page, action, session, reverse("chat:session", args=[session.id]))
    assert answer["HX-Redirect"] == reverse("home")
    offers_undo = str(session.id) in page.get(reverse("home")).content.decode()
    assert offers_undo == (action == "delete")


def test_the_page_of_another_chat_stays(page: Client, user: User, session: Session):
    other = Session.objects.create(owner=user, title="Tunnels")
    answer = htmx(page, "delete", session, reverse("chat:session", args=[other.id]))
    assert "HX-Redirect" not in answer
    assert "1 chat deleted" in answer.content.decode()


def test_the_archive_is_on_its_page_and_the_other_chats_stay_beside_it(
    page: Client, user: User, session: Session
):
    Session.objects.create(owner=user, title="Tunnels", archived_at=timezone.now())
    side, _, main = page.get(reverse("chat:list") + "?archived=1").content.decode().partition("<main")
    assert ("Bridges" in side, "Tunnels" in side) == (True, False)
    assert ("Bridges" in main, "Tunnels" in main) == (False, True)


def test_a_chat_that_is_brought_back_goes_from_the_page_of_the_archive(page: Client, session: Session):
    sessions.archive(Session.objects.all(), True)
    answer = htmx(page, "unarchive", session, reverse("chat:list") + "?archived=1")
    assert answer["HX-Refresh"] == "true"


@pytest.mark.parametrize(("at", "says"), [("chat:session", True), ("chat:export_markdown", False)])
def test_a_new_name_reaches_the_heading_of_the_open_chat(page: Client, session: Session, at: str, says: bool):
    shown = f"http://testserver{reverse(at, args=[session.id])}?at=1#side"
    answer = page.post(
        reverse("chat:rename", args=[session.id]),
        {"title": "Tunnels"},
        headers={"HX-Request": "true", "HX-Current-URL": shown},
    )
    assert ("<title>Tunnels · OneClaw</title>" in answer.content.decode()) == says
