"""LibreChat's export of a conversation: its messages in a list or as a tree of children."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from connect.archives.trees import CALL, MOST_NODES, REPLY, RESULT, USER, Node, dated, laid_out
from connect.archives.values import (
    MOST_RESULT,
    ForeignChat,
    ForeignFile,
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

# The parent of a conversation's first message.
NOBODY = "00000000-0000-0000-0000-000000000000"


def chat(item: Mapping[str, Any], place: str) -> Item:
    title, key = title_of(item.get("title")), key_of(item.get("conversationId"))
    try:
        messages = list(_flat(item))
    except OverflowError:
        return Skipped(title or place, f"It has more than {MOST_NODES:,} messages.")
    if not key or not messages:
        return Skipped(title or place, "It has no messages or no id.")
    created = moment(item.get("createdAt")) or moment(item.get("exportAt"))
    known = {name for name, _, _ in messages}
    linear = all(parent not in known for _, parent, _ in messages)
    nodes, before = list[Node](), ""
    for name, parent, message in messages:
        above = before if linear else "" if parent == NOBODY else parent
        nodes.append(Node(name, above, rows_of(name, message)))
        before = name
    first = next((when for _, _, message in messages if (when := moment(message.get("createdAt")))), None)
    rows = dated(laid_out(nodes, messages[-1][0]), first or created)
    if not rows:
        return Skipped(title or place, "Nothing in it can be shown.")
    return ForeignChat(Kind.LIBRECHAT, key, title, first or created or rows[0].at, rows)


def _flat(item: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Every message with its name and its parent's, those within others too."""
    trees = listed(item.get("messagesTree")) or listed(item.get("messages"))
    waiting = [(mapping(each), "") for each in reversed(trees)]
    count = 0
    while waiting:
        message, above = waiting.pop()
        count += 1
        if count > MOST_NODES:
            raise OverflowError
        name = key_of(message.get("messageId")) or f"{key_of(item.get('conversationId'))}:{count}"
        parent = key_of(message.get("parentMessageId")) or above
        yield name, parent, message
        waiting += [(mapping(child), name) for child in reversed(listed(message.get("children")))]


def rows_of(key: str, message: Mapping[str, Any]) -> tuple[Said, ...]:
    at = moment(message.get("createdAt")) or moment(message.get("updatedAt"))
    files = tuple(
        ForeignFile(name)
        for each in listed(message.get("files"))[:50]
        if (name := title_of(mapping(each).get("filename")))
    )
    if message.get("isCreatedByUser") is True or message.get("sender") == "User":
        text = text_of(message.get("text")) or _words(message)
        return (Said(key, USER, text, at, files=files),) if text.strip() or files else ()
    model = key_of(message.get("model"))
    rows = list[Said]()
    for number, part in enumerate(listed(message.get("content"))):
        rows += _part(f"{key}#{number}" if number else key, mapping(part), model)
    if not rows and (text := text_of(message.get("text"))).strip():
        rows.append(Said(key, REPLY, text, model=model))
    return tuple(replace(row, at=at) for row in rows)


def _words(message: Mapping[str, Any]) -> str:
    parts = (mapping(part) for part in listed(message.get("content")))
    return "\n\n".join(filter(None, (_text(part.get("text")) for part in parts)))


def _text(value: object) -> str:
    """A text, or what LibreChat wraps one in."""
    return text_of(value) or text_of(mapping(value).get("value"))


def _part(key: str, part: Mapping[str, Any], model: str) -> Iterator[Said]:
    kind = part.get("type")
    if kind == "text" and (text := _text(part.get("text"))).strip():
        yield Said(key, REPLY, text, model=model)
    elif kind == "think" and (text := _text(part.get("think"))).strip():
        yield Said(key, REPLY, thinking=text, model=model)
    elif kind == "error" and (text := _text(part.get("error"))).strip():
        yield Said(key, REPLY, f"*The model failed: {text_of(text, 500)}*", model=model)
    elif kind == "tool_call":
        call = mapping(part.get("tool_call"))
        given = call.get("args")
        with suppress(ValueError, RecursionError):
            given = json.loads(given) if isinstance(given, str) and given else given
        name = key_of(call.get("name"))[:100] or "tool"
        data = given if isinstance(given, dict) else {"input": text_of(given)}
        yield Said(f"{key}#call", CALL, tool_name=name, tool_call_id=key_of(call.get("id")), tool_data=data)
        if output := text_of(call.get("output"), MOST_RESULT):
            called = key_of(call.get("id"))
            yield Said(f"{key}#result", RESULT, output, tool_name=name, tool_call_id=called)
