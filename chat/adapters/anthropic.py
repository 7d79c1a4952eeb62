"""The Anthropic Messages protocol."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from chat import errors
from chat.adapters import faults, schemas
from chat.adapters.bounds import MOST_ARGUMENTS, MOST_CALLS, MOST_TEXT, Pieces, Room
from chat.adapters.cleaning import clean
from chat.adapters.client import key_header
from chat.adapters.events import Event, Finished, Reason, TextDelta, ThinkingDelta, ToolCall, Usage
from chat.adapters.http import Quirks, Wire, WireRequest
from chat.adapters.request import (
    ChatTurn,
    ModelRequest,
    Picture,
    ToolAnswer,
    ToolChoice,
    begun_by_user,
    contents,
    conversation,
    newest,
)
from chat.adapters.tool_calls import TOO_LONG, parse
from chat.errors import ModelError

VERSION = "2023-06-01"
# The protocol wants a limit. A model that allows less says how much, and is asked again with that.
MOST_TOKENS = 32_000
MOST_THINKING = 8_000
LEAST_THINKING = 1_024
# How much effort is, for models that judge by themselves and for those that take a number.
EFFORT = {"low": "low", "medium": "medium", "high": "high", "xhigh": "high"}
BUDGETS = {"low": LEAST_THINKING, "medium": 4_000}
KINDS = {"auto": "auto", "none": "none", "required": "any"}
ADAPTIVE = re.compile(r"claude-(opus|sonnet|haiku)-(4-[6-9]|[5-9])|claude-[a-z]+-[5-9]")
CACHED = {"type": "ephemeral"}
MOST_BLOCKS = 1_000
COUNTED = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
REASONS: dict[str, Reason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tools",
    "refusal": "refused",
}


def call(request: ModelRequest, quirks: Quirks) -> WireRequest:
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
    if request.sends_tools(quirks):
        body["tools"] = [schemas.anthropic(tool) for tool in request.tools]
        one_by_one = request.sampling.parallel_calls is False
        if request.tool_choice.mode != "auto" or one_by_one:
            body["tool_choice"] = chosen(request.tool_choice, one_by_one)
    if request.answer_format and request.answer_format.schema is not None:
        wanted = {"type": "json_schema", "schema": request.answer_format.schema}
        body["output_config"] = {"format": wanted}
    effort = EFFORT.get(request.sampling.effort or "")
    if thinking:
        body["thinking"] = thinking
        if effort and thinking["type"] == "adaptive" and "effort" not in quirks:
            body.setdefault("output_config", {})["effort"] = effort
    elif request.temperature is not None and "temperature" not in quirks:
        body["temperature"] = min(request.temperature, 1.0)
    elif request.temperature is None and request.sampling.top_p is not None and "top_p" not in quirks:
        # One of the two: newer models refuse both.
        body["top_p"] = request.sampling.top_p
    if stop := [text for text in request.stop if text.strip()]:
        body["stop_sequences"] = stop
    headers = {"anthropic-version": VERSION, **key_header("x-api-key", request.key)}
    root = request.base_url.removesuffix("/v1")
    return WireRequest(f"{root}/v1/messages", headers, body)


def chosen(choice: ToolChoice, one_by_one: bool) -> dict[str, Any]:
    told: dict[str, Any] = {"type": KINDS[choice.mode]}
    if choice.name:
        told = {"type": "tool", "name": choice.name}
    return told | {"disable_parallel_tool_use": True} if one_by_one and choice.mode != "none" else told


def system(parts: tuple[str, ...]) -> list[dict[str, Any]]:
    """System blocks, with a cache mark on the last: all of it stays the same from message to message."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": part} for part in parts]
    blocks[-1]["cache_control"] = CACHED
    return blocks


def cached(messages: list[dict[str, Any]], newest: int) -> list[dict[str, Any]]:
    """Cache marks where the next request starts alike: before the user's last message, and at the end."""
    for at in {newest - 1, len(messages) - 1} - {newest, -1, -2}:
        content = messages[at]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else [*content]
        # Thinking can't carry a mark; the block after it does, or none.
        if blocks[-1]["type"] in ("text", "image", "tool_use", "tool_result"):
            blocks[-1] = blocks[-1] | {"cache_control": CACHED}
            messages[at] = messages[at] | {"content": blocks}
    return messages


def thinks(request: ModelRequest, turns: list[ChatTurn], quirks: Quirks, most: int) -> dict[str, Any] | None:
    """How to ask for thinking, or None: a round of tools begun without it must go on without it."""
    effort = request.sampling.effort
    if not request.thinking or request.tool_choice.is_forced or effort in ("none", "minimal"):
        # A call that is forced leaves no room for thought, and asking for both is refused.
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
    budget = min(most // 2, BUDGETS.get(effort or "", MOST_THINKING))
    return {"type": "enabled", "budget_tokens": budget} if budget >= LEAST_THINKING else None


def kept(turn: ChatTurn, request: ModelRequest) -> list[dict[str, Any]]:
    """A turn's signed blocks, if this model made them and they still match what the turn says."""
    state = turn.wire_state or {}
    if state.get("protocol") != "anthropic" or state.get("model") != request.model:
        return []
    blocks: list[dict[str, Any]] = state.get("blocks", [])
    ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
    return blocks if ids == [call.id for call in turn.tool_calls] else []


def message(turn: ChatTurn, request: ModelRequest, *, keep: bool) -> dict[str, Any]:
    if turn.role == "tool":
        return {"role": "user", "content": [result(answer) for answer in turn.tool_results]}
    if turn.role == "assistant":
        content = kept(turn, request) if keep and turn.tool_calls else []
        return {"role": "assistant", "content": content or list(assistant(turn))}
    if turn.pictures:
        return {"role": "user", "content": [block(part) for part in contents(turn)]}
    return {"role": "user", "content": turn.text}


def block(part: str | Picture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    source = {"type": "base64", "media_type": part.media_type, "data": part.base64}
    return {"type": "image", "source": source}


def result(answer: ToolAnswer) -> dict[str, Any]:
    block = {
        "type": "tool_result",
        "tool_use_id": safe_id(answer.call_id),
        "content": answer.content or "(nothing)",
    }
    return block | {"is_error": True} if answer.is_error else block


def assistant(turn: ChatTurn) -> Iterator[dict[str, Any]]:
    if turn.text.strip():
        yield {"type": "text", "text": turn.text.rstrip()}
    for each in turn.tool_calls:
        yield {"type": "tool_use", "id": safe_id(each.id), "name": each.name, "input": each.arguments}


def safe_id(id: str) -> str:
    """Another protocol's id may have characters that this one refuses."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", id)


def quirk(said: str, body: dict[str, Any]) -> Quirks:
    """What to change on the next attempt, when the error names something we sent."""
    if limit := re.search(r"max_tokens: \d{1,9} > (\d{1,9})\b", said):
        return {"max_tokens": int(limit.group(1))}
    said = said.lower()
    if "temperature" in said and "temperature" in body:
        return {"temperature": False}
    if "effort" in said and "effort" in body.get("output_config", {}):
        return {"effort": False}
    if "top_p" in said and "top_p" in body:
        return {"top_p": False}
    if "thinking" in body and ("thinking" in said or "adaptive" in said):
        if "display" in said and "display" in body["thinking"]:
            return {"display": False}
        return {"no_adaptive": True} if body["thinking"]["type"] == "adaptive" else {"no_budget": True}
    return {}


@dataclass(slots=True)
class Block:
    """One part of a message as it grows; its text is what was said, thought or given as arguments."""

    kind: str
    text: Pieces
    signature: Pieces = field(default_factory=lambda: Pieces(MOST_ARGUMENTS))
    id: str = ""
    name: str = ""
    # Thinking that only the provider can read.
    sealed: str = ""
    # What a call that came at once has for arguments.
    given: str = ""
    call: ToolCall | None = None

    @property
    def whole(self) -> dict[str, Any]:
        """The block as it goes back to the model that made it."""
        if self.kind == "thinking":
            return {"type": self.kind, "thinking": str(self.text), "signature": str(self.signature)}
        if self.kind == "redacted_thinking":
            return {"type": self.kind, "data": self.sealed}
        if self.call:
            call = self.call
            return {"type": self.kind, "id": call.id, "name": call.name, "input": call.arguments}
        return {"type": "text", "text": str(self.text)}

    @property
    def is_whole(self) -> bool:
        """Whether nothing was left out: what is signed must go back as it came."""
        return not (self.text.too_long or self.signature.too_long)


class AnthropicReader:
    """Events from the blocks of one message."""

    def __init__(self, request: ModelRequest) -> None:
        self.request = request
        self.blocks: dict[int, Block] = {}
        self.tokens: dict[str, int] = {}
        self.reason: str | None = None
        self.room = Room()
        # Of words and arguments, in all blocks together.
        self.letters = 2 * MOST_TEXT
        # What stands for every block past the most that are kept.
        self.surplus: Block | None = None

    def read(self, data: dict[str, Any]) -> Iterator[Event]:
        kind = data.get("type")
        if kind == "error" or (kind is None and "error" in data):
            raise faults.explain(faults.inside(data), model=self.request.model, secrets=self.request.secrets)
        if kind == "message_start":
            self.count(data["message"].get("usage"))
        elif kind == "content_block_start":
            yield from self.start(data["index"], data["content_block"])
        elif kind == "content_block_delta":
            yield from self.delta(self.blocks.get(data["index"]) or self.surplus, data["delta"])
        elif kind == "message_delta":
            self.count(data.get("usage"))
            self.reason = data["delta"].get("stop_reason") or self.reason
        elif kind == "message_stop":
            self.reason = self.reason or "end_turn"

    def start(self, index: int, told: dict[str, Any]) -> Iterator[Event]:
        kind, sealed, given = told["type"], told.get("data") or "", told.get("input") or {}
        most = MOST_ARGUMENTS if kind == "tool_use" else MOST_TEXT
        block = Block(kind, Pieces(most), id=told.get("id") or "", name=told.get("name") or "")
        if len(self.blocks) >= MOST_BLOCKS or not self.room.take([sealed, block.id, block.name]):
            self.surplus = Block("surplus", Pieces(0))
            return
        block.sealed, block.given = clean(sealed), json.dumps(dict(given))[: MOST_ARGUMENTS + 1]
        self.blocks[index] = block
        block.signature.add(told.get("signature") or "")
        yield from self.said(block, told.get("thinking" if kind == "thinking" else "text") or "")

    def said(self, block: Block, text: str) -> Iterator[Event]:
        self.letters -= len(text)
        if self.letters < 0:
            block.text.too_long = True
        else:
            block.text.add(text)
        if text and block.kind == "text":
            yield TextDelta(text)
        elif text and block.kind == "thinking":
            yield ThinkingDelta(text)

    def delta(self, block: Block | None, delta: dict[str, Any]) -> Iterator[Event]:
        if block is None:
            raise KeyError("a piece of no block")
        kind = delta.get("type")
        if kind == "text_delta":
            yield from self.said(block, delta["text"])
        elif kind == "thinking_delta":
            yield from self.said(block, delta["thinking"])
        elif kind == "signature_delta":
            block.signature.add(delta["signature"])
        elif kind == "input_json_delta" and block.kind == "tool_use":
            yield from self.said(block, delta["partial_json"])

    def whole(self, data: dict[str, Any]) -> Iterator[Event]:
        if data.get("type") == "error" or "content" not in data:
            yield from self.read(data)
            raise ModelError(
                errors.BAD_STREAM, "The provider's response contains no reply: check its address."
            )
        self.count(data.get("usage"))
        for index, told in enumerate(data["content"]):
            yield from self.start(index, told)
        self.reason = data.get("stop_reason") or "end_turn"
        yield from self.close(done=True)

    def close(self, *, done: bool) -> Iterable[Event]:
        if self.reason is None:
            raise ModelError(errors.CUT, errors.BROKEN_OFF)
        calls = self.finished()
        if self.reason == "refusal" and not any(
            block.text for block in self.blocks.values() if block.kind == "text"
        ):
            raise ModelError(errors.REFUSED, "The model declined to answer. Try rephrasing your message.")
        yield from calls
        if self.tokens:
            read, made = (self.tokens.get(f"cache_{name}_input_tokens", 0) for name in ("read", "creation"))
            fresh = self.tokens.get("input_tokens")
            total = None if fresh is None else fresh + read + made
            yield Usage.told(total, self.tokens.get("output_tokens"), read or None)
        reason = "tools" if calls else REASONS.get(self.reason, "stop")
        yield Finished("stop" if reason == "tools" and not calls else reason, self.state())

    def finished(self) -> list[ToolCall]:
        """The calls, in the order of their blocks; past the most that an answer may make there are none."""
        wanted = [block for _, block in sorted(self.blocks.items()) if block.kind == "tool_use"]
        for block in wanted[:MOST_CALLS]:
            problem = TOO_LONG if block.text.too_long else ""
            block.call = parse(block.id, block.name, str(block.text) or block.given, self.room, problem)
        return [block.call for block in wanted if block.call]

    def state(self) -> dict[str, Any] | None:
        """Signed thinking has to go back, in its place, with the calls it led to."""
        kept = [
            block
            for _, block in sorted(self.blocks.items())
            if block.kind in ("thinking", "redacted_thinking") or block.call or block.text
        ]
        kinds = {block.kind for block in kept}
        signed = kinds & {"thinking", "redacted_thinking"}
        if "tool_use" not in kinds or not signed:
            return None
        if self.surplus or not all(block.is_whole for block in kept):
            return None
        blocks = [block.whole for block in kept]
        return {"protocol": "anthropic", "model": self.request.model, "blocks": blocks}

    def count(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self.tokens |= {name: value for name in COUNTED if isinstance(value := usage.get(name), int)}


WIRE = Wire(call, AnthropicReader, quirk)
