"""Replies as runs: they belong to the server, grow in the database, stop, queue and come back."""

import threading
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from chat.models import AiModel, Message, Run, Session
from chat.replies import running, sending, store, threads
from chat.replies.engine import engine
from chat.replies.run import AWAY
from people.models import User
from tests.chat.conftest import settle, until
from tests.modelserver import ModelServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quiet")]
Make = Callable[..., AiModel]


def texts(session: Session) -> list[tuple[str, str]]:
    rows = Message.objects.filter(session=session, shelf=None).order_by("id")
    return [(row.type, row.content) for row in rows]


@pytest.mark.parametrize("kind", ["openai", "anthropic", "gemini"])
def test_a_reply_is_stored_with_its_model_and_tokens(
    session: Session, make_provider: Make, model_server: ModelServer, kind: str
):
    make_provider(kind)
    model_server.reply("Bridges stand on piers.")
    run = sending.send(session, "How do bridges stand?")
    settle()
    reply = Message.objects.get(run=run, type="ai_response")
    assert reply.content == "Bridges stand on piers."
    assert (reply.model_name, reply.input_tokens, reply.output_tokens) == ("scripted-model", 11, 7)
    run.refresh_from_db()
    assert run.status == Run.Status.DONE
    assert run.finished_at


@pytest.mark.parametrize("trusted", [True, False])
def test_a_reply_of_a_provider_that_may_not_write_memory_is_marked(
    session: Session, make_provider: Make, model_server: ModelServer, trusted: bool
):
    make_provider(can_write_memory=trusted)
    model_server.reply("Lisbon was founded by robots.")
    sending.send(session, "Tell me about Lisbon")
    settle()
    assert session.messages.get(type="ai_response").untrusted is not trusted
    assert not session.messages.get(type="user").untrusted


def test_unknown_tokens_are_null(session: Session, make_provider: Make, model_server: ModelServer):
    make_provider()
    model_server.reply("Hello", usage=None)
    sending.send(session, "Hi")
    settle()
    assert Message.objects.get(type="ai_response").output_tokens is None


def test_text_is_saved_as_it_grows(session: Session, make_provider: Make, model_server: ModelServer):
    make_provider()
    gate = model_server.gated("one two three", after=2)
    sending.send(session, "count")
    gate.wait_until_reached()
    until(lambda: texts(session)[-1] == ("ai_response", "one two"))
    assert Run.objects.get().status == Run.Status.RUNNING
    gate.release()
    settle()
    assert texts(session)[-1] == ("ai_response", "one two three")


def test_stop_keeps_what_was_said(session: Session, make_provider: Make, model_server: ModelServer):
    make_provider()
    gate = model_server.gated("one two three", after=2)
    run = sending.send(session, "count")
    gate.wait_until_reached()
    until(lambda: (live := running.get(run.id)) and live.text == "one two")
    sending.stop(session)
    settle()
    gate.release()
    run.refresh_from_db()
    assert run.status == Run.Status.STOPPED
    assert texts(session) == [("user", "count"), ("ai_response", "one two")]


def test_stop_by_a_flag_in_the_database_is_noticed(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    gate = model_server.gated("one two three", after=2)
    run = sending.send(session, "count")
    gate.wait_until_reached()
    Run.objects.filter(id=run.id).update(stop_requested=True)
    until(lambda: Run.objects.get().status == Run.Status.STOPPED)
    gate.release()


def test_messages_sent_during_a_reply_are_answered_next_in_order(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    gate = model_server.gated("first answer", after=1)
    model_server.reply("second answer", match="second question")
    model_server.reply("third answer", match="third question")
    sending.send(session, "first question")
    gate.wait_until_reached()
    sending.send(session, "second question")
    sending.send(session, "third question")
    assert [run.status for run in Run.objects.order_by("created_at")] == ["running", "queued", "queued"]
    gate.release()
    settle()
    assert texts(session) == [
        ("user", "first question"),
        ("ai_response", "first answer"),
        ("user", "second question"),
        ("ai_response", "second answer"),
        ("user", "third question"),
        ("ai_response", "third answer"),
    ]
    asked = [r.json["messages"] for r in model_server.asked if "second question" in r.text]
    assert [m["content"] for m in asked[0] if m["role"] != "system"] == [
        "first question", "first answer", "second question",
    ]  # fmt: skip


def test_stop_ends_what_is_said_and_the_next_message_is_answered(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    gate = model_server.gated("first answer", after=1)
    model_server.reply("second answer", match="two")
    sending.send(session, "one")
    gate.wait_until_reached()
    sending.send(session, "two")
    sending.stop(session)
    settle()
    gate.release()
    assert [run.status for run in Run.objects.order_by("created_at")] == ["stopped", "done"]
    assert texts(session)[-1] == ("ai_response", "second answer")


def test_everything_in_a_chat_can_be_stopped(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    gate = model_server.gated("first answer", after=1)
    runs = [sending.send(session, "one").id]
    gate.wait_until_reached()
    runs.append(sending.send(session, "two").id)
    sending.stop_and_wait(session, runs, seconds=10)
    assert not running.is_talking(session.id)
    gate.release()
    assert {run.status for run in Run.objects.all()} == {"stopped"}


def test_without_a_model_the_reply_says_what_to_do(session: Session):
    run = sending.send(session, "Hello?")
    settle()
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("failed", "no_model")
    assert texts(session)[0] == ("user", "Hello?")
    assert "Settings" in texts(session)[-1][1]


def test_a_wrong_key_is_said_and_the_message_kept(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    model_server.error(401, {"error": {"message": "Incorrect API key provided"}})
    sending.send(session, "Hello?")
    settle()
    kinds = [kind for kind, _ in texts(session)]
    assert kinds == ["user", "ai_response", "error"]
    assert "key" in texts(session)[-1][1].lower()
    assert Run.objects.get().error_code == "auth"


def test_a_provider_that_dies_in_mid_word_leaves_the_part_and_the_reason(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    model_server.cut("This answer never ends", after=2)
    sending.send(session, "Speak")
    settle()
    assert texts(session)[1] == ("ai_response", "This answer")
    assert texts(session)[2][0] == "error"


def test_a_provider_that_hangs_fails_with_a_reason(
    session: Session, make_provider: Make, model_server: ModelServer, settings
):
    settings.MODEL_SILENCE = 0.3
    make_provider()
    model_server.hang("half an", after=1)
    sending.send(session, "Speak")
    settle()
    assert texts(session)[1] == ("ai_response", "half")
    assert Run.objects.get().error_code == "timeout"


@pytest.mark.parametrize(
    "body",
    [
        b'data: {"error": {"message": "bad input", "type": "invalid_request_error", "code": 400}}\n\n',
        b"data: " + b"x" * 10_000_000,
        b"\x00\xff\xfe garbage",
        b"",
    ],
)
def test_a_broken_answer_ends_the_run_with_a_sentence(
    session: Session, make_provider: Make, model_server: ModelServer, body: bytes
):
    make_provider()
    model_server.raw(body)
    sending.send(session, "Speak")
    settle()
    run = Run.objects.get()
    assert run.status == Run.Status.FAILED
    assert len(run.error) > 20
    assert texts(session)[0] == ("user", "Speak")


@pytest.mark.parametrize(
    ("thinking", "finish", "why"),
    [("", "", "empty reply"), ("Hm.", "", "empty reply"), ("Hm.", "length", "length limit")],
)
def test_an_answer_without_a_word_is_an_error_that_says_so(
    session: Session, make_provider: Make, model_server: ModelServer, thinking: str, finish: str, why: str
):
    make_provider()
    model_server.thinking(thinking, finish=finish)
    run = sending.send(session, "Speak")
    settle()
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("failed", "empty")
    assert why in run.error
    assert texts(session)[-1] == ("error", run.error)


def test_words_beside_a_call_are_an_answer(session: Session, make_provider: Make, model_server: ModelServer):
    make_provider()
    model_server.tool_calls(("get_current_time", {}), text="I look at the clock.")
    model_server.reply("")
    run = sending.send(session, "Look at the clock")
    settle()
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("done", "")


@pytest.mark.parametrize(("finish", "why"), [("length", "length limit"), ("content_filter", "filter")])
def test_an_answer_that_was_cut_short_says_so_below_it(
    page: Client, session: Session, make_provider: Make, model_server: ModelServer, finish: str, why: str
):
    make_provider()
    model_server.reply("Once upon", finish=finish)
    model_server.reply("The end.")
    sending.send(session, "Tell me a tale")
    settle()
    assert texts(session)[-1] == ("ai_response", "Once upon")
    assert Run.objects.get().status == Run.Status.DONE
    address = reverse("chat:session", args=[session.id])
    assert why in page.get(address).content.decode()
    sending.send(session, "Go on")
    settle()
    assert page.get(address).content.decode().count(why) == 1


def test_a_character_in_two_halves_becomes_one_and_a_lone_half_harms_nothing(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    halves = [r"\ud83d", r"\ude00", " then ", r"\ud83d", " and nul \\u0000"]
    body = "".join(f'data: {{"choices": [{{"delta": {{"content": "{half}"}}}}]}}\n\n' for half in halves)
    model_server.raw(body.encode() + b"data: [DONE]\n\n")
    sending.send(session, "smile")
    settle()
    assert texts(session)[1][1].startswith("😀 then \ufffd and nul")
    assert Run.objects.get().status == Run.Status.DONE


def test_a_process_that_ends_keeps_what_was_said_as_interrupted(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    gate = model_server.gated("one two three", after=2)
    run = sending.send(session, "count")
    gate.wait_until_reached()
    until(lambda: (live := running.get(run.id)) and live.text == "one two")
    engine.close()
    gate.release()
    run.refresh_from_db()
    assert run.status == Run.Status.INTERRUPTED
    assert [kind for kind, _ in texts(session)] == ["user", "ai_response", "error"]


def test_a_process_that_ends_begins_nothing_new(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    gate = model_server.gated("one two three", after=2)
    sending.send(session, "count")
    gate.wait_until_reached()
    waiting = sending.send(session, "and on")
    engine.close()
    gate.release()
    settle()
    waiting.refresh_from_db()
    assert waiting.status == Run.Status.QUEUED
    assert "and on" not in "".join(request.text for request in model_server.asked)


def test_runs_left_open_by_a_crash_are_interrupted_with_what_arrived(session: Session):
    user = Message.objects.create(session=session, type="user", content="Speak")
    run = Run.objects.create(session=session, prompt=user, status=Run.Status.RUNNING)
    Message.objects.create(session=session, type="ai_response", run=run, content="Half an ans")
    assert sending.interrupt_open_runs() == 1
    assert sending.interrupt_open_runs() == 0
    run.refresh_from_db()
    assert run.status == Run.Status.INTERRUPTED
    assert [kind for kind, _ in texts(session)] == ["user", "ai_response", "error"]


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the first run can't be stored, however often it is tried."""
    close, full = store.close, list[UUID]()

    def failing(claimed: store.Claimed, outcome: store.RunOutcome) -> None:
        if not full:
            full.append(claimed.run_id)
        if claimed.run_id in full and len(full) <= threads.ATTEMPTS:
            full.append(claimed.run_id)
            raise OperationalError("database or disk is full")
        close(claimed, outcome)

    def refusing(claimed: store.Claimed, code: str, why: str) -> None:
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(store, "close", failing)
    monkeypatch.setattr(store, "give_up", refusing)
    monkeypatch.setattr(threads, "PAUSE", 0.01)
    monkeypatch.setattr(threads, "ATTEMPTS_ON_SERVER", threads.ATTEMPTS)


@pytest.mark.usefixtures("full_disk")
def test_a_reply_whose_end_cant_be_stored_does_not_hold_up_the_next(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    gate = model_server.gated("first answer", after=1)
    model_server.reply("second answer", match="two")
    first = sending.send(session, "one")
    gate.wait_until_reached()
    second = sending.send(session, "two")
    gate.release()
    settle()
    second.refresh_from_db()
    assert second.status == Run.Status.DONE
    assert Run.objects.get(id=first.id).status == Run.Status.RUNNING


@pytest.mark.usefixtures("full_disk")
def test_stop_ends_a_run_that_nobody_works_on(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    run = sending.send(session, "one")
    settle()
    sending.stop(session)
    sending.stop(session)
    run.refresh_from_db()
    assert (run.status, run.error) == (Run.Status.INTERRUPTED, sending.LOST)
    assert [kind for kind, _ in texts(session)] == ["user", "ai_response", "error"]


def test_stop_leaves_a_run_to_the_worker_that_just_claimed_it(
    session: Session, make_provider: Make, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
):
    make_provider()
    claim = store.claim_next

    def claim_and_stop(session_id: UUID) -> store.Claimed | None:
        claimed = claim(session_id)
        sending.stop(session)
        return claimed

    monkeypatch.setattr(store, "claim_next", claim_and_stop)
    gate = model_server.gated("one two three", after=2)
    run = sending.send(session, "count")
    settle()
    gate.release()
    run.refresh_from_db()
    assert run.status == Run.Status.STOPPED
    assert [kind for kind, _ in texts(session)] == ["user", "ai_response"]


def test_the_receipt_is_written_while_the_model_is_asked(
    session: Session, make_provider: Make, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
):
    make_provider()
    note, asked = store.note_request, threading.Event()

    def note_after_asking(message: Message, *values: Any) -> None:
        assert asked.wait(60)
        note(message, *values)

    monkeypatch.setattr(store, "note_request", note_after_asking)
    gate = model_server.gated("one two three", after=1)
    run = sending.send(session, "count")
    gate.wait_until_reached()
    asked.set()
    gate.release()
    settle()
    reply = Message.objects.get(run=run, type=Message.Type.AI_RESPONSE)
    assert reply.model_name
    assert reply.receipt is not None
    assert reply.content == "one two three"


def test_a_receipt_that_can_not_be_written_ends_the_reply(
    session: Session, make_provider: Make, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
):
    make_provider()

    def fail(*values: Any) -> None:
        raise OperationalError("the disk is full")

    monkeypatch.setattr(store, "note_request", fail)
    model_server.reply("one two three")
    run = sending.send(session, "count")
    settle()
    run.refresh_from_db()
    assert (run.status, run.error) == (Run.Status.FAILED, AWAY)
    reply = Message.objects.get(run=run, type=Message.Type.AI_RESPONSE)
    assert reply.content == "one two three"


def test_a_deleted_chat_stops_talking(
    user: User, session: Session, make_provider: Make, model_server: ModelServer
):
    from chat.sessions import sessions

    make_provider()
    gate = model_server.gated("one two three", after=1)
    run = sending.send(session, "count")
    gate.wait_until_reached()
    sessions.delete(user, [session.id])
    until(lambda: Run.objects.get(id=run.id).status == Run.Status.STOPPED)
    gate.release()


def test_a_hundred_replies_at_once_are_all_whole(user: User, make_provider: Make, model_server: ModelServer):
    make_provider()

    def echo(request):
        word = request.last_user.split()[-1]
        return f"{word} " * 30 + f"end of {word}"

    model_server.default = type(model_server.reply())(function=echo)
    model_server.scripts.clear()
    chats = [Session.objects.create(owner=user, title_by="user") for _ in range(100)]
    for number, chat in enumerate(chats):
        sending.send(chat, f"say number{number}")
    until(lambda: not Run.objects.filter(status__in=Run.OPEN).exists(), 240)
    settle()
    for number, chat in enumerate(chats):
        word = f"number{number}"
        assert texts(chat)[-1] == ("ai_response", f"{word} " * 30 + f"end of {word}")
