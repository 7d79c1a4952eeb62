"""The Gemini protocol: generateContent, streamed as server-sent events."""

import json
import re
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from chat import errors
from chat.adapters import faults, schemas
from chat.adapters.bounds import MOST_CALLS, Room
from chat.adapters.cleaning import clean
from chat.adapters.client import key_header
from chat.adapters.events import Event, Finished, TextDelta, ThinkingDelta, ToolCall, Usage
from chat.adapters.http import Quirks, Wire, WireRequest
from chat.adapters.request import (
    ChatTurn,
    ModelRequest,
    ToolAnswer,
    ToolChoice,
    begun_by_user,
    contents,
    conversation,
)
from chat.adapters.tool_calls import parse
from chat.errors import ModelError

MOST_STOPS = 5
# Google's own numbers for OpenAI's words.
BUDGETS = {"none": 0, "minimal": 1_024, "low": 1_024, "medium": 8_192, "high": 24_576, "xhigh": 24_576}
LEAST_THINKING = 128
REFUSALS = {
    "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "OTHER"
}  # fmt: skip
BAD_CALLS = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"}
# Documented by Google for calls that another model made, where Gemini 3 insists on a signature.
NO_SIGNATURE = "skip_thought_signature_validator"


def call(request: ModelRequest, quirks: Quirks) -> WireRequest:
    turns = begun_by_user(conversation(request))
    if request.system and "system" in quirks:
        turns[0] = replace(turns[0], text="\n\n".join([*request.system, turns[0].text]))
    contents = [{"role": ROLES[turn.role], "parts": list(parts(turn, request, quirks))} for turn in turns]
    body: dict[str, Any] = {"contents": contents}
    if request.system and "system" not in quirks:
        body["systemInstruction"] = {"parts": [{"text": part} for part in request.system]}
    if request.sends_tools(quirks):
        body["tools"] = [{"functionDeclarations": [schemas.gemini(tool) for tool in request.tools]}]
        if request.tool_choice.mode != "auto":
            body["toolConfig"] = {"functionCallingConfig": chosen(request.tool_choice)}
    wish = request.sampling
    config: dict[str, Any] = {
        "topP": wish.top_p,
        "seed": wish.seed % 2**31 if wish.seed is not None else None,
        "presencePenalty": None if "penalties" in quirks else wish.presence_penalty,
        "frequencyPenalty": None if "penalties" in quirks else wish.frequency_penalty,
        "temperature": None if "temperature" in quirks else request.temperature,
        "maxOutputTokens": request.max_tokens,
        "stopSequences": list(request.stop[:MOST_STOPS]) or None,
        "thinkingConfig": None if "thinking" in quirks else thinking(request),
        "responseMimeType": "application/json" if request.answer_format else None,
        "responseJsonSchema": request.answer_format.schema if request.answer_format else None,
    }
    if config := {name: value for name, value in config.items() if value is not None}:
        body["generationConfig"] = config
    name = quote(request.model.removeprefix("models/"), safe="")
    verb = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
    return WireRequest(
        f"{request.base_url}/models/{name}:{verb}", key_header("x-goog-api-key", request.key), body
    )


def chosen(choice: ToolChoice) -> dict[str, Any]:
    told: dict[str, Any] = {"mode": "ANY" if choice.is_forced else "NONE"}
    return told | {"allowedFunctionNames": [choice.name]} if choice.name else told


def thinking(request: ModelRequest) -> dict[str, Any] | None:
    """Thoughts aloud; or as few as the model allows, so that a short answer fits its limit."""
    if effort := request.sampling.effort:
        aloud = {"includeThoughts": True} if request.thinking else {}
        if "gemini-3" in request.model:
            return aloud | {"thinkingLevel": "high" if effort in ("medium", "high", "xhigh") else "low"}
        if "gemini-2.5" in request.model:
            least = 0 if "flash" in request.model else LEAST_THINKING
            return aloud | {"thinkingBudget": max(least, BUDGETS[effort])}
    if request.thinking:
        return {"includeThoughts": True}
    if "gemini-2.5-flash" in request.model:
        return {"thinkingBudget": 0}
    if "gemini-2.5-pro" in request.model:
        return {"thinkingBudget": 128}
    return {"thinkingLevel": "low"} if "gemini-3" in request.model else None


ROLES = {"user": "user", "assistant": "model", "tool": "user"}


def parts(turn: ChatTurn, request: ModelRequest, quirks: Quirks) -> Iterator[dict[str, Any]]:
    state = turn.wire_state or {}
    if state.get("protocol") != "gemini" or state.get("model") != request.model:
        state = {}
    for part in contents(turn):
        if isinstance(part, str):
            yield {"text": part}
        else:
            yield {"inlineData": {"mimeType": part.media_type, "data": part.base64}}
    for at, each in enumerate(turn.tool_calls):
        given = {"id": each.id} if own_id(each.id) else {}
        called: dict[str, Any] = {"functionCall": {**given, "name": each.name, "args": each.arguments}}
        signature = state.get("signatures", {}).get(each.id)
        if not signature and at == 0 and ("signatures" in quirks or "gemini-3" in request.model):
            signature = NO_SIGNATURE
        yield called | ({"thoughtSignature": signature} if signature else {})
    for answer in turn.tool_results:
        yield {"functionResponse": result(answer)}


def result(answer: ToolAnswer) -> dict[str, Any]:
    given = {"id": answer.call_id} if own_id(answer.call_id) else {}
    content = {"error" if answer.is_error else "result": answer.content}
    return {**given, "name": answer.name, "response": content}


def own_id(id: str) -> bool:
    """Whether Gemini itself gave this id; those of other protocols and our own mean nothing to it."""
    return not id.startswith(("call_", "toolu_", "made_"))


def quirk(said: str, body: dict[str, Any]) -> Quirks:
    said = said.lower()
    if re.search(r"thought.?signature", said):
        # A name such as gemini-flash-latest does not tell which Gemini answers.
        return {"signatures": True}
    if "temperature" in said and "temperature" in body.get("generationConfig", {}):
        return {"temperature": False}
    if "thinking" in said and "thinkingConfig" in body.get("generationConfig", {}):
        return {"thinking": False}
    if "penalty" in said and {"presencePenalty", "frequencyPenalty"} & set(body.get("generationConfig", {})):
        return {"penalties": False}
    if "instruction is not" in said and "systemInstruction" in body:
        return {"system": "user"}
    if "function calling" in said and "tools" in body and ("not" in said or "unsupported" in said):
        return {"tools": False}
    return {}


class GeminiReader:
    """Events from the parts of the first candidate."""

    def __init__(self, request: ModelRequest) -> None:
        self.request = request
        self.calls: list[ToolCall] = []
        self.signatures: dict[str, str] = {}
        self.room = Room()
        self.usage = Usage()
        self.reason: str | None = None
        self.said = False

    def read(self, data: dict[str, Any]) -> Iterator[Event]:
        if data.get("error"):
            raise faults.explain(faults.inside(data), model=self.request.model, secrets=self.request.secrets)
        self.count(data.get("usageMetadata"))
        if blocked := (data.get("promptFeedback") or {}).get("blockReason"):
            why = clean(str(blocked)[:40])
            raise ModelError(errors.REFUSED, f"The provider's content filter blocked this chat ({why}).")
        for candidate in (data.get("candidates") or [])[:1]:
            for part in (candidate.get("content") or {}).get("parts") or []:
                yield from self.part(part)
            self.reason = candidate.get("finishReason") or self.reason

    def part(self, part: dict[str, Any]) -> Iterator[Event]:
        if called := part.get("functionCall"):
            if len(self.calls) >= MOST_CALLS:
                return
            id = called.get("id") or f"made_{uuid.uuid4().hex[:24]}"
            arguments = json.dumps(dict(called.get("args") or {}))
            made = parse(id, called["name"], arguments, self.room)
            self.calls.append(made)
            signature = part.get("thoughtSignature")
            if isinstance(signature, str) and self.room.take(signature):
                self.signatures[made.id] = clean(signature)
        elif text := part.get("text"):
            if part.get("thought"):
                yield ThinkingDelta(text)
            else:
                self.said = True
                yield TextDelta(text)

    def whole(self, data: dict[str, Any]) -> Iterator[Event]:
        yield from self.read(data)
        if not data.get("candidates"):
            raise ModelError(
                errors.BAD_STREAM, "The provider's response contains no reply: check its address."
            )
        yield from self.close(done=True)

    def close(self, *, done: bool) -> Iterable[Event]:
        if self.reason is None and not done:
            raise ModelError(errors.CUT, errors.BROKEN_OFF)
        refused = self.reason in REFUSALS
        if refused and not self.said and not self.calls:
            raise ModelError(errors.REFUSED, "The provider's content filter blocked the reply.")
        if self.reason in BAD_CALLS and not self.calls:
            raise ModelError(errors.BAD_STREAM, "The model made an unreadable tool call. Try again.")
        yield from self.calls
        if self.usage != Usage():
            yield self.usage
        if self.calls:
            yield Finished("tools", self.state())
        else:
            yield Finished("refused" if refused else "length" if self.reason == "MAX_TOKENS" else "stop")

    def state(self) -> dict[str, Any] | None:
        if not self.signatures:
            return None
        return {"protocol": "gemini", "model": self.request.model, "signatures": self.signatures}

    def count(self, usage: Any) -> None:
        if isinstance(usage, dict):
            answer, thought = usage.get("candidatesTokenCount"), usage.get("thoughtsTokenCount")
            output = None if answer is None and thought is None else (answer or 0) + (thought or 0)
            cached = usage.get("cachedContentTokenCount")
            self.usage = Usage.told(usage.get("promptTokenCount"), output, cached)


WIRE = Wire(call, GeminiReader, quirk)
