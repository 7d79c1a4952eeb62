"""LibreChat's export of a conversation: its messages in a list or as a tree of children."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from connect.archives.trees import CALL, MOST_NODES, REPLY, RESULT, USER, Node, dated, laid_out, with_files
from connect.archives.values import (
    MOST_RESULT,
    ForeignChat,
    ForeignFile,
    Item,
    Kind,
    Said,
    Skipped,
    as_json,
    key_of,
    listed,
    mapping,
    moment,
    odd_date,
    odd_dates,
    text_of,
    title_of,
    unpacked,
)

# The parent of a conversation's first message.
NOBODY = "00000000-0000-0000-0000-000000000000"
THINKING = ":::thinking\n"


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
    # No leaf is named: of several answers LibreChat shows the last.
    rows = dated(laid_out(nodes), first or created)
    if not rows:
        return Skipped(title or place, "Nothing in it can be shown.")
    return ForeignChat(
        Kind.LIBRECHAT,
        key,
        title,
        first or created or rows[0].at,
        rows,
        odd_date=odd_date(item.get("createdAt")),
        odd_dates=odd_dates(
            _dates(message) for node, (_, _, message) in zip(nodes, messages, strict=True) if node.rows
        ),
    )


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
    at = next(filter(None, map(moment, _dates(message))), None)
    files = tuple(_files(message))
    if message.get("isCreatedByUser") is True or message.get("sender") == "User":
        text = text_of(message.get("text")) or _words(message)
        return (Said(key, USER, text, at, files=files),) if text.strip() or files else ()
    model = key_of(message.get("model"))
    rows = list[Said]()
    for number, part in enumerate(listed(message.get("content"))):
        rows += _part(f"{key}#{number}" if number else key, mapping(part), model)
    if not rows and (text := text_of(message.get("text"))).strip():
        rows.append(_plain(key, text, message.get("error") is True, model))
    return tuple(replace(row, at=at) for row in with_files(rows, key, files))


def _dates(message: Mapping[str, Any]) -> tuple[object, object]:
    return message.get("createdAt"), message.get("updatedAt")


def _plain(key: str, text: str, failed: bool, model: str) -> Said:
    """A reply that is one text, which older versions begin with the model's thoughts."""
    if failed:
        return Said(key, REPLY, f"*The model failed: {text_of(text, 500)}*", model=model)
    thinking = ""
    if text.startswith(THINKING) and "\n:::" in text:
        thinking, _, text = text.removeprefix(THINKING).partition("\n:::")
    return Said(key, REPLY, text.strip(), thinking=thinking.strip(), model=model)


def _files(message: Mapping[str, Any]) -> Iterator[ForeignFile]:
    """Files are only named in the export: beside the message, or as parts of it."""
    parts = [mapping(part) for part in listed(message.get("content"))]
    held = [part.get("image_file") for part in parts if part.get("type") == "image_file"]
    for each in [*held, *listed(message.get("files")), *listed(message.get("attachments"))]:
        file = mapping(each)
        if name := title_of(file.get("filename")) or title_of(file.get("file_id")):
            yield ForeignFile(name)


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
        yield from _called(key, mapping(part.get("tool_call")))


def _called(key: str, call: Mapping[str, Any]) -> Iterator[Said]:
    """A call as agents make it, or as assistants do: a function or code, each in an object of its own."""
    called, function, code = key_of(call.get("id")), mapping(call.get("function")), None
    name, given, output = call.get("name"), call.get("args"), call.get("output")
    if function:
        name, given, output = function.get("name"), function.get("arguments"), function.get("output")
    elif "code_interpreter" in call:
        code = mapping(call.get("code_interpreter"))
        name, given = "code_interpreter", code.get("input")
        logs = (text_of(mapping(each).get("logs")).strip() for each in listed(code.get("outputs")))
        output = "\n".join(filter(None, logs))
    if isinstance(given, str) and code is None:
        given = unpacked(given)
    tool = key_of(name)[:100] or key_of(call.get("type"))[:100] or "tool"
    data = given if isinstance(given, dict) else {"input": text_of(given)}
    yield Said(f"{key}#call", CALL, tool_name=tool, tool_call_id=called, tool_data=data)
    if output is not None or call.get("progress") == 1:
        told = output if isinstance(output, str) else as_json(output)
        yield Said(f"{key}#result", RESULT, text_of(told, MOST_RESULT), tool_name=tool, tool_call_id=called)
