"""Open WebUI's exports: chats as trees, reasoning and tool output inside the text, and memories."""

import html
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from connect.archives.trees import CALL, MOST_NODES, REPLY, RESULT, USER, Node, chained, dated, laid_out
from connect.archives.values import (
    MOST_RESULT,
    ForeignChat,
    ForeignFile,
    ForeignMemory,
    Item,
    Kind,
    Said,
    Skipped,
    key_of,
    listed,
    mapping,
    moment,
    text_of,
    title_of,
)

# It keeps what a model thought and what tools gave as folded blocks in the text of the reply.
OPENING = re.compile(r'<details type="(reasoning|tool_calls|code_interpreter)"([^<>]{0,200000})>')
CLOSING = "</details>"
ATTRIBUTE = re.compile(r'(\w{1,40})="([^"]{0,200000})"')
SUMMARY = re.compile(r"<summary>[^<]{0,500}</summary>")
QUOTED = re.compile(r"^> ?", re.MULTILINE)


def chat(item: Mapping[str, Any], place: str) -> Item:
    inner = mapping(item.get("chat")) or item
    title = title_of(item.get("title")) or title_of(inner.get("title"))
    key = key_of(item.get("id")) or key_of(inner.get("id"))
    history = mapping(inner.get("history"))
    messages = {key_of(name): mapping(each) for name, each in mapping(history.get("messages")).items()}
    flat = [mapping(each) for each in listed(inner.get("messages"))]
    if not key or not (messages or flat):
        return Skipped(title or place, "It has no messages or no id.")
    if max(len(messages), len(flat)) > MOST_NODES:
        return Skipped(title or place, f"It has more than {MOST_NODES:,} messages.")
    created = moment(item.get("created_at")) or moment(inner.get("timestamp"))
    if messages:
        nodes = [
            Node(name, key_of(each.get("parentId")), rows_of(name, each)) for name, each in messages.items()
        ]
    else:
        named = ((key_of(each.get("id")) or f"{key}:{number}", each) for number, each in enumerate(flat))
        nodes = chained((name, rows_of(name, each)) for name, each in named)
    rows = dated(laid_out(nodes, key_of(history.get("currentId"))), created)
    if not rows:
        return Skipped(title or place, "Nothing in it can be shown.")
    return ForeignChat(
        Kind.OPEN_WEBUI,
        key,
        title,
        created or rows[0].at,
        rows,
        archived=item.get("archived") is True,
        pinned=item.get("pinned") is True,
    )


def rows_of(key: str, message: Mapping[str, Any]) -> tuple[Said, ...]:
    at, role = moment(message.get("timestamp")), message.get("role")
    text = _words(message.get("content"))
    files = tuple(_files(message))[:50]
    if role == "user":
        return (Said(key, USER, text, at, files=files),) if text.strip() or files else ()
    if role != "assistant":
        return ()
    model = key_of(message.get("model"))
    rows = list(blocks(key, text, at, model))
    error = mapping(message.get("error")).get("content")
    if not rows and isinstance(error, str) and error.strip():
        rows.append(
            Said(key, REPLY, at=at, content=f"*The model failed: {text_of(error, 500)}*", model=model)
        )
    return tuple(rows)


def _words(content: object) -> str:
    if isinstance(content, str):
        return text_of(content)
    parts = (mapping(part) for part in listed(content))
    return text_of("\n\n".join(filter(None, (text_of(part.get("text")) for part in parts))))


def blocks(key: str, text: str, at: datetime | None, model: str) -> Iterator[Said]:
    """The reply in the order in which it was made: words, thoughts, calls with their results."""
    number, start = 0, 0

    def name() -> str:
        nonlocal number
        number += 1
        return key if number == 1 else f"{key}#{number}"

    for opening in OPENING.finditer(text):
        if opening.start() < start:
            continue
        end = text.find(CLOSING, opening.end())
        if end < 0:
            break
        if words := text[start : opening.start()].strip():
            yield Said(name(), REPLY, words, at, model=model)
        inner = SUMMARY.sub("", text[opening.end() : end], count=1).strip()
        start = end + len(CLOSING)
        if opening[1] == "reasoning":
            thinking = QUOTED.sub("", html.unescape(inner))
            yield Said(name(), REPLY, at=at, thinking=thinking, model=model)
        elif opening[1] == "tool_calls":
            yield from _called(name, opening[2], at)
        else:
            yield Said(name(), CALL, at=at, tool_name="code_interpreter", tool_data={"input": inner})
    if words := text[start:].strip():
        yield Said(name(), REPLY, words, at, model=model)


def _called(name: Any, attributes: str, at: datetime | None) -> Iterator[Said]:
    found = {key: html.unescape(value) for key, value in ATTRIBUTE.findall(attributes)}
    tool, call = found.get("name", "")[:100] or "tool", found.get("id", "")[:200]
    arguments = _unquoted(found.get("arguments", ""))
    data = arguments if isinstance(arguments, dict) else {"input": str(arguments)}
    yield Said(name(), CALL, at=at, tool_name=tool, tool_call_id=call, tool_data=data)
    if found.get("done") == "true":
        result = _unquoted(found.get("result", ""))
        told = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        yield Said(name(), RESULT, text_of(told, MOST_RESULT), at, tool_name=tool, tool_call_id=call)


def _unquoted(text: str) -> Any:
    """JSON that was put into an attribute, often as a string within a string."""
    value: Any = text
    for _ in range(2):
        if not isinstance(value, str):
            break
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            break
    return value


def _files(message: Mapping[str, Any]) -> Iterator[ForeignFile]:
    for each in listed(message.get("files")):
        file = mapping(each)
        name = title_of(file.get("name")) or title_of(mapping(file.get("file")).get("filename"))
        if name or file.get("type") == "image":
            yield ForeignFile(name or "image")


def memory(item: Mapping[str, Any], kind: str = Kind.OPEN_WEBUI) -> ForeignMemory | None:
    """A saved memory: its text and when it was last changed."""
    values = (item.get(name) for name in ("content", "text", "memory", "value"))
    text = next((told for told in map(text_of, values) if told.strip()), "")
    when = moment(item.get("updated_at")) or moment(item.get("created_at"))
    return ForeignMemory(kind, text.strip(), when.date() if when else None) if text else None
