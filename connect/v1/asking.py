"""A request for a completion, read from a stranger's JSON: checked, bounded, in the chat's own values."""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, get_args
from uuid import UUID

from chat.adapters import ChatTurn, ToolAnswer
from chat.adapters.events import ToolCall
from chat.adapters.request import AnswerFormat, Effort, Picture, Sampling, ToolChoice
from connect.v1.chores import is_chore
from connect.v1.faults import ApiError
from oneclaw.outside import plain, plain_text
from oneclaw.toolkit import Tool, ToolContext, ToolResult

MOST_MESSAGES, MOST_TOOLS, MOST_PICTURES = 2_000, 128, 20
LONGEST_PICTURE = 20 * 2**20
PICTURES = {"image/png", "image/jpeg", "image/webp", "image/gif"}
DATA_URL = re.compile(r"data:([a-z]{1,10}/[a-z.+-]{1,20});base64,", re.IGNORECASE)
TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
FORMAT_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
EFFORTS = get_args(Effort)
MODES = ("on", "read", "off")
Mode = Literal["on", "read", "off"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a client wants: which model, what was said, and how to answer."""

    model: str
    system: tuple[str, ...]
    turns: tuple[ChatTurn, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = field(default_factory=ToolChoice)
    answer_format: AnswerFormat | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)
    stream: bool = False
    tell_usage: bool = False
    memory: Mode = "on"
    chat: UUID | None = None

    @property
    def questions(self) -> list[str]:
        """What the user said, newest last."""
        return [turn.text for turn in self.turns if turn.role == "user"]


def read(body: bytes) -> Asked:
    """The request; ApiError says which field is wrong. Fields that are not known are left alone."""
    data = _loaded(body)
    if data.get("n") not in (None, 1):
        raise wrong("n", "Only one answer can be asked for: n must be 1.")
    system, turns = _messages(data.get("messages"))
    own = data.get("oneclaw") or {}
    if not isinstance(own, dict):
        raise wrong("oneclaw", "oneclaw must be an object.")
    options = data.get("stream_options") or {}
    tools = tuple(_tools(data.get("tools")))
    newer = data.get("max_completion_tokens")
    limit = data.get("max_tokens") if newer is None else newer
    mode = _mode(own.get("memory"))
    return Asked(
        model=_text(data, "model"),
        system=tuple(system),
        turns=tuple(turns),
        tools=tools,
        tool_choice=_tool_choice(data.get("tool_choice"), tools),
        answer_format=_answer_format(data.get("response_format")),
        temperature=_number(data.get("temperature"), "temperature", 0, 2),
        max_tokens=_whole(limit, "max_tokens"),
        stop=tuple(_stop(data.get("stop"))),
        sampling=_sampling(data),
        stream=data.get("stream") is True,
        tell_usage=isinstance(options, dict) and options.get("include_usage") is True,
        memory="off" if is_chore(system, turns) else mode,
        chat=_chat(own.get("chat")),
    )


def wrong(param: str, message: str) -> ApiError:
    return ApiError(400, message, param=param, code="invalid_value")


def _loaded(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise ApiError(400, "The request must be a JSON object.")
    return data


def _messages(value: Any) -> tuple[list[str], list[ChatTurn]]:
    if not isinstance(value, list) or not value:
        raise wrong("messages", "messages must be a list of messages.")
    if len(value) > MOST_MESSAGES:
        raise wrong("messages", f"At most {MOST_MESSAGES:,} messages can be sent.")
    system, turns = list[str](), list[ChatTurn]()
    names = dict[str, str]()
    pictures = 0
    for at, each in enumerate(value):
        where = f"messages[{at}]"
        if not isinstance(each, dict):
            raise wrong(where, f"{where} must be an object.")
        role = each.get("role")
        text, shown = _content(each.get("content"), f"{where}.content")
        pictures += len(shown)
        if pictures > MOST_PICTURES:
            raise wrong(where, f"At most {MOST_PICTURES} images can be sent.")
        if role in ("system", "developer"):
            system.append(text)
        elif role == "user":
            turns.append(ChatTurn("user", text, pictures=shown))
        elif role == "assistant":
            calls = tuple(_calls(each.get("tool_calls"), f"{where}.tool_calls"))
            names |= {call.id: call.name for call in calls}
            turns.append(ChatTurn("assistant", text, calls))
        elif role == "tool":
            call = plain_text(str(each.get("tool_call_id") or ""))[:200]
            turns.append(ChatTurn("tool", tool_results=(ToolAnswer(call, names.get(call, "tool"), text),)))
        else:
            raise wrong(f"{where}.role", "role must be system, developer, user, assistant or tool.")
    if not turns or turns[-1].role == "assistant":
        raise wrong("messages", "The last message must be the user's or a tool's.")
    return system, turns


def _content(value: Any, where: str) -> tuple[str, tuple[Picture, ...]]:
    if value is None:
        return "", ()
    if isinstance(value, str):
        return plain_text(value), ()
    if not isinstance(value, list):
        raise wrong(where, f"{where} must be a text or a list of parts.")
    texts, pictures = list[str](), list[Picture]()
    for part in value:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in ("text", "refusal") and isinstance(part.get(kind), str):
            texts.append(plain_text(part[kind]))
        elif kind == "image_url":
            url = part["image_url"].get("url") if isinstance(part.get("image_url"), dict) else None
            pictures.append(_picture(url, where))
        else:
            raise wrong(where, f"{where} may hold parts of the types text and image_url.")
    return "\n\n".join(texts), tuple(pictures)


def _picture(url: Any, where: str) -> Picture:
    if not isinstance(url, str) or not (head := DATA_URL.match(url[:100])):
        raise ApiError(
            400,
            "OneClaw fetches nothing from the web: send images as data: URLs in base64.",
            param=where,
            code="invalid_image_url",
        )
    kind = head[1].lower()
    if kind not in PICTURES:
        raise wrong(where, "Images can be PNG, JPEG, WebP or GIF.")
    if len(url) > LONGEST_PICTURE * 4 // 3:
        raise wrong(where, f"An image can have at most {LONGEST_PICTURE // 2**20} MB.")
    try:
        return Picture(kind, base64.b64decode(url[head.end() :], validate=True))
    except (binascii.Error, ValueError):
        raise wrong(where, "This image is not valid base64.") from None


def _calls(value: Any, where: str) -> Iterator[ToolCall]:
    if value is None:
        return
    if not isinstance(value, list) or len(value) > MOST_TOOLS:
        raise wrong(where, f"{where} must be a list of calls.")
    for each in value:
        function = each.get("function") if isinstance(each, dict) else None
        if not isinstance(function, dict):
            raise wrong(where, f"{where} must hold calls of functions.")
        try:
            arguments = json.loads(function.get("arguments") or "{}")
        except (ValueError, RecursionError, TypeError):
            arguments = None
        if not isinstance(arguments, dict):
            raise wrong(where, "A call's arguments must be a JSON object in a text.")
        called, name = (plain_text(str(told or "")) for told in (each.get("id"), function.get("name")))
        yield ToolCall(called[:200], name[:100], plain(arguments))


def _tools(value: Any) -> Iterator[Tool]:
    if value is None:
        return
    if not isinstance(value, list) or len(value) > MOST_TOOLS:
        raise wrong("tools", f"tools must be a list of at most {MOST_TOOLS} tools.")
    for at, each in enumerate(value):
        function = each.get("function") if isinstance(each, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(function, dict) or not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
            raise wrong(f"tools[{at}]", f"tools[{at}] must be a function with a name.")
        schema = function.get("parameters") or {"type": "object", "properties": {}}
        if not isinstance(schema, dict):
            raise wrong(f"tools[{at}]", "A tool's parameters must be a JSON schema.")
        yield Tool(name, str(function.get("description") or ""), schema, run=_elsewhere)


def _tool_choice(value: Any, tools: tuple[Tool, ...]) -> ToolChoice:
    if value in (None, "auto", "none"):
        return ToolChoice("none" if value == "none" else "auto")
    name = ""
    if isinstance(value, dict) and value.get("type") == "function":
        function = value.get("function")
        name = str(function.get("name")) if isinstance(function, dict) else ""
        if name not in {tool.name for tool in tools}:
            raise wrong("tool_choice", "tool_choice must name one of the tools.")
    elif value != "required":
        raise wrong("tool_choice", 'tool_choice can be "auto", "none", "required" or a function by its name.')
    if not tools:
        raise wrong("tool_choice", "tool_choice asks for a call, but there are no tools.")
    return ToolChoice("required", name)


def _answer_format(value: Any) -> AnswerFormat | None:
    kind = value.get("type") if isinstance(value, dict) else value
    if kind is None or kind == "text":
        return None
    if kind == "json_object":
        return AnswerFormat()
    told = value.get("json_schema") if isinstance(value, dict) and kind == "json_schema" else None
    if not isinstance(told, dict):
        raise wrong(
            "response_format", "response_format can be of the types text, json_object and json_schema."
        )
    schema, name, strict = told.get("schema"), told.get("name"), told.get("strict")
    if not isinstance(schema, dict):
        raise wrong("response_format.json_schema.schema", "A format needs a JSON schema.")
    if not isinstance(name, str) or not FORMAT_NAME.fullmatch(name):
        raise wrong("response_format.json_schema.name", "A format needs a name of letters and digits.")
    if strict is not None and not isinstance(strict, bool):
        raise wrong("response_format.json_schema.strict", "strict must be true or false.")
    return AnswerFormat(schema, name, str(told.get("description") or ""), strict)


def _elsewhere(context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
    raise AssertionError("A client's tool runs at the client.")


def _text(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    if value is not None and not isinstance(value, str):
        raise wrong(name, f"{name} must be a text.")
    return plain_text(value or "")


def _number(value: Any, name: str, least: float, most: float) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise wrong(name, f"{name} must be a number from {least} to {most}.")
    return float(value)


def _whole(value: Any, name: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**31:
        raise wrong(name, f"{name} must be a positive whole number.")
    return value


def _sampling(data: dict[str, Any]) -> Sampling:
    seed, effort, parallel = (data.get(name) for name in ("seed", "reasoning_effort", "parallel_tool_calls"))
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or abs(seed) >= 2**63):
        raise wrong("seed", "seed must be a whole number.")
    if effort is not None and effort not in EFFORTS:
        raise wrong("reasoning_effort", f"reasoning_effort must be one of: {', '.join(EFFORTS)}.")
    if parallel is not None and not isinstance(parallel, bool):
        raise wrong("parallel_tool_calls", "parallel_tool_calls must be true or false.")
    return Sampling(
        _number(data.get("top_p"), "top_p", 0, 1),
        seed,
        _number(data.get("presence_penalty"), "presence_penalty", -2, 2),
        _number(data.get("frequency_penalty"), "frequency_penalty", -2, 2),
        effort,
        parallel,
    )


def _stop(value: Any) -> list[str]:
    words = [value] if isinstance(value, str) else value or []
    if not isinstance(words, list) or len(words) > 4 or not all(isinstance(word, str) for word in words):
        raise wrong("stop", "stop must be a text or up to four.")
    return [word for word in words if word]


def _mode(value: Any) -> Mode:
    if value is None:
        return "on"
    if value not in MODES:
        raise wrong("oneclaw.memory", 'oneclaw.memory must be "on", "read" or "off".')
    mode: Mode = value
    return mode


def _chat(value: Any) -> UUID | None:
    if value is None:
        return None
    try:
        return UUID(str(value))
    except ValueError:
        raise wrong("oneclaw.chat", "oneclaw.chat must be the id of a chat.") from None
