"""Rounds of tools in a reply: rows for every call and result, in each protocol, stopped or not."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from chat.models import AiModel, Message, Run, Session
from chat.replies import run as making
from chat.replies import running, sending
from chat.tools.registry import registry
from oneclaw.toolkit import Tool, ToolContext, ToolResult
from tests.chat.conftest import settle, until
from tests.modelserver import ModelServer, Script

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quiet")]
Make = Callable[..., AiModel]


def rows(session: Session) -> list[tuple[str, str, str]]:
    found = Message.objects.filter(session=session, shelf=None).order_by("id")
    return [(row.type, row.tool_name, row.error_code) for row in found]


@pytest.mark.parametrize("kind", ["openai", "anthropic", "gemini"])
def test_two_tools_at_once_then_words(
    session: Session, make_provider: Make, model_server: ModelServer, kind: str
):
    make_provider(kind, supports_thinking=True)
    calls: list[tuple[str, Any]] = [("get_current_time", {}), ("read_memory", {})]
    model_server.tool_calls(*calls, text="Let me look.", thinking="What time is it?")
    model_server.reply("It is late.")
    run = sending.send(session, "How late is it?")
    settle()
    assert rows(session) == [
        ("user", "", ""),
        ("ai_response", "", ""),
        ("tool_call", "get_current_time", ""),
        ("tool_call", "read_memory", ""),
        ("tool_result", "get_current_time", ""),
        ("tool_result", "read_memory", ""),
        ("ai_response", "", ""),
    ]
    said = Message.objects.filter(run=run, type="ai_response").order_by("id")
    assert [row.content for row in said] == ["Let me look.", "It is late."]
    assert said[0].thinking == "What time is it?"
    assert len([r for r in model_server.asked if "It is late" not in r.text]) >= 2
    # The next message sends it all back, signatures included.
    sending.send(session, "And now?")
    settle()
    assert "Let me look." in model_server.asked[-1].text
    if kind == "anthropic":
        assert "signed-thought" in model_server.asked[1].text


def test_a_round_without_words_needs_no_row_of_words(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    for _ in range(2):
        model_server.tool_calls(("get_current_time", {}))
    model_server.reply("Late.")
    sending.send(session, "How late?")
    settle()
    kinds = [kind for kind, _, _ in rows(session)]
    assert kinds == [
        "user", "ai_response", "tool_call", "tool_result", "tool_call", "tool_result", "ai_response",
    ]  # fmt: skip


def test_an_unknown_tool_and_bad_arguments_are_results(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    model_server.tool_calls(("launch_rocket", {}), ("save_memory", '{"content": '))
    model_server.reply("That did not work.")
    sending.send(session, "Go")
    settle()
    results = Message.objects.filter(type="tool_result").order_by("id")
    assert all(result.error_code for result in results)
    assert len(results) == 2
    assert Run.objects.get().status == Run.Status.DONE


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_a_number_that_json_does_not_have_is_a_bad_argument(
    session: Session, make_provider: Make, model_server: ModelServer, number: str
):
    make_provider()
    model_server.tool_calls(("search_memory", f'{{"query": "x", "top_k": {number}}}'))
    model_server.reply("That did not work.")
    sending.send(session, "Go")
    settle()
    assert "JSON" in Message.objects.get(type="tool_result").content
    assert Run.objects.get().status == Run.Status.DONE


def test_a_model_that_calls_for_ever_is_ended(
    session: Session, make_provider: Make, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(making, "MOST_ROUNDS", 5)
    make_provider()
    model_server.default = Script(calls=[("get_current_time", {})])
    sending.send(session, "Go")
    settle()
    assert Message.objects.filter(type="tool_call").count() == 5
    assert Message.objects.filter(type="tool_result").count() == 5
    assert Run.objects.get().error_code == "too_many_rounds"


def test_a_stopped_call_still_gets_a_result(
    session: Session, make_provider: Make, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
):
    begun, over = threading.Event(), threading.Event()

    def slow(context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        begun.set()
        over.wait(10)
        return ToolResult("late")

    tool = Tool("slow", "Takes its time.", {"type": "object", "properties": {}}, slow)
    monkeypatch.setattr(registry, "offered", lambda *args, **how: (tool,))
    make_provider()
    model_server.tool_calls(("slow", {}))
    run = sending.send(session, "Go")
    assert begun.wait(10)
    until(lambda: running.get(run.id))
    sending.stop(session)
    settle()
    over.set()
    result = Message.objects.get(type="tool_result")
    assert result.error_code == "interrupted"
    assert Run.objects.get().status == Run.Status.STOPPED
