"""The OpenAI-compatible adapter against a server that streams, stumbles and complains."""

import json
from typing import Any

import pytest

from chat.adapters import ModelRequest, ToolAnswer, Turn, openai
from chat.adapters.exchange import _learnt
from chat.errors import ModelError
from chat.events import Event, Finished, TextDelta, ThinkingDelta, ToolCall, Usage
from oneclaw.toolkit import Tool, ToolResult
from tests.modelserver import ModelServer

CLOCK = Tool("get_current_time", "Now", {"type": "object", "properties": {}}, lambda *_: ToolResult(""))


@pytest.fixture(autouse=True)
def forgetful() -> None:
    _learnt.clear()


def ask(server: ModelServer, text: str = "Hi", **fields: Any) -> ModelRequest:
    messages = fields.pop("messages", (Turn("user", text),))
    return ModelRequest(
        "openai", server.base_url(), "scripted-model", messages, key="sk-secret-0000-wxyz", **fields
    )


async def answer(request: ModelRequest) -> list[Event]:
    return [event async for event in openai.stream(request)]


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_a_reply_streams_in_pieces_with_usage_and_an_end(model_server: ModelServer) -> None:
    model_server.reply("Hello out there", usage=(20, 3))
    assert await answer(ask(model_server)) == [
        TextDelta("Hello"),
        TextDelta(" out"),
        TextDelta(" there"),
        Usage(20, 3),
        Finished("stop"),
    ]
    sent = model_server.last
    assert sent.headers["authorization"] == "Bearer sk-secret-0000-wxyz"
    assert sent.path == "/v1/chat/completions"
    assert sent.json["stream_options"] == {"include_usage": True}


async def test_what_was_asked_for_is_sent(model_server: ModelServer) -> None:
    request = ask(
        model_server, system=("Be kind.", "Today is Monday."), temperature=0.3, max_tokens=99, stop=("END",)
    )
    await answer(request)
    body = model_server.last.json
    assert body["messages"][0] == {"role": "system", "content": "Be kind.\n\nToday is Monday."}
    assert (body["temperature"], body["max_tokens"], body["stop"]) == (0.3, 99, ["END"])
    assert "tools" not in body


async def test_unknown_usage_is_no_event(model_server: ModelServer) -> None:
    model_server.reply("Hello", usage=None)
    assert not [event for event in await answer(ask(model_server)) if isinstance(event, Usage)]


async def test_parallel_calls_arrive_whole_and_go_back_with_their_results(model_server: ModelServer) -> None:
    model_server.tool_calls(("get_current_time", {}), ("search_memory", {"query": "größer", "top_k": 3}))
    events = await answer(ask(model_server, tools=(CLOCK,)))
    calls = tuple(event for event in events if isinstance(event, ToolCall))
    assert calls == (
        ToolCall("call_0", "get_current_time"),
        ToolCall("call_1", "search_memory", {"query": "größer", "top_k": 3}),
    )
    assert events[-1] == Finished("tools")
    assert model_server.last.tool_names == ["get_current_time"]
    results = (
        ToolAnswer("call_0", "get_current_time", "noon"),
        ToolAnswer("call_1", "search_memory", "none"),
    )
    turns = (Turn("user", "Hi"), Turn("assistant", "", calls), Turn("tool", tool_results=results))
    await answer(ask(model_server, messages=turns, tools=(CLOCK,)))
    sent = model_server.last.json["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "tool"]
    assert json.loads(sent[1]["tool_calls"][1]["function"]["arguments"]) == {"query": "größer", "top_k": 3}
    assert [message["tool_call_id"] for message in sent[2:]] == ["call_0", "call_1"]


async def test_thinking_is_told_from_text(model_server: ModelServer) -> None:
    model_server.thinking("Let me see.", "Four")
    events = await answer(ask(model_server, thinking=True))
    assert events[:2] == [ThinkingDelta("Let me see."), TextDelta("Four")]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
async def test_letters_split_across_packets_arrive_whole(model_server: ModelServer, size: int) -> None:
    model_server.reply("Grüße, 世界 🌍 — ça va?", fragment=size)
    assert text_of(await answer(ask(model_server))) == "Grüße, 世界 🌍 — ça va?"


async def test_a_server_that_does_not_stream_is_understood(model_server: ModelServer) -> None:
    model_server.reply("All at once", thinking="Hm", stream=False)
    events = await answer(ask(model_server))
    assert events == [ThinkingDelta("Hm"), TextDelta("All at once"), Usage(11, 7), Finished("stop")]


async def test_a_broken_connection_is_an_error_after_what_came(model_server: ModelServer) -> None:
    model_server.cut("One two three", after=2)
    got: list[Event] = []

    async def follow() -> None:
        async for event in openai.stream(ask(model_server)):
            got.append(event)

    with pytest.raises(ModelError) as caught:
        await follow()
    assert caught.value.code == "cut"
    assert text_of(got) == "One two"
    assert len(model_server.asked) == 1
