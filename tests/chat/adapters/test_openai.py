"""What OpenAI-compatible servers do differently from each other."""

import json
from typing import Any

import pytest

from chat.adapters import ChatTurn, ToolAnswer
from chat.adapters.events import Finished, TextDelta, ThinkingDelta, ToolCall, Usage
from chat.adapters.thinktags import ThinkTags
from chat.adapters.tool_calls import Calls
from tests.chat.adapters.exchanges import (
    CLOCK,
    SECRET,
    answer,
    calls_of,
    failure,
    request_to,
    text_of,
    thinking_of,
)
from tests.modelserver import ModelServer


def chunks(*deltas: dict[str, Any], finish: str | None = "stop", **fields: Any) -> bytes:
    """A stream as some server would send it."""
    lines = [{"choices": [{"index": 0, "delta": delta}], **fields} for delta in deltas]
    lines.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return b"".join(b"data: " + json.dumps(line).encode() + b"\n\n" for line in lines)


async def test_the_key_is_a_bearer_and_usage_is_asked_for(model_server: ModelServer) -> None:
    await answer(request_to("openai", model_server))
    assert model_server.last.headers["authorization"] == f"Bearer {SECRET}"
    assert model_server.last.path == "/v1/chat/completions"
    assert model_server.last.json["stream_options"] == {"include_usage": True}
    await answer(request_to("openai", model_server, key=""))
    assert "authorization" not in model_server.last.headers


async def test_unknown_usage_is_no_event(model_server: ModelServer) -> None:
    model_server.reply("Hello", usage=None)
    events = await answer(request_to("openai", model_server))
    assert not [event for event in events if isinstance(event, Usage)]


@pytest.mark.parametrize(
    ("complaint", "sent", "gone"),
    [
        ("Unrecognized request argument supplied: stream_options", {}, "stream_options"),
        (
            "Unsupported value: 'temperature' does not support 0.5 with this model",
            {"temperature": 0.5},
            "temperature",
        ),
        ("registry.ollama.ai/library/gemma:2b does not support tools", {"tools": (CLOCK,)}, "tools"),
        ("'auto' tool choice requires --enable-auto-tool-choice", {"tools": (CLOCK,)}, "tools"),
        ("Unsupported parameter: 'stop' is not supported with this model", {"stop": ("x",)}, "stop"),
    ],
)
async def test_what_a_server_will_not_take_is_left_out_and_stays_out(
    complaint: str, sent: dict[str, Any], gone: str, model_server: ModelServer
) -> None:
    model_server.error(400, {"error": {"message": complaint}})
    request = request_to("openai", model_server, **sent)
    assert text_of(await answer(request))
    first, second = model_server.asked
    assert gone in first.json
    assert gone not in second.json
    await answer(request)
    assert len(model_server.asked) == 3


async def test_a_newer_name_for_the_limit_is_taken_up(model_server: ModelServer) -> None:
    model_server.error(
        400, {"error": {"message": "'max_tokens' is not supported: use 'max_completion_tokens' instead."}}
    )
    await answer(request_to("openai", model_server, max_tokens=50))
    assert model_server.last.json["max_completion_tokens"] == 50
    assert "max_tokens" not in model_server.last.json


async def test_a_complaint_that_repeats_itself_is_an_error(model_server: ModelServer) -> None:
    for _ in range(9):
        model_server.error(400, {"error": {"message": "temperature, temperature!"}})
    error, _ = await failure(request_to("openai", model_server, temperature=1.0))
    assert error.code == "bad_request"
    assert len(model_server.asked) == 2


async def test_a_model_that_thinks_by_itself_is_asked_to_be_brief(model_server: ModelServer) -> None:
    await answer(request_to("openai", model_server, model="gpt-5-mini"))
    assert model_server.last.json["reasoning_effort"] == "low"
    await answer(request_to("openai", model_server, model="gpt-5-mini", thinking=True))
    assert "reasoning_effort" not in model_server.last.json
    model_server.error(400, {"error": {"message": "Unsupported parameter: reasoning_effort"}})
    await answer(request_to("openai", model_server, model="gpt-5-mini"))
    assert "reasoning_effort" not in model_server.last.json


async def test_tools_are_kept_by_a_model_that_takes_them_only_without_thought(
    model_server: ModelServer,
) -> None:
    model_server.error(
        400,
        {
            "error": {
                "message": "Function tools with reasoning_effort are not supported for gpt-5.6-terra in "
                "/v1/chat/completions. Use /v1/responses or set reasoning_effort to 'none'.",
                "param": "reasoning_effort",
            }
        },
    )
    request = request_to("openai", model_server, model="gpt-5.6-terra", tools=(CLOCK,), thinking=True)
    assert text_of(await answer(request))
    first, second = (sent.json for sent in model_server.asked)
    assert "reasoning_effort" not in first
    assert second["reasoning_effort"] == "none"
    assert second["tools"]


async def test_counts_that_are_none_are_unknown(model_server: ModelServer) -> None:
    usage = {
        "prompt_tokens": "many",
        "completion_tokens": -1,
        "prompt_tokens_details": {"cached_tokens": True},
    }
    model_server.raw(chunks({"content": "a"}, usage=usage))
    events = await answer(request_to("openai", model_server))
    assert events == [TextDelta("a"), Finished("stop")]


async def test_a_proxy_is_not_asked_for_this_machine(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert text_of(await answer(request_to("openai", model_server)))


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
async def test_thoughts_have_two_names(name: str, model_server: ModelServer) -> None:
    model_server.raw(chunks({name: "Hm"}, {name: None, "content": "Yes"}))
    events = await answer(request_to("openai", model_server))
    assert events == [ThinkingDelta("Hm"), TextDelta("Yes"), Finished("stop")]


async def test_the_user_never_follows_a_tool(model_server: ModelServer) -> None:
    turns = (
        ChatTurn("user", "When?"),
        ChatTurn("assistant", "", (ToolCall("call_a", "get_current_time"),)),
        ChatTurn("tool", tool_results=(ToolAnswer("call_a", "get_current_time", "noon"),)),
        ChatTurn("user", "Well?"),
    )
    await answer(request_to("openai", model_server, messages=turns))
    sent = model_server.last.json["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert "interrupted" in sent[3]["content"]
    await answer(request_to("openai", model_server, messages=turns[:3]))
    assert model_server.last.json["messages"][-1]["role"] == "tool"


async def test_thoughts_go_back_only_within_their_round_of_tools(model_server: ModelServer) -> None:
    model_server.thinking("I need the time", calls=[("get_current_time", {})])
    events = await answer(request_to("openai", model_server))
    assert isinstance(events[-1], Finished)
    turns = (
        ChatTurn("user", "When?"),
        ChatTurn("assistant", "", calls_of(events), wire_state=events[-1].wire_state),
        ChatTurn("tool", tool_results=(ToolAnswer("call_0", "get_current_time", "noon"),)),
    )
    await answer(request_to("openai", model_server, messages=turns))
    assert model_server.last.json["messages"][1]["reasoning_content"] == "I need the time"
    later = (*turns, ChatTurn("assistant", "Noon."), ChatTurn("user", "Thanks"))
    await answer(request_to("openai", model_server, messages=later))
    assert "I need the time" not in model_server.last.text


async def test_thoughts_go_back_always_where_a_provider_insists(model_server: ModelServer) -> None:
    state = {"protocol": "openai", "model": "scripted-model", "reasoning": {"reasoning_content": "Hm"}}
    turns = (
        ChatTurn("user", "When?"),
        ChatTurn("assistant", "", (ToolCall("a", "get_current_time"),), wire_state=state),
        ChatTurn("tool", tool_results=(ToolAnswer("a", "get_current_time", "noon"),)),
        ChatTurn("assistant", "Noon."),
        ChatTurn("user", "Thanks"),
    )
    complaint = "The `reasoning_content` in the thinking mode must be passed back to the API."
    model_server.error(400, {"error": {"message": complaint}})
    assert text_of(await answer(request_to("openai", model_server, messages=turns)))
    first, second = (sent.json["messages"] for sent in model_server.asked)
    assert "reasoning_content" not in first[1]
    assert second[1]["reasoning_content"] == "Hm"
    assert second[3]["reasoning_content"]
    assert "reasoning_content" not in second[0]


async def test_signatures_on_calls_go_back(model_server: ModelServer) -> None:
    extra = {"google": {"thought_signature": "abc"}}
    call = {"index": 0, "id": "f1", "function": {"name": "x", "arguments": "{}"}, "extra_content": extra}
    model_server.raw(chunks({"tool_calls": [call]}, finish="tool_calls"))
    events = await answer(request_to("openai", model_server))
    assert isinstance(events[-1], Finished)
    turns = (
        ChatTurn("user", "Hi"),
        ChatTurn("assistant", "", calls_of(events), wire_state=events[-1].wire_state),
    )
    await answer(request_to("openai", model_server, messages=turns))
    assert model_server.last.json["messages"][1]["tool_calls"][0]["extra_content"] == extra


async def test_tags_in_the_text_are_thinking(model_server: ModelServer) -> None:
    model_server.raw(
        chunks({"content": "<thi"}, {"content": "nk>\nHm</th"}, {"content": "ink>\n\nYes <think>"})
    )
    events = await answer(request_to("openai", model_server))
    assert (thinking_of(events), text_of(events)) == ("Hm", "Yes <think>")


@pytest.mark.parametrize(
    ("pieces", "thinking", "text"),
    [
        (["Hello <think>no</think>"], "", "Hello <think>no</think>"),
        (["<thin", "g> is a tag"], "", "<thing> is a tag"),
        (["<"], "", "<"),
        (["  \n<think>", "", "a</", "b</think>", " \n", "c"], "a</b", "c"),
        (["<think>never closed"], "never closed", ""),
        (["<think></think>ok"], "", "ok"),
        ([" " * 600, "<think>a</think>b"], "a", "b"),
        ([" " * 600] * 3 + ["<think>a"], "", " " * 1800 + "<think>a"),
    ],
)
def test_think_tags(pieces: list[str], thinking: str, text: str) -> None:
    tags = ThinkTags()
    events = [event for piece in pieces for event in tags.feed(piece)] + list(tags.close())
    assert "".join(event.text for event in events if isinstance(event, ThinkingDelta)) == thinking
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == text


def test_calls_without_ids_numbers_or_text_arguments() -> None:
    calls = Calls()
    calls.add({"function": {"name": "a", "arguments": {"x": 1}}})
    calls.add({"function": {"name": "b", "arguments": '{"y"'}})
    calls.add({"function": {"arguments": ": 2}"}})
    first, second = calls.finished()
    assert (first.name, first.arguments) == ("a", {"x": 1})
    assert (second.name, second.arguments) == ("b", {"y": 2})
    assert first.id
    assert first.id != second.id


def test_calls_that_are_all_number_nought() -> None:
    calls = Calls()
    calls.add({"index": 0, "id": "one", "function": {"name": "a", "arguments": "{}"}})
    calls.add({"index": 0, "id": "two", "function": {"name": "b", "arguments": "{}"}})
    assert calls.finished() == [ToolCall("one", "a"), ToolCall("two", "b")]


def test_a_name_that_is_repeated_with_every_piece() -> None:
    calls = Calls()
    calls.add({"index": 0, "id": "one", "function": {"name": "clock", "arguments": ""}})
    calls.add({"index": 0, "id": "one", "function": {"name": "clock", "arguments": '{"a": 1}'}})
    calls.add({"index": 0, "function": {"name": "", "arguments": ""}})
    assert calls.finished() == [ToolCall("one", "clock", {"a": 1})]


async def test_an_end_without_done_and_a_done_without_an_end(model_server: ModelServer) -> None:
    model_server.raw(chunks({"content": "a"}))
    assert (await answer(request_to("openai", model_server)))[-1] == Finished("stop")
    model_server.raw(b'data: {"choices": [{"delta": {"content": "a"}}]}\n\ndata: [DONE]\n\n')
    assert (await answer(request_to("openai", model_server)))[-1] == Finished("stop")


async def test_windows_line_ends_and_comments(model_server: ModelServer) -> None:
    model_server.raw(b": OPENROUTER PROCESSING\r\n\r\n" + chunks({"content": "a"}).replace(b"\n", b"\r\n"))
    assert text_of(await answer(request_to("openai", model_server))) == "a"


async def test_line_ends_of_other_alphabets_are_text(model_server: ModelServer) -> None:
    model_server.reply("a\u2028b\x85c\x0bd\x0c", chunks=["a\u2028b\x85c\x0bd\x0c"])
    assert text_of(await answer(request_to("openai", model_server))) == "a\u2028b\x85c\x0bd\x0c"


async def test_thoughts_in_parts(model_server: ModelServer) -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}
    said = {"type": "text", "text": "Yes"}
    model_server.raw(chunks({"content": [thought]}, {"content": [said]}, {"content": "!"}))
    events = await answer(request_to("openai", model_server))
    assert events == [ThinkingDelta("Hm"), TextDelta("Yes"), TextDelta("!"), Finished("stop")]


async def test_content_in_parts(model_server: ModelServer) -> None:
    model_server.raw(chunks({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}))
    assert text_of(await answer(request_to("openai", model_server))) == "ab"


async def test_ids_are_nine_letters_where_a_provider_insists(model_server: ModelServer) -> None:
    complaint = "Tool call id was call_0 but must be a-z, A-Z, 0-9, with a length of 9."
    model_server.error(400, {"message": complaint})
    turns = (
        ChatTurn("user", "Hi"),
        ChatTurn("assistant", "", (ToolCall("call_0", "get_current_time"),)),
        ChatTurn("tool", tool_results=(ToolAnswer("call_0", "get_current_time", "noon"),)),
    )
    await answer(request_to("openai", model_server, messages=turns))
    sent = model_server.last.json["messages"]
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"]
    assert len(sent[2]["tool_call_id"]) == 9


async def test_lone_surrogates_do_not_stop_a_request(model_server: ModelServer) -> None:
    assert text_of(await answer(request_to("openai", model_server, "broken \ud83d here")))
