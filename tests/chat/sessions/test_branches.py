"""Branches: a new chat with the history up to a message, which memory does not take for something new."""

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from chat.models import AiModel, Attachment, Message, Run, Session
from chat.replies import sending, versions
from chat.sessions import branches, thread
from memory.manager import MemoryManager
from memory.models import MemoryIndex
from people.models import User
from tests.chat.conftest import said, settle
from tests.modelserver import ModelServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quiet")]
Make = Callable[..., AiModel]


def spoken(session: Session) -> list[str]:
    rows = thread.in_order(thread.shown(session).filter(type__in=["user", "ai_response"]))
    return [row.content for row in rows if row.content]


def test_a_branch_has_the_page_up_to_the_message_and_no_more(session: Session):
    asked, first, _, _ = said(session, "Why?", "Because.", "And?", "So.")
    aside = Message.objects.create(session=session, type="ai_response", content="Another.", shelf=first)
    made = branches.branch(session, first.id)
    assert spoken(made) == ["Why?", "Because."]
    assert spoken(branches.branch(session, asked.id)) == ["Why?"]
    assert spoken(session) == ["Why?", "Because.", "And?", "So."]
    assert (made.owner, made.title) == (session.owner, "Branch of Bridges")
    assert not made.messages.filter(content=aside.content).exists()
    assert [item.number for item in thread.newest(made).items if item.kind != "system"] == [1, 1]


def test_a_whole_reply_comes_along_with_its_tools(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    model_server.tool_calls(("get_current_time", {}), thinking="The clock.")
    model_server.reply("It is late.")
    run = sending.send(session, "What time is it?")
    settle()
    first = Message.objects.filter(run=run).earliest("id")
    made = branches.branch(session, first.id)
    item = thread.newest(made).items[1]
    assert [part.call.tool_name for part in item.parts if isinstance(part, thread.ShownCall)] == [
        "get_current_time"
    ]
    assert item.text == "It is late."
    assert item.run != run
    # It goes on by itself: regenerating it leaves the origin alone.
    model_server.reply("Later still.")
    versions.regenerate(made, item.message.id)
    settle()
    assert spoken(made) == ["What time is it?", "Later still."]
    assert spoken(session) == ["What time is it?", "It is late."]


def test_memory_takes_nothing_of_a_branch_twice(
    user: User, session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    memory = MemoryManager(user)
    _, reply = said(session, "I keep an ostrich called Olga", "A fine bird.")
    made = branches.branch(session, reply.id)
    memory.flush_daily_log(made.id)
    assert not model_server.asked, "a branch's copies were summarised"
    said(made, "She lays eggs", "How many?")
    made.refresh_from_db()
    memory.flush_daily_log(made.id)
    assert "She lays eggs" in model_server.asked[-1].text
    assert "called Olga" not in model_server.asked[-1].text
    memory.refresh_index()
    holds = [text for text in MemoryIndex.objects.values_list("chunk_text", flat=True) if "Olga" in text]
    assert len(holds) == 1
    memory.rebuild_index()
    holds = [text for text in MemoryIndex.objects.values_list("chunk_text", flat=True) if "Olga" in text]
    assert len(holds) == 1


def test_the_record_is_one_for_a_message_and_its_copies(user: User, session: Session):
    asked, reply = said(session, "I keep an ostrich", "A fine bird.")
    Message.objects.filter(id=reply.id).update(off_record=True)
    made = branches.branch(session, reply.id)
    again = branches.branch(made, made.messages.earliest("id").id)
    assert list(made.messages.exclude(type="system").values_list("off_record", flat=True)) == [False, True]
    copy = again.messages.earliest("id")
    assert copy.copied_from == asked.id
    MemoryManager(user).take_off_record(copy.id)
    holding = Message.objects.filter(content=asked.content)
    assert set(holding.values_list("off_record", flat=True)) == {True}
    MemoryManager(user).put_on_record(asked.id)
    assert set(holding.values_list("off_record", flat=True)) == {False}


def test_a_summary_comes_along_only_if_it_tells_of_nothing_later(session: Session):
    rows = said(session, "Why?", "Because.", "And?", "So.")
    session.summary, session.summary_until = "They spoke.", rows[1]
    session.save()
    assert branches.branch(session, rows[0].id).summary == ""
    made = branches.branch(session, rows[3].id)
    assert made.summary == "They spoke."
    assert made.summary_until is not None
    assert made.summary_until.content == "Because."


def test_the_page_links_the_origin_until_it_is_gone(page: Client, session: Session):
    _, reply = said(session, "Why?", "Because.")
    response = page.post(reverse("chat:branch", args=[session.id, reply.id]), follow=True)
    text = response.content.decode()
    assert f"/chat/{session.id}/?at={reply.id}" in text
    assert "Because." in text
    Session.objects.filter(id=session.id).delete()
    text = page.get(response.request["PATH_INFO"]).content.decode()
    assert "Branched from a chat that is gone" in text
    assert "Because." in text


def test_others_and_rows_that_are_not_on_the_page_are_not_found(
    client: Client, other: User, session: Session
):
    _, reply = said(session, "Why?", "Because.")
    client.force_login(other)
    assert client.post(reverse("chat:branch", args=[session.id, reply.id])).status_code == 404
    client.force_login(session.owner)
    assert client.post(reverse("chat:branch", args=[session.id, reply.id + 99])).status_code == 404
    Message.objects.filter(id=reply.id).update(shelf=reply)
    assert client.post(reverse("chat:branch", args=[session.id, reply.id])).status_code == 404
    assert Session.objects.count() == 1


def test_a_reply_that_still_grows_is_not_branched(session: Session):
    (asked,) = said(session, "Why?")
    run = Run.objects.create(session=session, prompt=asked, status=Run.Status.RUNNING)
    growing = Message.objects.create(session=session, type="ai_response", content="Bec", run=run)
    assert spoken(branches.branch(session, asked.id)) == ["Why?"]
    with pytest.raises(Exception, match="No such message"):
        branches.branch(session, growing.id)


def test_what_was_attached_is_shared(session: Session):
    asked, reply = said(session, "What is this?", "A bridge.")
    kept = {"owner": session.owner, "session": session, "message": asked, "name": "a.txt", "kind": "text"}
    Attachment.objects.create(**kept, media_type="text/plain", sha256="a" * 64, size=3)
    made = branches.branch(session, reply.id)
    here, there = Attachment.objects.order_by("created_at", "session_id")
    assert {here.session_id, there.session_id} == {session.id, made.id}
    assert here.sha256 == there.sha256
    assert {here.message_id, there.message_id} == {asked.id, made.messages.earliest("id").id}
