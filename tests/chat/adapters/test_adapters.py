"""What all three protocols must do alike, each over real HTTP."""

import asyncio
from dataclasses import replace

import pytest

from chat import adapters
from chat.adapters import ChatTurn, ToolAnswer
from chat.adapters.events import Finished, TextDelta, ThinkingDelta, ToolCall, Usage
from tests.chat.adapters.exchanges import (
    CLOCK,
    KINDS,
    SEARCH,
    answer,
    calls_of,
    failure,
    request_to,
    text_of,
    thinking_of,
)
from tests.modelserver import ModelServer

pytestmark = pytest.mark.parametrize("kind", KINDS)


async def test_a_reply_streams_in_pieces_with_usage_and_an_end(kind: str, model_server: ModelServer) -> None:
    model_server.reply("Hello out there", usage=(20, 3))
    pieces = [TextDelta("Hello"), TextDelta(" out"), TextDelta(" there")]
    assert await answer(request_to(kind, model_server)) == [*pieces, Usage(20, 3), Finished("stop")]


async def test_a_single_answer_needs_no_stream(kind: str, model_server: ModelServer) -> None:
    model_server.reply("All at once", thinking="Hm", calls=[("get_current_time", {"zone": "UTC"})])
    events = await answer(request_to(kind, model_server, stream=False, thinking=True))
    assert (thinking_of(events), text_of(events)) == ("Hm", "All at once")
    assert [(call.name, call.arguments) for call in calls_of(events)] == [
        ("get_current_time", {"zone": "UTC"})
    ]
    assert "stream" not in model_server.last.path
    assert not model_server.last.json.get("stream")


async def test_a_server_that_does_not_stream_is_understood(kind: str, model_server: ModelServer) -> None:
    model_server.reply("All at once", stream=False)
    events = await answer(request_to(kind, model_server))
    assert events == [TextDelta("All at once"), Usage(11, 7), Finished("stop")]


async def test_thinking_is_told_from_text(kind: str, model_server: ModelServer) -> None:
    model_server.thinking("Let me see.", "Four")
    events = await answer(request_to(kind, model_server, thinking=True))
    assert events[:2] == [ThinkingDelta("Let me see."), TextDelta("Four")]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
async def test_letters_split_across_packets_arrive_whole(
    kind: str, size: int, model_server: ModelServer
) -> None:
    model_server.reply("Grüße, 世界 🌍 — ça va?", fragment=size)
    assert text_of(await answer(request_to(kind, model_server))) == "Grüße, 世界 🌍 — ça va?"


async def test_two_tools_are_called_at_once_and_answered(kind: str, model_server: ModelServer) -> None:
    model_server.tool_calls(("get_current_time", {}), ("search_memory", {"query": "größer", "top_k": 3}))
    model_server.reply("It is noon, and nothing is known.")
    tools = (CLOCK, SEARCH)
    events = await answer(request_to(kind, model_server, tools=tools))
    calls = calls_of(events)
    assert [(call.name, call.arguments, call.problem) for call in calls] == [
        ("get_current_time", {}, ""),
        ("search_memory", {"query": "größer", "top_k": 3}, ""),
    ]
    assert calls[0].id != calls[1].id
    assert isinstance(events[-1], Finished)
    assert events[-1].reason == "tools"
    assert model_server.last.tool_names == ["get_current_time", "search_memory"]
    results = (
        ToolAnswer(calls[0].id, "get_current_time", "noon"),
        ToolAnswer(calls[1].id, "search_memory", "Nothing found.", is_error=True),
    )
    turns = (
        ChatTurn("user", "When?"),
        ChatTurn("assistant", "", calls, wire_state=events[-1].wire_state),
        ChatTurn("tool", tool_results=results),
    )
    events = await answer(request_to(kind, model_server, messages=turns, tools=tools))
    assert text_of(events) == "It is noon, and nothing is known."
    sent = model_server.last.text
    assert sent.index("When?") < sent.index("größer") < sent.index("noon") < sent.index("Nothing found.")


async def test_arguments_that_are_not_json_are_a_problem_of_the_call(
    kind: str, model_server: ModelServer
) -> None:
    if kind == "gemini":  # Its arguments are JSON in JSON: an answer with bad ones is bad as a whole.
        model_server.tool_calls(("search_memory", "nonsense"))
        error, _ = await failure(request_to(kind, model_server, tools=(SEARCH,)))
        assert error.code == "bad_stream"
        return
    model_server.tool_calls(("search_memory", '{"query": "half'))
    (call,) = calls_of(await answer(request_to(kind, model_server, tools=(SEARCH,))))
    assert call.arguments == {}
    assert "JSON" in call.problem


async def test_an_infinite_number_is_a_problem_of_the_call(kind: str, model_server: ModelServer) -> None:
    for how in ({}, {"stream": False}):
        model_server.tool_calls(("search_memory", {"query": "x", "top_k": float("inf")}), **how)
        (call,) = calls_of(await answer(request_to(kind, model_server, tools=(SEARCH,))))
        assert call.arguments == {}
        assert "JSON" in call.problem


async def test_a_call_without_a_result_is_answered_for(kind: str, model_server: ModelServer) -> None:
    calls = (ToolCall("call_a", "get_current_time"), ToolCall("call_b", "search_memory", {"query": "x"}))
    turns = (
        ChatTurn("user", "Hi"),
        ChatTurn("assistant", "", calls),
        ChatTurn(
            "tool",
            tool_results=(ToolAnswer("call_a", "get_current_time", "noon"), ToolAnswer("gone", "x", "stray")),
        ),
        ChatTurn("user", "Well?"),
    )
    await answer(request_to(kind, model_server, messages=turns))
    sent = model_server.last.text
    assert "interrupted before it gave a result" in sent
    assert "stray" not in sent


async def test_temperature_stop_and_limit_are_sent(kind: str, model_server: ModelServer) -> None:
    await answer(request_to(kind, model_server, temperature=0.25, max_tokens=99, stop=("END",)))
    body = model_server.last.json
    config = body.get("generationConfig", body)
    assert config["temperature"] == 0.25
    assert config.get("max_tokens", config.get("maxOutputTokens")) == 99
    stops = [config[name] for name in ("stop", "stop_sequences", "stopSequences") if name in config]
    assert stops == [["END"]]
    assert "tools" not in body


async def test_the_system_prompt_is_sent_stable_part_first(kind: str, model_server: ModelServer) -> None:
    await answer(request_to(kind, model_server, system=("Be kind.", "Today is Monday.")))
    assert model_server.last.system == "Be kind.\n\nToday is Monday."


async def test_notes_go_with_the_newest_message_and_after_what_can_be_cached(
    kind: str, model_server: ModelServer
) -> None:
    call = ToolCall("call_a", "get_current_time")
    turns = (
        ChatTurn("user", "First"),
        ChatTurn("assistant", "Reply"),
        ChatTurn("user", "Second"),
        ChatTurn("assistant", "", (call,)),
        ChatTurn("tool", tool_results=(ToolAnswer("call_a", "get_current_time", "noon"),)),
    )
    await answer(request_to(kind, model_server, system=("Be kind.",), messages=turns, notes="It rained."))
    sent = model_server.last.text
    words = ("First", "Reply", "It rained.", "Second", "noon")
    assert sorted(words, key=sent.index) == list(words)
    assert sent.count("It rained.") == 1
    assert "It rained." not in model_server.last.system
    await answer(request_to(kind, model_server, messages=turns))
    assert "It rained." not in model_server.last.text


async def test_an_answer_cut_at_its_limit_says_so(kind: str, model_server: ModelServer) -> None:
    finish = {"openai": "length", "anthropic": "max_tokens", "gemini": "MAX_TOKENS"}[kind]
    model_server.reply("And then", finish=finish)
    assert (await answer(request_to(kind, model_server)))[-1] == Finished("length")


async def test_a_refusal_with_nothing_said_is_an_error(kind: str, model_server: ModelServer) -> None:
    finish = {"openai": "content_filter", "anthropic": "refusal", "gemini": "SAFETY"}[kind]
    model_server.reply("", finish=finish)
    error, _ = await failure(request_to(kind, model_server))
    assert error.code == "refused"
    model_server.reply("Well", finish=finish)
    assert (await answer(request_to(kind, model_server)))[-1] == Finished("refused")


async def test_the_state_of_another_model_is_not_sent(kind: str, model_server: ModelServer) -> None:
    model_server.thinking("Secret thought", calls=[("get_current_time", {})])
    events = await answer(request_to(kind, model_server, thinking=True))
    assert isinstance(events[-1], Finished)
    assert events[-1].wire_state
    turns = (
        ChatTurn("user", "Hi"),
        ChatTurn("assistant", "", calls_of(events), wire_state=events[-1].wire_state),
        ChatTurn("tool", tool_results=(ToolAnswer(calls_of(events)[0].id, "get_current_time", "noon"),)),
    )
    request = request_to(kind, model_server, messages=turns, thinking=True)
    await answer(request)
    assert "signed" in model_server.last.text or "c2lnbmVk" in model_server.last.text or kind == "openai"
    await answer(replace(request, model="another-model"))
    for word in ("Secret thought", "signed-thought", "c2lnbmVk"):
        assert word not in model_server.last.text


async def test_a_reader_that_stops_closes_the_connection(kind: str, model_server: ModelServer) -> None:
    gate = model_server.gated("One two three", after=4)
    events = adapters.stream(request_to(kind, model_server))
    assert await anext(events) == TextDelta("One")
    await asyncio.wait_for(events.aclose(), 2)
    gate.release()
