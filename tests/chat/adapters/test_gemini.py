"""What is particular to Gemini's protocol."""

import json
from typing import Any

from chat.adapters import ChatTurn, ToolAnswer
from chat.adapters.events import Finished, ToolCall, Usage
from tests.chat.adapters.exchanges import (
    CLOCK,
    SEARCH,
    SECRET,
    answer,
    calls_of,
    failure,
    request_to,
    text_of,
)
from tests.modelserver import ModelServer


def sse(**data: Any) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\r\n\r\n"


async def test_the_key_is_in_a_header_and_not_in_the_address(model_server: ModelServer) -> None:
    await answer(request_to("gemini", model_server, model="models/gemini-2.5-flash"))
    assert model_server.last.path == "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
    assert model_server.last.headers["x-goog-api-key"] == SECRET


async def test_a_schema_has_only_what_gemini_knows(model_server: ModelServer) -> None:
    await answer(request_to("gemini", model_server, tools=(CLOCK, SEARCH)))
    clock, search = model_server.last.json["tools"][0]["functionDeclarations"]
    assert "parameters" not in clock
    assert search["parameters"] == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "maxLength": 500},
            "top_k": {"type": "integer", "nullable": True},
        },
        "required": ["query"],
    }


async def test_signatures_go_back_on_the_calls_they_came_with(model_server: ModelServer) -> None:
    model_server.thinking("Hm", calls=[("get_current_time", {}), ("search_memory", {"query": "x"})])
    events = await answer(request_to("gemini", model_server, thinking=True, tools=(CLOCK, SEARCH)))
    assert model_server.last.json["generationConfig"]["thinkingConfig"] == {"includeThoughts": True}
    calls = calls_of(events)
    assert isinstance(events[-1], Finished)
    results = tuple(ToolAnswer(call.id, call.name, "noon") for call in calls)
    turns = (
        ChatTurn("user", "When?"),
        ChatTurn("assistant", "", calls, wire_state=events[-1].wire_state),
        ChatTurn("tool", tool_results=results),
    )
    await answer(request_to("gemini", model_server, messages=turns))
    _, model, tools = model_server.last.json["contents"]
    assert model == {
        "role": "model",
        "parts": [
            {"functionCall": {"name": "get_current_time", "args": {}}, "thoughtSignature": "c2lnbmVk"},
            {"functionCall": {"name": "search_memory", "args": {"query": "x"}}},
        ],
    }
    assert tools["parts"][0] == {
        "functionResponse": {"name": "get_current_time", "response": {"result": "noon"}}
    }


async def test_a_call_from_another_model_gets_the_documented_stand_in(model_server: ModelServer) -> None:
    turns = (ChatTurn("user", "Hi"), ChatTurn("assistant", "", (ToolCall("call_1", "get_current_time"),)))
    await answer(request_to("gemini", model_server, messages=turns, model="gemini-3-pro"))
    part = model_server.last.json["contents"][1]["parts"][0]
    assert part["thoughtSignature"] == "skip_thought_signature_validator"


async def test_a_model_that_asks_for_signatures_gets_the_stand_in_from_then_on(
    model_server: ModelServer,
) -> None:
    turns = (ChatTurn("user", "Hi"), ChatTurn("assistant", "", (ToolCall("call_1", "get_current_time"),)))
    request = request_to("gemini", model_server, messages=turns, model="gemini-flash-latest", thinking=True)
    complaint = "Function call is missing a thought_signature in functionCall parts."
    model_server.error(400, {"error": {"message": complaint}})
    assert text_of(await answer(request))
    await answer(request)
    first, *later = (sent.json["contents"][1]["parts"][0] for sent in model_server.asked)
    assert "thoughtSignature" not in first
    assert [part["thoughtSignature"] for part in later] == ["skip_thought_signature_validator"] * 2
    assert "thinkingConfig" in model_server.last.json["generationConfig"]


async def test_geminis_own_ids_are_kept(model_server: ModelServer) -> None:
    called = {"functionCall": {"id": "fc-77", "name": "get_current_time", "args": {}}}
    model_server.raw(sse(candidates=[{"content": {"parts": [called]}, "finishReason": "STOP"}]))
    (call,) = calls_of(await answer(request_to("gemini", model_server)))
    turns = (
        ChatTurn("user", "Hi"),
        ChatTurn("assistant", "", (call,)),
        ChatTurn("tool", tool_results=(ToolAnswer("fc-77", "get_current_time", "noon"),)),
    )
    await answer(request_to("gemini", model_server, messages=turns))
    assert model_server.last.json["contents"][2]["parts"][0]["functionResponse"]["id"] == "fc-77"


async def test_a_blocked_prompt_is_refused(model_server: ModelServer) -> None:
    model_server.raw(sse(promptFeedback={"blockReason": "PROHIBITED_CONTENT"}))
    error, _ = await failure(request_to("gemini", model_server))
    assert error.code == "refused"
    assert "PROHIBITED_CONTENT" in error.message


async def test_a_call_the_model_bungled_is_an_error(model_server: ModelServer) -> None:
    model_server.raw(sse(candidates=[{"finishReason": "MALFORMED_FUNCTION_CALL"}]))
    error, _ = await failure(request_to("gemini", model_server))
    assert error.code == "bad_stream"


async def test_thoughts_count_as_output(model_server: ModelServer) -> None:
    usage = {
        "promptTokenCount": 10,
        "candidatesTokenCount": 4,
        "thoughtsTokenCount": 30,
        "cachedContentTokenCount": 2,
    }
    model_server.raw(sse(candidates=[{"finishReason": "STOP"}], usageMetadata=usage))
    assert await answer(request_to("gemini", model_server)) == [Usage(10, 34, 2), Finished("stop")]


async def test_a_temperature_that_is_no_longer_taken_is_left_out(model_server: ModelServer) -> None:
    model_server.error(400, {"error": {"message": "temperature is not supported by this model"}})
    assert text_of(await answer(request_to("gemini", model_server, temperature=0.5)))
    assert "generationConfig" not in model_server.last.json


async def test_a_short_answer_is_not_thought_away(model_server: ModelServer) -> None:
    for model, config in {
        "gemini-2.5-flash": {"thinkingBudget": 0},
        "gemini-2.5-pro": {"thinkingBudget": 128},
        "gemini-3-pro-preview": {"thinkingLevel": "low"},
    }.items():
        await answer(request_to("gemini", model_server, model=model))
        assert model_server.last.json["generationConfig"]["thinkingConfig"] == config


async def test_a_model_without_system_prompts_or_thinking_is_asked_without(model_server: ModelServer) -> None:
    model_server.error(400, {"error": {"message": "Developer instruction is not enabled for models/gemma-3"}})
    model_server.error(400, {"error": {"message": "Unable to submit request: thinking is not supported"}})
    assert text_of(await answer(request_to("gemini", model_server, system=("Be kind.",), thinking=True)))
    body = model_server.last.json
    assert "systemInstruction" not in body
    assert "generationConfig" not in body
    assert body["contents"][0]["parts"] == [{"text": "Be kind.\n\nHi"}]
