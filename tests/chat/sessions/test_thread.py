"""A chat's page: the newest part first, whole replies, links into the middle, and the triggers of opening."""

import json
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from chat import memory
from chat.models import Message, Run, Session
from chat.sessions import export, sessions
from chat.sessions import thread as pages
from chat.sessions.thread import MOST_SINCE, PAGE
from people.models import User
from tests.chat.conftest import said


def many(session: Session, count: int) -> None:
    kinds = ("user", "ai_response")
    Message.objects.bulk_create(
        Message(session=session, type=kinds[n % 2], content=f"Message {n}") for n in range(count)
    )


def test_older_messages_come_page_by_page_and_each_once(session: Session):
    many(session, 230)
    seen: list[int] = []
    before = None
    while True:
        found = pages.newest(session, before)
        seen = [item.message.id for item in found.items] + seen
        before = found.before
        if before is None:
            break
    assert seen == list(pages.shown(session).values_list("id", flat=True))


def test_five_thousand_messages_cost_as_many_queries_as_fifty(page: Client, session: Session, user: User):
    small = Session.objects.create(owner=user)
    many(small, 50)
    many(session, 5000)
    counts = []
    for chat in (small, session):
        # Once before, so that no switch of chats is counted.
        page.get(reverse("chat:session", args=[chat.id]))
        with CaptureQueriesContext(connection) as found:
            body = page.get(reverse("chat:session", args=[chat.id])).content.decode()
        counts.append(len(found))
        assert body.count('id="message-') <= 110
    # One more looks whether there is an older page.
    assert counts[1] <= counts[0] + 1


def test_a_reply_is_never_cut_in_two(session: Session):
    question = Message.objects.create(session=session, type="user", content="Go")
    run = Run.objects.create(session=session, prompt=question, status="done")
    for number in range(60):
        Message.objects.create(session=session, run=run, type="ai_response", content=str(number))
    found = pages.newest(session)
    assert [len(item.parts) for item in found.items] == [60]
    assert found.before is not None


def asked_meanwhile(session: Session, rounds: int) -> list[list[str]]:
    """Each message is sent while the reply before it still goes on; what the page shows, item by item."""
    runs, shown = list[Run](), list[list[str]]()
    for number in range(rounds):
        if runs:
            Message.objects.create(session=session, run=runs[-1], type="ai_response", content="begun")
        question = Message.objects.create(session=session, type="user", content=f"Question {number}")
        runs.append(Run.objects.create(session=session, prompt=question, status="done"))
        Message.objects.create(session=session, run=runs[-1], type="ai_response", content=f"Reply {number}")
        if number:
            Message.objects.create(session=session, run=runs[-2], type="ai_response", content="ended")
        more = ["begun", "ended"] if number < rounds - 1 else []
        shown += [[f"Question {number}"], [f"Reply {number}", *more]]
    return shown


def contents(items: tuple[pages.Item, ...]) -> list[list[str]]:
    return [
        [part.content for part in item.parts if isinstance(part, Message)] or [item.message.content]
        for item in items
    ]


@pytest.mark.parametrize("fillers", range(8))
def test_a_message_sent_during_a_reply_is_on_a_page_and_once(session: Session, fillers: int):
    many(session, 60)
    expected = asked_meanwhile(session, 4)
    many(session, PAGE - 8 + fillers)
    seen: list[list[str]] = []
    before = None
    while True:
        found = pages.newest(session, before)
        seen = contents(found.items) + seen
        before = found.before
        if before is None:
            break
    assert seen[60 : 60 + len(expected)] == expected
    assert len(seen) == 60 + len(expected) + PAGE - 8 + fillers


def test_an_export_has_a_message_sent_during_a_reply_behind_that_reply(session: Session):
    expected = [text for item in asked_meanwhile(session, 3) for text in item]
    text = export.as_markdown(session)
    assert [line for line in text.splitlines() if line in expected] == expected


def test_a_link_from_search_opens_the_page_with_the_message(page: Client, session: Session):
    many(session, 300)
    wanted = pages.shown(session)[100]
    body = page.get(reverse("chat:session", args=[session.id]) + f"?at={wanted.id}").content.decode()
    assert f'id="message-{wanted.id}"' in body


def test_updates_bring_what_another_tab_did(page: Client, session: Session):
    first, second = said(session, "one", "two")
    address = reverse("chat:updates", args=[session.id])
    assert page.get(address + f"?after={second.id}").status_code == 204
    body = page.get(address + f"?after={first.id}").content.decode()
    assert "two" in body


@pytest.mark.parametrize("asked", ["chat:updates", "chat:heading"])
def test_what_a_page_asks_by_itself_of_a_deleted_chat_is_no_error(
    page: Client, session: Session, ben: User, asked: str
):
    address = reverse(asked, args=[session.id])
    Session.objects.filter(id=session.id).update(deleted_at=timezone.now())
    assert page.get(address).status_code == 204
    other = Client()
    other.force_login(ben)
    assert other.get(address).status_code == 404


def test_a_page_that_was_away_for_long_begins_anew_and_misses_nothing(page: Client, session: Session):
    first, _ = said(session, "one", "two")
    many(session, MOST_SINCE + 30)
    answer = page.get(
        reverse("chat:updates", args=[session.id]), {"after": first.id}, headers={"HX-Request": "true"}
    )
    assert answer["HX-Retarget"] == "#thread"
    assert f"Message {MOST_SINCE + 29}" in answer.content.decode()
    assert "Earlier messages" in answer.content.decode()


def test_updates_never_repeat_a_part_of_a_reply_that_the_page_has(page: Client, session: Session):
    question = Message.objects.create(session=session, type="user", content="Go")
    run = Run.objects.create(session=session, prompt=question, status="failed")
    reply = Message.objects.create(session=session, run=run, type="ai_response", content="Half")
    Message.objects.create(session=session, run=run, type="error", content="It broke.")
    address = reverse("chat:updates", args=[session.id])
    assert page.get(address + f"?after={reply.id}").status_code == 204
    assert "It broke." in page.get(address + f"?after={question.id}").content.decode()


def test_a_tab_that_shows_another_version_gets_the_whole_thread(page: Client, session: Session):
    _, second = said(session, "one", "two")
    Message.objects.filter(id=second.id).update(shelf=second)
    Message.objects.create(session=session, type="ai_response", content="three", version_of=second)
    address = reverse("chat:updates", args=[session.id]) + f"?after={second.id}"
    answer = page.get(address, headers={"HX-Request": "true"})
    assert answer["HX-Retarget"] == "#thread"
    assert "three" in answer.content.decode()


def test_opening_another_chat_is_a_switch_and_nothing_else_is(
    page: Client, user: User, session: Session, monkeypatch: pytest.MonkeyPatch
):
    told: list[tuple[UUID, UUID]] = []
    monkeypatch.setattr(memory, "switched", lambda user, old, new: told.append((old, new)))
    second = Session.objects.create(owner=user)
    page.get(reverse("chat:session", args=[session.id]))
    assert told == []
    page.get(reverse("chat:session", args=[session.id]))
    page.get(reverse("home"))
    assert told == []
    page.get(reverse("chat:session", args=[second.id]))
    assert told == [(session.id, second.id)]


def test_memory_off_takes_the_chat_out_and_on_brings_it_back(
    page: Client, session: Session, monkeypatch: pytest.MonkeyPatch
):
    told: list[str] = []
    monkeypatch.setattr(memory, "forget", lambda user, session_id: told.append("forget"))
    monkeypatch.setattr(memory, "changed", lambda user, session_id: told.append("changed"))
    address = reverse("chat:choose", args=[session.id])
    page.post(address, {"memory_mode": "off"})
    page.post(address, {"memory_mode": "off"})
    page.post(address, {"memory_mode": "normal"})
    assert told == ["forget", "changed"]
    assert page.post(address, {"memory_mode": "loud"}).status_code == 404


def test_deleting_and_undoing_tell_memory(user: User, session: Session, monkeypatch: pytest.MonkeyPatch):
    told: list[str] = []
    monkeypatch.setattr(memory, "forget", lambda user, session_id: told.append("forget"))
    monkeypatch.setattr(memory, "changed", lambda user, session_id: told.append("changed"))
    sessions.delete(user, [session.id])
    sessions.undelete(user, [session.id])
    assert told == ["forget", "changed"]


def test_export_as_markdown_and_json(page: Client, session: Session):
    _, second = said(session, "Why <b>?", "Because.")
    Message.objects.create(
        session=session, type="ai_response", content="Old", shelf=second, version_of=second
    )
    Message.objects.create(
        session=session, type="tool_call", tool_name="read_memory", tool_data={"a": "é"}, tool_call_id="1"
    )
    answer = page.get(reverse("chat:export_markdown", args=[session.id]))
    text = answer.content.decode()
    assert text.startswith("# Bridges\n")
    assert "Why <b>?" in text
    assert "Old" not in text
    assert answer["Content-Disposition"] == 'attachment; filename="bridges.md"'
    whole = json.loads(page.get(reverse("chat:export_json", args=[session.id])).content)
    assert [row["content"] for row in whole["messages"] if "content" in row] == [
        "Why <b>?",
        "Because.",
        "Old",
    ]
    assert [row["on_page"] for row in whole["messages"]] == [True, True, False, True]


def test_a_title_in_another_script_gives_a_safe_file_name(page: Client, session: Session):
    Session.objects.filter(id=session.id).update(title='東京"\r\nX-Evil: 1')
    answer = page.get(reverse("chat:export_markdown", args=[session.id]))
    assert "\n" not in answer["Content-Disposition"]
    assert "X-Evil" not in answer.headers


def test_ending_a_chat_tells_memory_unless_it_writes_nothing_here(
    page: Client, session: Session, monkeypatch: pytest.MonkeyPatch
):
    told: list[UUID] = []
    monkeypatch.setattr(memory, "ended", lambda user, session_id: told.append(session_id))
    address = reverse("chat:end", args=[session.id])
    assert page.get(address).status_code == 405
    page.post(address)
    Session.objects.filter(id=session.id).update(memory_mode="off")
    page.post(address)
    assert told == [session.id]


def test_a_receipt_without_counts_opens(page: Client, session: Session):
    run = Run.objects.create(session=session, prompt=session.messages.create(type="user", content="Hi"))
    receipt = {"budget": 2000, "tokens": 1234, "long_term": {"file": "MEMORY.md", "lines": 1}, "hits": []}
    reply = session.messages.create(run=run, type="ai_response", content="Hello", receipt=receipt)
    body = page.get(reverse("chat:receipt", args=[session.id, reply.id])).content.decode()
    assert ">1,234</strong>" in body


def test_a_receipt_says_why_there_is_no_memory_and_what_was_left_out(page: Client, session: Session):
    question = Message.objects.create(session=session, type="user", content="Go")
    run = Run.objects.create(session=session, prompt=question, status="done")
    receipt = {"off": "Memory is off in this chat.", "left_out_messages": 7}
    reply = Message.objects.create(
        session=session, run=run, type="ai_response", content="Gone", receipt=receipt
    )
    body = page.get(reverse("chat:receipt", args=[session.id, reply.id])).content.decode()
    assert "Memory is off in this chat." in body
    assert "7 earlier messages" in body
    assert "7 earlier messages" in page.get(reverse("chat:session", args=[session.id])).content.decode()


def recalled(*chats: Session) -> dict[str, Any]:
    """A receipt with a line of each of these chats, and of MEMORY.md all."""
    lines = [
        {
            "source": "transcript",
            "key": f"chat:{chat.id}",
            "date": "2026-02-28",
            "age": 3,
            "text": "Hm",
            "score": 1,
        }
        for chat in chats
    ]
    whole = {"lines": 23, "of": 25, "tokens": 282}
    return {"budget": 2000, "tokens": 501, "long_term": whole, "memories": lines}


def test_a_receipt_names_chats_by_their_titles_and_writes_dates_in_words(page: Client, session: Session):
    there = Session.objects.create(owner=session.owner, title="Night <b>trains")
    gone = Session.objects.create(owner=session.owner, title="Forgotten", deleted_at=timezone.now())
    question = session.messages.create(type="user", content="Go")
    run = Run.objects.create(session=session, prompt=question, status="done")
    reply = session.messages.create(
        run=run, type="ai_response", content="Gone", receipt=recalled(there, gone)
    )
    body = page.get(reverse("chat:receipt", args=[session.id, reply.id])).content.decode()
    assert f'<a href="/chat/{there.id}/" dir="auto">Night &lt;b&gt;trains</a>' in body
    assert "<strong>Deleted chat</strong>" in body
    assert "Forgotten" not in body
    assert "28 February 2026 (3 days ago)" in " ".join(body.split())
    # Headings with nothing under them and blank lines are not sent, and are no loss.
    assert "all of it" in body
    assert "23 of 25" not in body
