"""The Anthropic Messages protocol."""

import json
import re
from collections.abc import AsyncGenerator, Iterable, Iterator
from typing import Any

from chat import errors
from chat.adapters import faults, schemas
from chat.adapters.arguments import parse
from chat.adapters.exchange import Call, Quirks, Wire, converse
from chat.adapters.headers import named
from chat.adapters.request import ModelRequest, ToolAnswer, Turn, begun_by_user, conversation, newest
from chat.errors import ModelError
from chat.events import Event, Finished, Reason, TextDelta, ThinkingDelta, ToolCall, Usage

VERSION = "2023-06-01"
# The protocol wants a limit. A model that allows less says how much, and is asked again with that.
MOST_TOKENS = 32_000
MOST_THINKING = 8_000
LEAST_THINKING = 1_024
ADAPTIVE = re.compile(r"claude-(opus|sonnet|haiku)-(4-[6-9]|[5-9])|claude-[a-z]+-[5-9]")
CACHED = {"type": "ephemeral"}
REASONS: dict[str, Reason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tools",
    "refusal": "refused",
}


def stream(request: ModelRequest) -> AsyncGenerator[Event, None]:
    return converse(request, WIRE)


def call(request: ModelRequest, quirks: Quirks) -> Call:
    turns = begun_by_user(conversation(request))
    most = min(request.max_tokens or MOST_TOKENS, quirks.get("max_tokens", MOST_TOKENS))
    thinking = thinks(request, turns, quirks, most)
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": most,
        "messages": cached([message(turn, request, keep=bool(thinking)) for turn in turns], newest(turns)),
        "stream": request.stream,
    }
    if request.system:
        body["system"] = system(request.system)
    if request.tools and "tools" not in quirks:
        body["tools"] = [schemas.anthropic(tool) for tool in request.tools]
    if thinking:
        body["thinking"] = thinking
    elif request.temperature is not None and "temperature" not in quirks:
        body["temperature"] = min(request.temperature, 1.0)
    if stop := [text for text in request.stop if text.strip()]:
        body["stop_sequences"] = stop
    headers = {"anthropic-version": VERSION, **named("x-api-key", request.key)}
    root = request.base_url.removesuffix("/v1")
    return Call(f"{root}/v1/messages", headers, body)


def system(parts: tuple[str, ...]) -> list[dict[str, Any]]:
    """Blocks of text, the last of them with a cache mark: all of it stays from message to message."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": part} for part in parts]
    blocks[-1]["cache_control"] = CACHED
    return blocks


def cached(messages: list[dict[str, Any]], newest: int) -> list[dict[str, Any]]:
    """The messages, marked where the next request begins alike: before the user's last, and at the end."""
    for at in {newest - 1, len(messages) - 1} - {newest, -1, -2}:
        content = messages[at]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else [*content]
        # Thinking can't carry a mark; the block after it does, or none.
        if blocks[-1]["type"] in ("text", "tool_use", "tool_result"):
            blocks[-1] = blocks[-1] | {"cache_control": CACHED}
            messages[at] = messages[at] | {"content": blocks}
    return messages


def thinks(request: ModelRequest, turns: list[Turn], quirks: Quirks, most: int) -> dict[str, Any] | None:
    """How to ask for thinking, or None: a round of tools begun without it must go on without it."""
    if not request.thinking:
        return None
    if any(turn.tool_calls and not kept(turn, request) for turn in turns[newest(turns) + 1 :]):
        return None
    adaptive = bool(ADAPTIVE.search(request.model))
    if "no_adaptive" in quirks or "no_budget" in quirks:
        adaptive = "no_adaptive" not in quirks
        if "no_adaptive" in quirks and "no_budget" in quirks:
            return None
    if adaptive:
        return {"type": "adaptive"} if "display" in quirks else {"type": "adaptive", "display": "summarized"}
    budget = min(most // 2, MOST_THINKING)
    return {"type": "enabled", "budget_tokens": budget} if budget >= LEAST_THINKING else None


def kept(turn: Turn, request: ModelRequest) -> list[dict[str, Any]]:
    """The signed blocks of a turn, if this model made them and they still are what the turn says."""
    state = turn.wire_state or {}
    if state.get("protocol") != "anthropic" or state.get("model") != request.model:
        return []
    blocks: list[dict[str, Any]] = state.get("blocks", [])
    ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
    return blocks if ids == [call.id for call in turn.tool_calls] else []


def message(turn: Turn, request: ModelRequest, *, keep: bool) -> dict[str, Any]:
    if turn.role == "tool":
        return {"role": "user", "content": [result(answer) for answer in turn.tool_results]}
    if turn.role == "assistant":
        content = kept(turn, request) if keep and turn.tool_calls else []
        return {"role": "assistant", "content": content or list(assistant(turn))}
    return {"role": "user", "content": turn.text}


def result(answer: ToolAnswer) -> dict[str, Any]:
    block = {
        "type": "tool_result",
        "tool_use_id": safe_id(answer.call_id),
        "content": answer.content or "(nothing)",
    }
    return block | {"is_error": True} if answer.is_error else block


def assistant(turn: Turn) -> Iterator[dict[str, Any]]:
    if turn.text.strip():
        yield {"type": "text", "text": turn.text.rstrip()}
    for each in turn.tool_calls:
        yield {"type": "tool_use", "id": safe_id(each.id), "name": each.name, "input": each.arguments}


def safe_id(id: str) -> str:
    """Another protocol's id may have characters that this one refuses."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", id)


def quirk(said: str, body: dict[str, Any]) -> Quirks:
    """What to change next time, when the complaint names a thing that we sent."""
    if limit := re.search(r"max_tokens: \d+ > (\d+)", said):
        return {"max_tokens": int(limit.group(1))}
    said = said.lower()
    if "temperature" in said and "temperature" in body:
        return {"temperature": False}
    if "thinking" in body and ("thinking" in said or "adaptive" in said):
        if "display" in said and "display" in body["thinking"]:
            return {"display": False}
        return {"no_adaptive": True} if body["thinking"]["type"] == "adaptive" else {"no_budget": True}
    return {}


class Reader:
    """Events from the blocks of one message."""

    def __init__(self, request: ModelRequest) -> None:
        self.request = request
        self.blocks: dict[int, dict[str, Any]] = {}
        self.arguments: dict[int, str] = {}
        self.calls: dict[int, ToolCall] = {}
        self.tokens: dict[str, int] = {}
        self.reason: str | None = None

    def read(self, data: dict[str, Any]) -> Iterator[Event]:
        kind = data.get("type")
        if kind == "error" or (kind is None and "error" in data):
            raise faults.explain(faults.inside(data), model=self.request.model, secrets=self.request.secrets)
        if kind == "message_start":
            self.count(data["message"].get("usage"))
        elif kind == "content_block_start":
            block = dict(data["content_block"])
            self.blocks[data["index"]] = block
            yield from self.said(block)
        elif kind == "content_block_delta":
            yield from self.delta(data["index"], data["delta"])
        elif kind == "message_delta":
            self.count(data.get("usage"))
            self.reason = data["delta"].get("stop_reason") or self.reason
        elif kind == "message_stop":
            self.reason = self.reason or "end_turn"

    def said(self, block: dict[str, Any]) -> Iterator[Event]:
        if block["type"] == "text" and block.get("text"):
            yield TextDelta(block["text"])
        elif block["type"] == "thinking" and block.get("thinking"):
            yield ThinkingDelta(block["thinking"])

    def delta(self, index: int, delta: dict[str, Any]) -> Iterator[Event]:
        block = self.blocks[index]
        kind = delta.get("type")
        if kind == "text_delta":
            block["text"] = block.get("text", "") + delta["text"]
            yield from (TextDelta(text) for text in [delta["text"]] if text)
        elif kind == "thinking_delta":
            block["thinking"] = block.get("thinking", "") + delta["thinking"]
            yield from (ThinkingDelta(text) for text in [delta["thinking"]] if text)
        elif kind == "signature_delta":
            block["signature"] = block.get("signature", "") + delta["signature"]
        elif kind == "input_json_delta":
            self.arguments[index] = self.arguments.get(index, "") + delta["partial_json"]

    def whole(self, data: dict[str, Any]) -> Iterator[Event]:
        if data.get("type") == "error" or "content" not in data:
            yield from self.read(data)
            raise ModelError(errors.BAD_STREAM, "The provider's answer holds no reply: check its address.")
        self.count(data.get("usage"))
        for index, block in enumerate(data["content"]):
            self.blocks[index] = block
            yield from self.said(block)
        self.reason = data.get("stop_reason") or "end_turn"
        yield from self.close(done=True)

    def close(self, *, done: bool) -> Iterable[Event]:
        if self.reason is None:
            raise ModelError(errors.CUT, errors.BROKEN_OFF)
        calls = self.finished()
        if self.reason == "refusal" and not any(block.get("text") for block in self.blocks.values()):
            raise ModelError(errors.REFUSED, "The model declined to answer this. Try to ask in another way.")
        yield from calls
        if self.tokens:
            read, made = (self.tokens.get(f"cache_{name}_input_tokens", 0) for name in ("read", "creation"))
            fresh = self.tokens.get("input_tokens")
            total = None if fresh is None else fresh + read + made
            yield Usage.told(total, self.tokens.get("output_tokens"), read or None)
        reason = "tools" if calls else REASONS.get(self.reason, "stop")
        yield Finished("stop" if reason == "tools" and not calls else reason, self.state())

    def finished(self) -> list[ToolCall]:
        calls = []
        for index, block in sorted(self.blocks.items()):
            if block["type"] == "tool_use":
                text = self.arguments.get(index) or json.dumps(block.get("input") or {})
                made = parse(block["id"], block["name"], text)
                block["input"] = made.arguments
                calls.append(made)
        return calls

    def state(self) -> dict[str, Any] | None:
        """Signed thinking has to go back, in its place, with the calls it led to."""
        kinds = {block["type"] for block in self.blocks.values()}
        if "tool_use" not in kinds or not kinds & {"thinking", "redacted_thinking"}:
            return None
        blocks = [
            block
            for _, block in sorted(self.blocks.items())
            if block["type"] in ("thinking", "redacted_thinking", "tool_use") or block.get("text")
        ]
        return {"protocol": "anthropic", "model": self.request.model, "blocks": blocks}

    def count(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self.tokens |= {name: value for name, value in usage.items() if isinstance(value, int)}


WIRE = Wire(call, Reader, quirk)
