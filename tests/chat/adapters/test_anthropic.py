"""What is particular to Anthropic's protocol."""

import pytest

from chat.adapters import ChatTurn, ToolAnswer
from chat.adapters.events import Finished, ToolCall, Usage
from tests.chat.adapters.exchanges import CLOCK, SECRET, answer, calls_of, request_to, text_of
from tests.modelserver import ModelServer


async def test_the_address_the_key_and_the_version(model_server: ModelServer) -> None:
    await answer(request_to("anthropic", model_server))
    await answer(request_to("anthropic", model_server, base_url=f"{model_server.url}/v1"))
    for sent in model_server.asked:
        assert sent.path == "/v1/messages"
        assert sent.headers["x-api-key"] == SECRET
        assert sent.headers["anthropic-version"]
        assert "authorization" not in sent.headers


async def test_the_system_prompt_is_marked_for_the_cache(model_server: ModelServer) -> None:
    await answer(request_to("anthropic", model_server, system=("Be kind.", "It is Monday.")))
    first, last = model_server.last.json["system"]
    assert "cache_control" not in first
    assert last["cache_control"] == {"type": "ephemeral"}


async def test_history_is_marked_for_the_cache_before_the_newest_message(model_server: ModelServer) -> None:
    turns = (ChatTurn("user", "First"), ChatTurn("assistant", "Reply"), ChatTurn("user", "Second"))
    await answer(request_to("anthropic", model_server, messages=turns, notes="It rained."))
    first, reply, second = model_server.last.json["messages"]
    assert first == {"role": "user", "content": "First"}
    assert reply["content"] == [{"type": "text", "text": "Reply", "cache_control": {"type": "ephemeral"}}]
    assert second == {"role": "user", "content": "It rained.\n\nSecond"}
    round = (
        *turns,
        ChatTurn("assistant", "", (ToolCall("a", "get_current_time"),)),
        ChatTurn("tool", tool_results=(ToolAnswer("a", "get_current_time", "noon"),)),
    )
    await answer(request_to("anthropic", model_server, messages=round))
    marked = ["cache_control" in str(message) for message in model_server.last.json["messages"]]
    assert marked == [False, True, False, False, True]


async def test_cached_tokens_count_as_input(model_server: ModelServer) -> None:
    model_server.raw(
        b'data: {"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1,'
        b' "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}}}\n\n'
        b'data: {"type": "message_delta", "delta": {"stop_reason": "end_turn"},'
        b' "usage": {"output_tokens": 9}}\n\n'
        b'data: {"type": "message_stop"}\n\n'
    )
    assert await answer(request_to("anthropic", model_server)) == [Usage(125, 9, 100), Finished("stop")]


async def test_signed_thinking_goes_back_with_its_calls(model_server: ModelServer) -> None:
    model_server.thinking("Time?", "Let me look.", calls=[("get_current_time", {"zone": "UTC"})])
    events = await answer(request_to("anthropic", model_server, thinking=True, tools=(CLOCK,)))
    assert isinstance(events[-1], Finished)
    turns = (
        ChatTurn("user", "When?"),
        ChatTurn("assistant", text_of(events), calls_of(events), wire_state=events[-1].wire_state),
        ChatTurn("tool", tool_results=(ToolAnswer("toolu_0", "get_current_time", "noon"),)),
    )
    await answer(request_to("anthropic", model_server, messages=turns, thinking=True, tools=(CLOCK,)))
    body = model_server.last.json
    assert body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Time?", "signature": "signed-thought"},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "toolu_0", "name": "get_current_time", "input": {"zone": "UTC"}},
    ]
    assert body["thinking"]["type"] == "enabled"
    assert body["thinking"]["budget_tokens"] < body["max_tokens"]


async def test_a_round_begun_without_thinking_goes_on_without_it(model_server: ModelServer) -> None:
    turns = (
        ChatTurn("user", "When?"),
        ChatTurn("assistant", "", (ToolCall("call:1/x", "get_current_time"),)),
        ChatTurn("tool", tool_results=(ToolAnswer("call:1/x", "get_current_time", "noon", is_error=True),)),
    )
    await answer(request_to("anthropic", model_server, messages=turns, thinking=True))
    body = model_server.last.json
    assert "thinking" not in body
    (result,) = body["messages"][2]["content"]
    assert (result["tool_use_id"], result["content"], result["is_error"]) == ("call_1_x", "noon", True)


async def test_thinking_takes_the_place_of_temperature(model_server: ModelServer) -> None:
    await answer(request_to("anthropic", model_server, thinking=True, temperature=0.5))
    assert "temperature" not in model_server.last.json
    await answer(request_to("anthropic", model_server, temperature=1.7))
    assert model_server.last.json["temperature"] == 1.0


@pytest.mark.parametrize(
    ("model", "first"), [("claude-opus-4-6", "adaptive"), ("claude-sonnet-4-5", "enabled")]
)
async def test_a_model_is_asked_to_think_in_the_way_it_knows(
    model: str, first: str, model_server: ModelServer
) -> None:
    complaint = {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "thinking: not like that"},
    }
    request = request_to("anthropic", model_server, model=model, thinking=True)
    model_server.error(400, complaint)
    assert text_of(await answer(request))
    kinds = [sent.json["thinking"]["type"] for sent in model_server.asked]
    assert kinds == [first, {"adaptive": "enabled", "enabled": "adaptive"}[first]]
    model_server.error(400, complaint)
    assert text_of(await answer(request))
    assert "thinking" not in model_server.last.json


async def test_a_limit_that_is_too_high_is_lowered_to_what_the_model_allows(
    model_server: ModelServer,
) -> None:
    message = "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for claude-3"
    model_server.error(400, {"error": {"type": "invalid_request_error", "message": message}})
    await answer(request_to("anthropic", model_server))
    assert model_server.last.json["max_tokens"] == 8192


async def test_overload_inside_a_stream_is_tried_again(model_server: ModelServer) -> None:
    model_server.raw(
        b"event: error\n"
        b'data: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}\n\n'
    )
    model_server.reply("Here")
    assert text_of(await answer(request_to("anthropic", model_server))) == "Here"


async def test_a_conversation_that_begins_with_the_model_gets_a_first_word(model_server: ModelServer) -> None:
    turns = (
        ChatTurn("assistant", "As I said  "),
        ChatTurn("assistant", ""),
        ChatTurn("user", "Yes"),
        ChatTurn("user", "And?"),
    )
    await answer(request_to("anthropic", model_server, messages=turns))
    sent = model_server.last.json["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert sent[2]["content"] == "Yes\n\nAnd?"
