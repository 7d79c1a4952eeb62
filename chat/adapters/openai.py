"""The OpenAI-compatible protocol: chat completions, as OpenAI, local servers and many others speak it."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from chat import errors
from chat.adapters import faults, schemas
from chat.adapters.bounds import MOST_TEXT, Pieces, Room
from chat.adapters.cleaning import clean_json
from chat.adapters.client import bearer
from chat.adapters.events import Event, Finished, Reason, ThinkingDelta, Usage
from chat.adapters.http import Quirks, Wire, WireRequest
from chat.adapters.request import (
    AnswerFormat,
    ChatTurn,
    ModelRequest,
    Sampling,
    ToolChoice,
    contents,
    conversation,
    newest,
)
from chat.adapters.thinktags import ThinkTags
from chat.adapters.tool_calls import Calls, digest_id
from chat.errors import ModelError

REASONS: dict[str, Reason] = {
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tools",
    "function_call": "tools",
    "content_filter": "refused",
}
SAMPLING = ("top_p", "seed", "presence_penalty", "frequency_penalty")
EAGER = re.compile(r"(openai/)?(gpt-[5-9]|o[1-9])")
REASONING = {"reasoning_content", "reasoning", "reasoning_details"}
# DeepSeek wants what was thought before a call in every later request, even where another model called.
WANTS_THOUGHTS = ("passed back", "missing")
NOT_KEPT = "(What was thought here was not kept.)"
# A reply that ended amid its tools leaves the user after a tool, which Mistral's models refuse.
CUT_SHORT = ChatTurn("assistant", "(This reply was interrupted.)")
NO_TOOLS = re.compile(
    r"(not|n't) support[^.]{0,40}(tool|function)|tool[^.]{0,60}not support|--jinja|auto-tool-choice"
    r"|no endpoints found that support tool"
)


def call(request: ModelRequest, quirks: Quirks) -> WireRequest:
    body: dict[str, Any] = {
        "model": request.model,
        "messages": list(messages(request, quirks)),
        "stream": request.stream,
    }
    if request.stream and "stream_options" not in quirks:
        body["stream_options"] = {"include_usage": True}
    if request.sends_tools(quirks):
        body["tools"] = [schemas.openai(tool) for tool in request.tools]
        if request.tool_choice.mode != "auto":
            body["tool_choice"] = chosen(request.tool_choice)
    if request.answer_format:
        body["response_format"] = answer_format(request.answer_format)
    if request.temperature is not None and "temperature" not in quirks:
        body["temperature"] = request.temperature
    if request.max_tokens:
        body[quirks.get("max_tokens", "max_tokens")] = request.max_tokens
    body |= {name: value for name, value in wishes(request.sampling, body) if name not in quirks}
    if "effort" in quirks:
        pass
    elif "tools" in body and "effort_with_tools" in quirks:
        body["reasoning_effort"] = "none"
    elif request.sampling.effort:
        body["reasoning_effort"] = request.sampling.effort
    elif not request.thinking and EAGER.match(request.model):
        # A short answer is wanted: with more thought nothing would be left of its limit.
        body["reasoning_effort"] = "low"
    if "api.deepseek.com" in request.base_url and not request.thinking and "thinking" not in quirks:
        body["thinking"] = {"type": "disabled"}
    if request.stop and "stop" not in quirks:
        body["stop"] = list(request.stop)
    return WireRequest(f"{request.base_url}/chat/completions", bearer(request.key), body)


def wishes(sampling: Sampling, body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What is told as it was asked for, to those who take it."""
    for name in SAMPLING:
        if (value := getattr(sampling, name)) is not None:
            yield name, value
    if sampling.parallel_calls is not None and "tools" in body:
        yield "parallel_tool_calls", sampling.parallel_calls


def chosen(choice: ToolChoice) -> str | dict[str, Any]:
    return {"type": "function", "function": {"name": choice.name}} if choice.name else choice.mode


def answer_format(wanted: AnswerFormat) -> dict[str, Any]:
    if wanted.schema is None:
        return {"type": "json_object"}
    told = {"name": wanted.name, "schema": wanted.schema}
    if wanted.description:
        told["description"] = wanted.description
    return {
        "type": "json_schema",
        "json_schema": told if wanted.strict is None else told | {"strict": wanted.strict},
    }


def messages(request: ModelRequest, quirks: Quirks) -> Iterator[dict[str, Any]]:
    if request.system:
        yield {"role": "system", "content": "\n\n".join(request.system)}
    turns = conversation(request)
    begun = newest(turns)
    for at, turn in enumerate(turns):
        if turn.role == "tool":
            for answer in turn.tool_results:
                yield {
                    "role": "tool",
                    "tool_call_id": digest_id(answer.call_id, quirks),
                    "content": answer.content,
                }
        elif turn.role == "assistant":
            yield assistant(turn, request, quirks, echo=at > begun)
        else:
            if at and turns[at - 1].role == "tool":
                yield assistant(CUT_SHORT, request, quirks, echo=False)
            yield {"role": "user", "content": user(turn)}


def user(turn: ChatTurn) -> str | list[dict[str, Any]]:
    """Plain text wherever there is no picture: not every server takes a list of parts."""
    if not turn.pictures:
        return turn.text
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{part.base64}"}}
        for part in contents(turn)
    ]


def assistant(turn: ChatTurn, request: ModelRequest, quirks: Quirks, *, echo: bool) -> dict[str, Any]:
    """The model's turn; what it thought goes back only inside the round of tools that it began."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.text}
    state = turn.wire_state or {}
    if state.get("protocol") != "openai" or state.get("model") != request.model:
        state = {}
    if turn.tool_calls:
        extras = state.get("extras", {})
        message["tool_calls"] = [
            {
                "id": digest_id(call.id, quirks),
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
                **extras.get(call.id, {}),
            }
            for call in turn.tool_calls
        ]
    reasoning = state.get("reasoning", {})
    if quirks.get("reasoning") == "always":
        message |= reasoning or {"reasoning_content": NOT_KEPT}
    elif echo and "reasoning" not in quirks:
        message |= reasoning
    return message


def quirk(said: str, body: dict[str, Any]) -> Quirks:
    """What to leave out of the next attempt, when the error names something we sent."""
    said = said.lower()
    if "stream_options" in said and "stream_options" in body:
        return {"stream_options": False}
    if "max_completion_tokens" in said and "max_tokens" in body:
        return {"max_tokens": "max_completion_tokens"}
    if "max_completion_tokens" in said and "max_completion_tokens" in body:
        return {"max_tokens": "max_tokens"}
    if "reasoning_effort" in said and "tools" in body and body.get("reasoning_effort") != "none":
        # OpenAI's newer models take tools here only if they don't think, even where nobody asked them to.
        return {"effort_with_tools": "none"}
    if "reasoning_effort" in said and "reasoning_effort" in body:
        return {"effort": False}
    for name in (*SAMPLING, "parallel_tool_calls"):
        if name in said and name in body:
            return {name: False}
    if "thinking" in said and "thinking" in body:
        return {"thinking": False}
    if "temperature" in said and "temperature" in body:
        return {"temperature": False}
    if NO_TOOLS.search(said):
        return {"tools": False} if "tools" in body else {}
    if "tool call id" in said or "tool_call_id" in said:
        return {"short_ids": True}
    if "reasoning_content" in said and any(words in said for words in WANTS_THOUGHTS):
        return {"reasoning": "always"}
    if "reasoning" in said and any(set(message) & REASONING for message in body["messages"]):
        return {"reasoning": False}
    if (
        re.search(r"\bstop\b", said)
        and "stop" in body
        and re.search(r"unsupported|not support|unrecognized", said)
    ):
        return {"stop": False}
    return {}


class OpenAIReader:
    """Text, thinking and calls from the deltas of one choice."""

    def __init__(self, request: ModelRequest) -> None:
        self.request = request
        self.tags = ThinkTags()
        self.calls = Calls()
        self.usage = Usage()
        self.reason: str | None = None
        self.said = False
        self.reasoning: dict[str, Pieces] = {}
        self.details: list[Any] = []
        self.room = Room()

    def read(self, data: dict[str, Any]) -> Iterator[Event]:
        if data.get("error") or data.get("object") == "error":
            raise faults.explain(faults.inside(data), model=self.request.model, secrets=self.request.secrets)
        self.count(data.get("usage") or (data.get("x_groq") or {}).get("usage"))
        for choice in data.get("choices") or []:
            if choice.get("index", 0) == 0:
                yield from self.message(choice.get("delta") or choice.get("message") or {})
                self.reason = choice.get("finish_reason") or self.reason

    def message(self, delta: dict[str, Any]) -> Iterator[Event]:
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(thought, str) and thought:
            name = "reasoning_content" if delta.get("reasoning_content") else "reasoning"
            self.reasoning.setdefault(name, Pieces(MOST_TEXT)).add(thought)
            yield ThinkingDelta(thought)
        details = delta.get("reasoning_details")
        if isinstance(details, list) and self.room.take(details):
            self.details.extend(clean_json(details))
        if thought := thoughts(delta.get("content")):
            yield ThinkingDelta(thought)
        for event in self.tags.feed(content(delta.get("content")) or delta.get("refusal") or ""):
            self.said = True
            yield event
        for part in delta.get("tool_calls") or []:
            self.calls.add(part)
        if old := delta.get("function_call"):
            self.calls.add({"index": 0, "function": old})

    def whole(self, data: dict[str, Any]) -> Iterator[Event]:
        yield from self.read(data)
        if not data.get("choices"):
            raise ModelError(
                errors.BAD_STREAM,
                "The provider's response contains no reply. Check its protocol and address.",
            )
        yield from self.close(done=True)

    def close(self, *, done: bool) -> Iterable[Event]:
        yield from self.tags.close()
        calls = self.calls.finished()
        if self.reason is None and not done:
            raise ModelError(errors.CUT, errors.BROKEN_OFF)
        if self.reason == "content_filter" and not self.said and not calls:
            raise ModelError(errors.REFUSED, "The provider's content filter blocked the reply.")
        if self.reason == "error":
            raise ModelError(errors.SERVER, "The provider failed during the reply. Try again.")
        yield from calls
        if self.usage != Usage():
            yield self.usage
        reason = "tools" if calls else REASONS.get(self.reason or "", "stop")
        yield Finished("stop" if reason == "tools" and not calls else reason, self.state())

    def state(self) -> dict[str, Any] | None:
        """What goes back with this turn: only tool calls need what led to them."""
        reasoning: dict[str, Any] = {name: str(thoughts) for name, thoughts in self.reasoning.items()}
        if self.details:
            reasoning["reasoning_details"] = self.details
        if not self.calls or not (reasoning or self.calls.extras):
            return None
        return {
            "protocol": "openai",
            "model": self.request.model,
            "reasoning": reasoning,
            "extras": self.calls.extras,
        }

    def count(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self.usage = Usage.told(
                usage.get("prompt_tokens"),
                usage.get("completion_tokens"),
                (usage.get("prompt_tokens_details") or {}).get("cached_tokens"),
            )


def content(value: Any) -> str:
    """A message's content is text, or a list of parts that hold text."""
    if isinstance(value, list):
        return "".join(str(part.get("text") or "") for part in value if isinstance(part, dict))
    return value or ""


def thoughts(value: Any) -> str:
    """Mistral's thoughts are parts of the content, and hold parts with text themselves."""
    parts = value if isinstance(value, list) else []
    return "".join(content(part.get("thinking")) for part in parts if isinstance(part, dict))


WIRE = Wire(call, OpenAIReader, quirk)
