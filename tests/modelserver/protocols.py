"""A script as each protocol puts it on the wire: a list of stream messages, or one JSON answer."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.modelserver.script import Script


def sse(data: Any, event: str = "") -> bytes:
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()


def halves(text: str) -> list[str]:
    """Arguments arrive in pieces."""
    middle = max(1, len(text) // 2)
    return [text[:middle], text[middle:]] if len(text) > 1 else [text]


def arguments(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def openai_stream(script: Script) -> Iterator[bytes]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        return sse(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            }
        )

    if script.thinking:
        yield chunk({"reasoning_content": script.thinking})
    for piece in script.pieces:
        yield chunk({"content": piece})
    for at, (name, value) in enumerate(script.calls):
        call = {
            "index": at,
            "id": f"call_{at}",
            "type": "function",
            "function": {"name": name, "arguments": ""},
        }
        yield chunk({"tool_calls": [call]})
        for piece in halves(arguments(value)):
            yield chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
    yield chunk({}, script.finish or ("tool_calls" if script.calls else "stop"))
    if script.usage:
        yield sse({"choices": [], "usage": openai_usage(script.usage)})
    yield sse("[DONE]")


def openai_usage(usage: tuple[int, int]) -> dict[str, int]:
    return {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}


def openai_whole(script: Script) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": "".join(script.pieces)}
    if script.thinking:
        message["reasoning_content"] = script.thinking
    if script.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{at}",
                "type": "function",
                "function": {"name": name, "arguments": arguments(value)},
            }
            for at, (name, value) in enumerate(script.calls)
        ]
    finish = script.finish or ("tool_calls" if script.calls else "stop")
    answer: dict[str, Any] = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if script.usage:
        answer["usage"] = openai_usage(script.usage)
    return answer


def anthropic_stream(script: Script) -> Iterator[bytes]:
    def send(data: dict[str, Any]) -> bytes:
        return sse(data, data["type"])

    usage = script.usage or (0, 0)
    start = {
        "id": "msg_1",
        "role": "assistant",
        "content": [],
        "usage": {"input_tokens": usage[0], "output_tokens": 1},
    }
    yield send({"type": "message_start", "message": start})
    yield send({"type": "ping"})
    for index, (block, deltas) in enumerate(anthropic_blocks(script)):
        yield send({"type": "content_block_start", "index": index, "content_block": block})
        for delta in deltas:
            yield send({"type": "content_block_delta", "index": index, "delta": delta})
        yield send({"type": "content_block_stop", "index": index})
    reason = script.finish or ("tool_use" if script.calls else "end_turn")
    yield send(
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": usage[1]}}
    )
    yield send({"type": "message_stop"})


def anthropic_blocks(script: Script) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if script.thinking:
        yield (
            {"type": "thinking", "thinking": "", "signature": ""},
            [
                {"type": "thinking_delta", "thinking": script.thinking},
                {"type": "signature_delta", "signature": "signed-thought"},
            ],
        )
    if script.pieces:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": p} for p in script.pieces]
    for at, (name, value) in enumerate(script.calls):
        pieces = halves(arguments(value))
        yield (
            {"type": "tool_use", "id": f"toolu_{at}", "name": name, "input": {}},
            [{"type": "input_json_delta", "partial_json": piece} for piece in pieces],
        )


def anthropic_whole(script: Script) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if script.thinking:
        content.append({"type": "thinking", "thinking": script.thinking, "signature": "signed-thought"})
    if script.pieces:
        content.append({"type": "text", "text": "".join(script.pieces)})
    for at, (name, value) in enumerate(script.calls):
        content.append({"type": "tool_use", "id": f"toolu_{at}", "name": name, "input": value})
    usage = script.usage or (0, 0)
    return {
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": script.finish or ("tool_use" if script.calls else "end_turn"),
        "usage": {"input_tokens": usage[0], "output_tokens": usage[1]},
    }


def gemini_parts(script: Script) -> Iterator[dict[str, Any]]:
    if script.thinking:
        yield {"text": script.thinking, "thought": True}
    for piece in script.pieces:
        yield {"text": piece}
    for at, (name, value) in enumerate(script.calls):
        part: dict[str, Any] = {"functionCall": {"name": name, "args": value}}
        # Only the first of parallel calls carries a signature.
        if script.thinking and at == 0:
            part["thoughtSignature"] = "c2lnbmVk"
        yield part


def gemini_stream(script: Script) -> Iterator[bytes]:
    for part in gemini_parts(script):
        yield sse({"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]})
    yield sse(gemini_whole(script, parts=[{"text": ""}]))


def gemini_whole(script: Script, parts: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": list(gemini_parts(replace(script, chunks=["".join(script.pieces)])))
                    if parts is None
                    else parts,
                },
                "finishReason": script.finish or "STOP",
            }
        ]
    }
    if script.usage:
        count, out = script.usage
        answer["usageMetadata"] = {"promptTokenCount": count, "candidatesTokenCount": out}
    return answer


STREAMS = {"openai": openai_stream, "anthropic": anthropic_stream, "gemini": gemini_stream}
WHOLES = {"openai": openai_whole, "anthropic": anthropic_whole, "gemini": gemini_whole}
