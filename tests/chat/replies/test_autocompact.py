"""Auto-compact: when it is due, what it keeps, what it never touches, and what it says when it fails."""

import threading
from collections.abc import Callable
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse

from chat import memory
from chat.models import AiModel, Message, Run, Session
from chat.replies import autocompact, sending, threads
from people.models import User
from tests.chat.conftest import said, settle, until
from tests.modelserver import ModelServer, Recorded, Script

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quiet")]
Make = Callable[..., AiModel]
LONG = "lorem ipsum dolor " * 40


def is_summary(request: Recorded) -> bool:
    return "You shorten a conversation" in request.text


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
    """The chats written to the daily log before their context was shortened."""
    found: list[UUID] = []
    monkeypatch.setattr(memory, "before_compaction", lambda user, session_id: found.append(session_id))
    return found


@pytest.fixture
def long_chat(session: Session) -> list[Message]:
    return said(session, *(f"{n}: {LONG}" for n in range(20)))


def talk(session: Session, text: str = "Go on") -> None:
    sending.send(session, text)
    settle()
    session.refresh_from_db()


def test_a_long_chat_is_summarised_but_its_newest_quarter(
    session: Session,
    make_provider: Make,
    model_server: ModelServer,
    flushed: list[UUID],
    long_chat: list[Message],
):
    make_provider(context_window=4000)
    for text in ("They spoke.", "They spoke of many things."):
        model_server.reply(text, match=is_summary)
    before = list(Message.objects.values("id", "content"))
    talk(session)
    assert session.summary == "They spoke of many things."
    kept = [row for row in long_chat if row.id > (session.summary_until_id or 0)]
    assert 3 <= len(kept) <= 6
    assert kept[0].type == "user"
    assert flushed == [session.id]
    assert list(Message.objects.values("id", "content"))[: len(before)] == before
    asked = next(request for request in model_server.asked if is_summary(request))
    assert asked.json["max_tokens"] == 2048
    # The next request holds the summary and what was kept, not what was summarised.
    talk(session, "What now?")
    last = model_server.asked[-1]
    assert "They spoke of many things." in last.system
    assert "0: lorem" not in last.text
    assert "19: lorem" in last.text


def test_it_does_not_run_again_after_every_reply(
    session: Session,
    make_provider: Make,
    model_server: ModelServer,
    flushed: list[UUID],
    long_chat: list[Message],
):
    make_provider(context_window=4000)
    talk(session)
    for _ in range(3):
        talk(session)
    assert len([request for request in model_server.asked if is_summary(request)]) <= 2
    assert flushed == [session.id]


def test_memory_is_written_before_the_summary_is_asked_for(
    session: Session,
    make_provider: Make,
    model_server: ModelServer,
    long_chat: list[Message],
    monkeypatch: pytest.MonkeyPatch,
):
    make_provider(context_window=4000)
    order: list[str] = []
    monkeypatch.setattr(memory, "before_compaction", lambda *values: order.append("memory"))

    def summary(request: Recorded) -> str:
        order.append("summary")
        return "Short."

    model_server.add(Script(function=summary, match=is_summary))
    talk(session)
    assert order[0] == "memory"
    assert order[-1] == "summary"


def test_memory_is_recalled_while_many_chats_are_written_to_it(
    user: User, make_provider: Make, monkeypatch: pytest.MonkeyPatch
):
    model = make_provider()
    written = threading.Semaphore(0)
    begun: list[UUID] = []

    def slow(user: User, session_id: UUID) -> None:
        begun.append(session_id)
        written.acquire(timeout=20)

    monkeypatch.setattr(memory, "before_compaction", slow)
    chats = [Session.objects.create(owner=user) for _ in range(4)]
    work = [threads.loop.submit(autocompact.compact(chat.id, model)) for chat in chats]
    until(lambda: len(begun) == 4)
    try:
        assert (
            threads.loop.submit(threads.in_thread(threads.remembering, lambda: "recalled")).result(5)
            == "recalled"
        )
    finally:
        written.release(4)
    assert [each.result(10) for each in work] == [False] * 4


def test_the_earlier_summary_is_merged(
    session: Session, make_provider: Make, model_server: ModelServer, flushed: list[UUID]
):
    make_provider(context_window=4000)
    first, *_ = said(session, "old")
    Session.objects.filter(id=session.id).update(summary="Once there was a bridge.", summary_until=first)
    said(session, *(f"{n}: {LONG}" for n in range(20)))
    talk(session)
    asked = next(request for request in model_server.asked if is_summary(request))
    assert "Once there was a bridge." in asked.text


def test_a_short_chat_is_left_alone(
    session: Session, make_provider: Make, model_server: ModelServer, flushed: list[UUID]
):
    make_provider(context_window=4000)
    talk(session)
    assert session.summary == ""
    assert flushed == []


def test_a_failure_is_tried_once_more_then_told_and_the_oldest_left_out(
    session: Session,
    make_provider: Make,
    model_server: ModelServer,
    flushed: list[UUID],
    long_chat: list[Message],
):
    make_provider(context_window=4000)
    for _ in range(2):
        model_server.error(400, {"error": {"message": "no summaries today"}}, match=is_summary)
    talk(session)
    assert (session.summary, session.summary_until) == ("", None)
    assert len([request for request in model_server.asked if is_summary(request)]) == 2
    note = Message.objects.get(type="system")
    assert "could not be summarised" in note.content
    assert Message.objects.filter(type="ai_response").last().receipt["left_out_messages"]  # type: ignore[union-attr]


def test_a_provider_that_isnt_trusted_summarises_nothing(
    session: Session,
    make_provider: Make,
    model_server: ModelServer,
    flushed: list[UUID],
    long_chat: list[Message],
):
    make_provider(context_window=4000, can_write_memory=False)
    talk(session)
    assert len(model_server.asked) == 1
    assert flushed == []


def test_by_hand_from_the_page(
    page: Client, session: Session, make_provider: Make, model_server: ModelServer, flushed: list[UUID]
):
    make_provider()
    address = reverse("chat:compact", args=[session.id])
    page.post(address)
    said(session, *(f"{n}: short" for n in range(8)))
    answer = page.post(address, headers={"HX-Request": "true"})
    session.refresh_from_db()
    assert session.summary == "Hello from the scripted model."
    assert flushed == [session.id]
    assert "Nothing was deleted" in answer.content.decode()


def test_what_still_waits_for_an_answer_is_never_summarised(session: Session):
    rows = said(session, *(f"{n}: {LONG}" for n in range(8)))
    Run.objects.create(session=session, prompt=rows[4], status=Run.Status.QUEUED)
    found = autocompact.plan(session.id)
    assert found is not None
    assert found.until < rows[4].id


def test_more_than_the_window_goes_in_several_parts():
    rows = tuple(Message(type="user", content="x" * 8000) for _ in range(3))
    parts = autocompact.parts(rows, 1000)
    assert "".join(parts).count("x") == 24_000
    assert all(len(part) < 5000 for part in parts)


def test_what_memory_tools_said_never_goes_to_the_model_that_summarises(
    session: Session,
    make_provider: Make,
    model_server: ModelServer,
    flushed: list[UUID],
    long_chat: list[Message],
):
    make_provider(context_window=4000, send_memory=False)
    for kind, name, text, data in (
        ("tool_call", "search_memory", "", {"query": "pistachios"}),
        ("tool_result", "search_memory", "Ada is allergic to nuts.", None),
        ("tool_call", "get_current_time", "", {}),
        ("tool_result", "get_current_time", "Half past nine.", None),
    ):
        Message.objects.create(
            session=session, type=kind, tool_name=name, tool_call_id=name, content=text, tool_data=data
        )
    said(session, *(f"{n}: {LONG}" for n in range(20)))
    talk(session)
    assert session.summary
    asked = "".join(request.text for request in model_server.asked)
    assert "Half past nine." in asked
    assert "nuts" not in asked
    assert "pistachios" not in asked


def test_a_summary_that_is_too_long_is_cut():
    assert len(autocompact.within("word " * 10_000, 2048)) <= 2048 * 4
    assert autocompact.within("short", 2048) == "short"


def test_memory_off_is_not_written_before_compaction(
    session: Session, make_provider: Make, flushed: list[UUID], long_chat: list[Message]
):
    make_provider(context_window=4000)
    session.memory_mode = "off"
    session.save()
    talk(session)
    assert session.summary
    assert flushed == []


def test_the_estimate_counts_what_would_be_sent(user: User, session: Session, make_provider: Make):
    model = make_provider()
    rows = said(session, *(LONG for _ in range(10)))
    whole = autocompact.size(session, model)
    session.summary, session.summary_until = "Short.", rows[7]
    assert autocompact.size(session, model) < whole / 3
