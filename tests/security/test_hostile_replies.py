"""A reply by a hostile provider: it ends whatever was sent, and the pages that show it open."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from chat.ask import ask_model
from chat.models import AiModel, Message, Run, Session
from chat.replies import run as making
from chat.replies import sending, store
from chat.tools.registry import registry
from memory.manager import MemoryManager
from oneclaw.toolkit import Tool, ToolContext, ToolResult
from people.models import User
from tests.chat.conftest import settle
from tests.modelserver import ModelServer
from tests.modelserver.protocols import STREAMS, sse
from tests.modelserver.script import Script
from tests.security import hostile

pytestmark = pytest.mark.django_db(transaction=True)
Make = Callable[..., AiModel]
# The first half of a character alone, and what no text column of every database takes.
BAD = "a\ud83d\0b"
OPEN = (Run.Status.QUEUED, Run.Status.RUNNING)


@pytest.fixture
def chat(ada: User) -> Iterator[Session]:
    yield Session.objects.create(owner=ada, title="Bridges", title_by="user")
    settle()


@pytest.fixture
def browser(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def reply(chat: Session, text: str = "Hi") -> Run:
    run = sending.send(chat, text)
    settle()
    run.refresh_from_db()
    return run


def opens(browser: Client, chat: Session) -> str:
    """The chat's page and both its files; none may be an error."""
    names = ("chat:session", "chat:export_markdown", "chat:export_json")
    answers = [browser.get(reverse(name, args=[chat.id])) for name in names]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    return answers[0].content.decode()


# Characters


@pytest.mark.parametrize("kind", hostile.KINDS)
def test_a_bad_character_in_any_field_of_an_answer(
    kind: str, chat: Session, browser: Client, make_provider: Make, model_server: ModelServer
):
    make_provider(kind, can_write_memory=False, supports_thinking=True)
    script = Script("One", thinking="Hm", calls=[("get_current_time", {"time_zone": "UTC"})])
    sent = [json.loads(line[6:]) for message in STREAMS[kind](script) for line in lines(message)]
    runs: dict[str, Run] = {}
    for at, value in enumerate(sent):
        for path in hostile.fields(value):
            told = [hostile.spoilt(each, path, BAD) if at == n else each for n, each in enumerate(sent)]
            body = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in told)
            name = f"message {at}, {path}!"
            model_server.raw(body, match=lambda request, name=name: name in request.last_user)
            other = Session.objects.create(owner=chat.owner, title=name, title_by="user")
            runs[name] = sending.send(other, name)
    settle()
    assert not model_server.scripts
    for name, run in runs.items():
        run.refresh_from_db()
        assert run.status not in OPEN, name
        assert browser.get(reverse("chat:session", args=[run.session_id])).status_code == 200, name


def lines(message: bytes) -> list[bytes]:
    return [line for line in message.splitlines() if line.startswith(b"data: {")]


@pytest.mark.parametrize("kind", hostile.KINDS)
@pytest.mark.parametrize("status", [400, 200])
def test_a_bad_character_in_an_error(
    kind: str, status: int, chat: Session, browser: Client, make_provider: Make, model_server: ModelServer
):
    make_provider(kind)
    body = json.dumps({"error": {"message": BAD, "type": BAD, "code": BAD, "status": BAD}}).encode()
    model_server.default = Script(
        status=status,
        body=b"data: " + body + b"\n\n" if status == 200 else body,
        headers={"Content-Type": "text/event-stream"},
    )
    assert reply(chat).status == Run.Status.FAILED
    assert "a\ufffdb" in opens(browser, chat)


@pytest.mark.parametrize("kind", hostile.KINDS)
def test_a_summary_with_a_character_in_two_pieces_is_written(
    kind: str, ada: User, chat: Session, make_provider: Make, model_server: ModelServer
):
    model = make_provider(kind)
    for text, sort in (("I moved to Porto", "user"), ("How nice", "ai_response")):
        Message.objects.create(session=chat, type=sort, content=text)

    def halves() -> Iterator[bytes]:
        yield hostile.openings(kind)
        for piece in ("## Daily Summary\n- Moved \ud83d", "\ude00 to Porto\n"):
            yield hostile.said(kind, "@@@").replace(b'"@@@"', json.dumps(piece).encode())
        yield hostile.ended(kind)

    model_server.default = Script(pour=halves, headers={"Content-Type": "text/event-stream"})
    assert "Moved 😀 to Porto" in ask_model(model, "Summarise").text
    manager = MemoryManager(ada)
    manager.flush_daily_log(chat.id)
    (day,) = manager.files.list_daily_log_dates()
    assert "Moved 😀 to Porto" in (manager.files.read_daily_log(day) or "")


# Tool calls


@pytest.mark.parametrize("kind", hostile.KINDS)
def test_arguments_nested_900_deep_leave_a_page_that_opens(
    kind: str, chat: Session, browser: Client, make_provider: Make, model_server: ModelServer
):
    make_provider(kind)
    given: Any = 1
    for _ in range(900):
        given = [given]
    given = {"time_zone": given}
    body = hostile.called(kind, 0, "get_current_time", json.dumps(given), given) + hostile.ended(kind)
    model_server.pour(lambda: [body])
    model_server.reply("I see.")
    assert reply(chat).status in (Run.Status.DONE, Run.Status.FAILED)
    opens(browser, chat)


def test_a_row_that_was_stored_nested_too_deep_does_not_close_its_page(chat: Session, browser: Client):
    """As versions before this one stored it."""
    message = Message.objects.create(session=chat, type="tool_call", tool_name="x", tool_data={"a": 1})
    deep = '{"a":' * 950 + "1" + "}" * 950
    with connection.cursor() as cursor:
        cursor.execute("UPDATE chat_message SET tool_data = %s WHERE id = %s", [deep, message.id])
    opens(browser, chat)


def test_two_thousand_calls_are_few_threads_and_few_rows(
    chat: Session, make_provider: Make, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
):
    make_provider()
    at_once, most, lock = 0, 0, threading.Lock()

    def run(context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        time.sleep(0.005)
        with lock:
            at_once -= 1
        return ToolResult("ok")

    slow = Tool("slow", "", {"type": "object", "properties": {}}, run)
    monkeypatch.setattr(type(registry), "offered", lambda *_, **__: (slow,))
    model_server.tool_calls(*[("slow", {})] * 2_000)
    model_server.reply("Done.")
    assert reply(chat).status == Run.Status.DONE
    assert 1 <= most <= making.TOOLS_AT_ONCE
    kinds = list(Message.objects.filter(session=chat).values_list("type", flat=True))
    assert 1 <= kinds.count("tool_call") == kinds.count("tool_result") <= 64


def test_rounds_of_tools_share_one_limit(
    chat: Session, browser: Client, make_provider: Make, model_server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
):  # fmt: skip
    monkeypatch.setattr(making, "MOST_SAID", 2_000)
    make_provider()
    model_server.default = Script(text="word " * 50, calls=[("get_current_time", {})])
    run = reply(chat)
    assert (run.status, run.error_code) == (Run.Status.FAILED, "too_long")
    assert len(model_server.asked) < 20
    assert "grew too long" in opens(browser, chat)


# The end


def test_a_run_ends_even_if_its_end_can_not_be_stored(
    chat: Session, browser: Client, make_provider: Make, model_server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
):  # fmt: skip
    make_provider()

    def fails(*_: object) -> None:
        raise UnicodeEncodeError("utf-8", "\ud83d", 0, 1, "surrogates not allowed")

    monkeypatch.setattr(store, "close", fails)
    model_server.reply("All good")
    run = reply(chat)
    assert (run.status, run.error_code) == (Run.Status.FAILED, "unexpected")
    assert "see its log for details" in opens(browser, chat)
    assert run.finished_at


def test_numbers_of_forty_digits_are_no_counts(
    chat: Session, browser: Client, make_provider: Make, model_server: ModelServer
):
    make_provider()
    for number in ("9" * 40, "-" + "9" * 40, "1e999", "9" * 5_000):
        usage = f'"usage": {{"prompt_tokens": {number}, "completion_tokens": {number}}}'
        body = f'data: {{"choices": [{{"index": 0, "delta": {{"content": "Hi"}}}}], {usage}}}\n\n'
        model_server.raw(body.encode() + sse("[DONE]"))
        assert reply(chat).status in (Run.Status.DONE, Run.Status.FAILED)
    assert not Message.objects.exclude(input_tokens=None).exists()
    opens(browser, chat)
