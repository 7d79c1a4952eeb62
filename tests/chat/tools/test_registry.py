"""Which tools a model is told of, and that every call has a result."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine

from chat.adapters.events import ToolCall
from chat.models import AiModel
from chat.tools import registry as calling
from chat.tools.clock import GET_CURRENT_TIME
from chat.tools.registry import registry
from oneclaw.toolkit import Tool, ToolContext, ToolResult
from people.models import User

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "maxLength": 5, "minLength": 1},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "share": {"type": "number"},
        "loud": {"type": "boolean"},
        "kind": {"type": "string", "enum": ["a", "b"]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
    },
    "required": ["text"],
}
CONTEXT = ToolContext(User(username="ada", time_zone="Asia/Tokyo"))


def tool(run: Callable[..., ToolResult], **fields: Any) -> Tool:
    return Tool("probe", "Probe", SCHEMA, run, **fields)


async def run(probe: Tool, **arguments: Any) -> ToolResult:
    return await calling.call([probe], CONTEXT, ToolCall("1", "probe", arguments))


def tell(context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
    return ToolResult(repr(sorted(arguments.items())))


async def test_arguments_reach_the_tool_and_unknown_ones_do_not() -> None:
    result = await run(tool(tell), text="hi", count=2, share=1, loud=True, kind="a", tags=["x"], other=1)
    assert result.ok
    assert result.content == (
        "[('count', 2), ('kind', 'a'), ('loud', True), ('share', 1), ('tags', ['x']), ('text', 'hi')]"
    )


async def test_what_a_small_model_means_is_taken() -> None:
    result = await run(tool(tell), text="hi", count="3", share="0.5", loud="false", kind=None)
    assert result.content == "[('count', 3), ('loud', False), ('share', 0.5), ('text', 'hi')]"
    assert (await run(tool(tell), text="hi", count=4.0)).content == "[('count', 4), ('text', 'hi')]"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "text"),
        ({"text": None}, "text"),
        ({"text": ""}, "at least 1"),
        ({"text": "longer"}, "at most 5"),
        ({"text": 7}, "string"),
        ({"text": ["hi"]}, "string"),
        ({"text": "hi", "count": 0}, "at least 1"),
        ({"text": "hi", "count": 10}, "at most 9"),
        ({"text": "hi", "count": 1.5}, "integer"),
        ({"text": "hi", "count": True}, "integer"),
        ({"text": "hi", "count": "many"}, "integer"),
        ({"text": "hi", "share": "nan"}, "number"),
        ({"text": "hi", "loud": "maybe"}, "boolean"),
        ({"text": "hi", "kind": "c"}, "one of: a, b"),
        ({"text": "hi", "tags": "x"}, "array"),
        ({"text": "hi", "tags": ["x", 1]}, "tags[1]"),
        ({"text": "hi", "tags": ["x", "y", "z"]}, "at most 2"),
    ],
)
async def test_bad_arguments_are_a_result_that_names_them(arguments: dict[str, Any], named: str) -> None:
    result = await run(tool(tell), **arguments)
    assert result.code == "validation_error"
    assert named in result.content


async def test_arguments_that_could_not_be_read_are_a_result() -> None:
    result = await calling.call([tool(tell)], CONTEXT, ToolCall("1", "probe", problem="Not JSON."))
    assert (result.code, result.content) == ("validation_error", "Not JSON.")


async def test_an_unknown_tool_is_a_result() -> None:
    result = await calling.call([tool(tell)], CONTEXT, ToolCall("1", "launch_rocket"))
    assert result.code == "unknown_tool"
    assert "launch_rocket" in result.content


async def test_an_exception_is_a_result_without_its_secrets() -> None:
    def fail(*_: Any) -> ToolResult:
        raise RuntimeError("password hunter2")

    result = await run(tool(fail), text="hi")
    assert result.code == "tool_failed"
    assert "hunter2" not in result.content


async def test_a_tool_that_hangs_is_a_result() -> None:
    def hang(*_: Any) -> ToolResult:
        time.sleep(1)
        return ToolResult("late")

    result = await run(tool(hang, timeout=0.05), text="hi")
    assert result.code == "timeout"


async def test_a_long_result_is_cut_with_a_mark() -> None:
    exact = await run(tool(lambda *_: ToolResult("x" * 30_000)), text="hi")
    assert exact.content == "x" * 30_000
    result = await run(tool(lambda *_: ToolResult("x" * 50_000, data={"kept": 1})), text="hi")
    assert len(result.content) == 30_000
    assert "more characters" in result.content
    assert result.data == {"kept": 1}


def test_a_tool_waits_thirty_seconds_unless_it_says_otherwise() -> None:
    assert tool(tell).timeout == 30


@time_machine.travel(datetime(2026, 2, 28, 20, 30, tzinfo=UTC), tick=False)
async def test_the_time_is_the_users() -> None:
    result = await calling.call([GET_CURRENT_TIME], CONTEXT, ToolCall("1", "get_current_time"))
    assert result.content == "Sunday, 2026-03-01 05:30:00 (Asia/Tokyo, UTC+09:00)"
    elsewhere = ToolCall("1", "get_current_time", {"time_zone": "Europe/Lisbon"})
    result = await calling.call([GET_CURRENT_TIME], CONTEXT, elsewhere)
    assert result.content.startswith("Saturday, 2026-02-28 20:30:00")
    nowhere = ToolCall("1", "get_current_time", {"time_zone": "../../etc/passwd"})
    assert (await calling.call([GET_CURRENT_TIME], CONTEXT, nowhere)).code == "validation_error"


MEMORY = (
    Tool("save_memory", "", SCHEMA, tell, writes=True),
    Tool("search_memory", "", SCHEMA, tell),
)


@pytest.fixture
def remembering(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two stand-ins, so that this test says what is offered and not what memory has."""
    monkeypatch.setattr(registry, "memory", lambda: MEMORY)


def names(offered: tuple[Tool, ...]) -> list[str]:
    return [each.name for each in offered]


@pytest.mark.usefixtures("remembering")
def test_what_is_offered_follows_from_chat_model_and_provider(
    ada: User, make_provider: Callable[..., AiModel]
) -> None:
    model = make_provider()
    context = ToolContext(ada)
    assert names(registry.offered(context, model)) == ["get_current_time", "save_memory", "search_memory"]
    assert names(registry.offered(context, model, memory=False)) == ["get_current_time"]
    read_only = ToolContext(ada, read_only=True)
    assert names(registry.offered(read_only, model)) == ["get_current_time", "search_memory"]
    for switch in ("send_memory", "can_write_memory"):
        untrusted = make_provider(name=f"Without {switch}", **{switch: False})
        assert names(registry.offered(context, untrusted)) == ["get_current_time"]
    assert registry.offered(context, make_provider(name="Plain", supports_tools=False)) == ()
    ada.memory_enabled = False
    assert names(registry.offered(context, model)) == ["get_current_time"]
