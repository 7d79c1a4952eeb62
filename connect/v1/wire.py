"""Completions as JSON: whole, or as the chunks of a stream."""

import json
from collections.abc import AsyncGenerator
from typing import Any

from chat.adapters.events import Event, TextDelta, ThinkingDelta, ToolCall
from connect.v1.faults import ApiError
from connect.v1.replying import Completion


def called(call: ToolCall) -> dict[str, Any]:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


async def whole(completion: Completion) -> dict[str, Any]:
    """The whole answer at once."""
    async for _ in completion.events():
        pass
    text = "".join(completion.text)
    message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": None}
    if completion.thinking:
        message["reasoning_content"] = "".join(completion.thinking)
    if completion.calls:
        message["tool_calls"] = [called(call) for call in completion.calls]
    choice = {"index": 0, "message": message, "finish_reason": completion.reason, "logprobs": None}
    counted = completion.counted
    return {
        "id": completion.id,
        "object": "chat.completion",
        "created": completion.created,
        "model": completion.prepared.model.name,
        "choices": [choice],
        **({"usage": counted} if counted else {}),
        "oneclaw": completion.own,
    }


async def streamed(
    completion: Completion, first: Event | None, events: AsyncGenerator[Event, None]
) -> AsyncGenerator[str, None]:
    """The answer as server-sent events, with its end, the tokens if asked for, and `[DONE]`."""
    delta: dict[str, Any] = {"role": "assistant", "content": ""}
    try:
        yield line(completion, delta)
        calls, event = 0, first
        while event is not None:
            if isinstance(event, TextDelta):
                yield line(completion, {"content": event.text})
            elif isinstance(event, ThinkingDelta):
                yield line(completion, {"reasoning_content": event.text})
            elif isinstance(event, ToolCall):
                yield line(completion, {"tool_calls": [{"index": calls, **called(event)}]})
                calls += 1
            event = await anext(events, None)
        yield line(completion, {}, finish_reason=completion.reason)
        if completion.asked.tell_usage:
            yield data(chunk(completion) | {"choices": [], "usage": completion.counted})
        yield "data: [DONE]\n\n"
    except ApiError as error:
        yield data(error.body)
    finally:
        await events.aclose()


def line(completion: Completion, delta: dict[str, Any], finish_reason: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
    return data(chunk(completion) | {"choices": [choice]})


def chunk(completion: Completion) -> dict[str, Any]:
    return {
        "id": completion.id,
        "object": "chat.completion.chunk",
        "created": completion.created,
        "model": completion.prepared.model.name,
        "oneclaw": completion.own,
    }


def data(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
