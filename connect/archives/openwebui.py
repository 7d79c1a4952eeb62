"""Open WebUI's exports: chats as trees, reasoning and tool output inside the text, and memories."""

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from connect.archives.sources import embedded
from connect.archives.trees import (
    CALL,
    MOST_NODES,
    REPLY,
    RESULT,
    USER,
    Node,
    chained,
    dated,
    laid_out,
    with_files,
)
from connect.archives.values import (
    MOST_RESULT,
    ForeignChat,
    ForeignFile,
    ForeignMemory,
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

# It keeps what a model thought and what tools gave as folded blocks in the text of the reply.
OPENING = re.compile(r'<details type="(reasoning|tool_calls|code_interpreter)"')
CLOSING = "</details>"
ATTRIBUTE = re.compile(r'(?<!\w)(\w{1,40})="([^"]*)"')
SUMMARY = re.compile(r"<summary>[^<]{0,500}</summary>")
QUOTED = re.compile(r"^> ?", re.MULTILINE)
# A picture written into the text, and how far before it its name may begin.
PICTURE, LONGEST_NAME = "](data:image/", 300
SUFFIXES = {"jpeg": "jpg", "svg+xml": "svg"}
TEXTS = (".txt", ".md", ".csv", ".json", ".html", ".xml", ".py", ".js", ".yaml", ".yml", ".log")
FENCE, CODE = "```", "code_interpreter"


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
        odd_date=odd_date(item.get("created_at"), inner.get("timestamp")),
        odd_dates=odd_dates(
            [message.get("timestamp")]
            for node, message in zip(nodes, messages.values() or flat, strict=True)
            if node.rows
        ),
    )


def rows_of(key: str, message: Mapping[str, Any]) -> tuple[Said, ...]:
    at, role = moment(message.get("timestamp")), message.get("role")
    text, within = _words(message.get("content"))
    files = (*_files(message.get("files")), *within)
    if role == "user":
        return (Said(key, USER, text, at, files=files),) if text.strip() or files else ()
    if role != "assistant":
        return ()
    model = key_of(message.get("model"))
    rows = list(put_out(key, listed(message.get("output")), at, model))
    if not any(row.type == REPLY and row.content for row in rows):
        rows = list(blocks(key, text, at, model)) or rows
    rows = with_files(rows, key, files)
    rows += _merged(key, message.get("merged"), at)
    if not rows and (problem := _problem(message.get("error"))):
        rows.append(Said(key, REPLY, at=at, content=f"*The model failed: {problem}*", model=model))
    return tuple(rows)


def _merged(key: str, value: object, at: datetime | None) -> Iterator[Said]:
    """One answer made of several models' answers, which stood below them and was gone on with."""
    merged = mapping(value)
    if text := text_of(merged.get("content")).strip():
        when = moment(merged.get("timestamp")) or at
        yield Said(f"{key}#merged", REPLY, f"**Merged response**\n\n{text}", when)


def _problem(error: object) -> str:
    told = mapping(error)
    return text_of(told.get("content") or told.get("message") or error, 500).strip()


def _words(content: object) -> tuple[str, list[ForeignFile]]:
    """A message's text, and the pictures that stand in it."""
    if isinstance(content, str):
        return pictured(content)
    parts = [mapping(part) for part in listed(content)]
    texts = (text_of(part.get("text")) for part in parts)
    pictures = (mapping(part.get("image_url")).get("url") for part in parts)
    files = [_picture(address) for address in pictures if isinstance(address, str)]
    return text_of("\n\n".join(filter(None, texts))), files


def pictured(content: str) -> tuple[str, list[ForeignFile]]:
    """A text without the pictures that are written into it, of which their names stay, and these."""
    words, files, start = list[str](), list[ForeignFile](), 0
    while (at := content.find(PICTURE, start)) >= 0:
        end = content.find(")", at)
        if end < 0:
            break
        before = content[start:at]
        opening = before.rfind("![", -LONGEST_NAME)
        if opening >= 0:
            name = title_of(before[opening + 2 :])
            files.append(_picture(content[at + 2 : end], name))
            before = before[:opening] + name
        else:
            before = content[start:end]
        words.append(before)
        start = end + (opening >= 0)
    return text_of("".join([*words, content[start:]])), files


def _picture(address: str, name: str = "") -> ForeignFile:
    """A picture by its address: held if it is written out there, else only named."""
    if not address.startswith("data:"):
        return ForeignFile(name or title_of(address.rsplit("/", 1)[-1])[-80:] or "image")
    kind = address[5:60].partition(";")[0].rpartition("/")[2]
    suffix = SUFFIXES.get(kind, kind if kind.isalnum() else "")
    return ForeignFile(f"{name or 'image'}.{suffix}".rstrip("."), address)


def put_out(key: str, output: Sequence[object], at: datetime | None, model: str) -> Iterator[Said]:
    """The reply as newer versions list it; the text repeats it for people to read."""
    number = 0

    def name() -> str:
        nonlocal number
        number += 1
        return key if number == 1 else f"{key}#{number}"

    for item in map(mapping, output):
        kind, call = item.get("type"), key_of(item.get("call_id")) or key_of(item.get("id"))
        if kind == "message" and (text := _parts(item.get("content"))).strip():
            yield Said(name(), REPLY, text, at, model=model)
        elif kind == "reasoning":
            if (text := _parts(item.get("content")) or _parts(item.get("summary"))).strip():
                yield Said(name(), REPLY, at=at, thinking=text, model=model)
        elif kind == "function_call":
            tool = key_of(item.get("name"))[:100] or "tool"
            data = _arguments(item.get("arguments"))
            yield Said(name(), CALL, at=at, tool_name=tool, tool_call_id=call, tool_data=data)
        elif kind == "function_call_output":
            files = tuple(_files(item.get("files")))
            told = text_of(_parts(item.get("output")), MOST_RESULT)
            yield Said(name(), RESULT, told, at, tool_call_id=call, files=files)
        elif kind == "open_webui:code_interpreter":
            yield from _ran(name, text_of(item.get("code")), item.get("output"), at)


def _parts(value: object) -> str:
    """Text, or the texts of a list of parts."""
    if isinstance(value, str):
        return text_of(value)
    if not isinstance(value, list):
        return text_of(as_json(value))
    return text_of("\n".join(filter(None, (text_of(mapping(part).get("text")) for part in value))))


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
        # Attributes are escaped: the next of these ends them.
        head = text.find(">", opening.end())
        end = text.find(CLOSING, head) if head >= 0 else -1
        if end < 0:
            break
        if words := text[start : opening.start()].strip():
            yield Said(name(), REPLY, words, at, model=model)
        inner = SUMMARY.sub("", text[head + 1 : end], count=1).strip()
        found = {key: html.unescape(value) for key, value in ATTRIBUTE.findall(text[opening.end() : head])}
        start = end + len(CLOSING)
        if opening[1] == "reasoning":
            thinking = QUOTED.sub("", html.unescape(inner))
            yield Said(name(), REPLY, at=at, thinking=thinking, model=model)
        elif opening[1] == "tool_calls":
            yield from _called(name, found, inner, at)
        else:
            output = unpacked(found["output"]) if "output" in found else None
            yield from _ran(name, inner, output, at)
    if words := text[start:].strip():
        yield Said(name(), REPLY, words, at, model=model)


def _called(
    name: Callable[[], str], found: Mapping[str, str], inner: str, at: datetime | None
) -> Iterator[Said]:
    """A call; what it gave is an attribute in older versions, and what the block holds in newer ones."""
    tool, call = found.get("name", "")[:100] or "tool", found.get("id", "")[:200]
    data = _arguments(found.get("arguments", ""))
    yield Said(name(), CALL, at=at, tool_name=tool, tool_call_id=call, tool_data=data)
    if found.get("done") == "true":
        told = as_json(_unquoted(found.get("result") or html.unescape(inner)))
        files = tuple(_files(_unquoted(found.get("files", ""))))
        result = text_of(told, MOST_RESULT)
        yield Said(name(), RESULT, result, at, tool_name=tool, tool_call_id=call, files=files)


def _ran(name: Callable[[], str], code: str, output: object, at: datetime | None) -> Iterator[Said]:
    """Code that was run, and what it printed."""
    lines = code.strip().splitlines()
    if len(lines) > 1 and lines[0].startswith(FENCE) and lines[-1].strip() == FENCE:
        lines = lines[1:-1]
    yield Said(name(), CALL, at=at, tool_name=CODE, tool_data={"input": "\n".join(lines)})
    if output is not None:
        told = mapping(output)
        said = [as_json(told.get(each)).strip() for each in ("stdout", "stderr", "result")]
        text = "\n".join(filter(None, said)) if told else as_json(output)
        yield Said(name(), RESULT, text_of(text, MOST_RESULT), at, tool_name=CODE)


def _arguments(given: object) -> dict[str, Any]:
    value = _unquoted(given) if isinstance(given, str) else given
    return value if isinstance(value, dict) else {"input": as_json(value)}


def _unquoted(text: str) -> Any:
    """JSON that was put into an attribute, often as a string within a string."""
    value = unpacked(text)
    return unpacked(value) if isinstance(value, str) else value


def _files(files: object) -> Iterator[ForeignFile]:
    """A message's files: pictures written out, text that was read from a document, else only a name."""
    for each in listed(files):
        file, inner = mapping(each), mapping(mapping(each).get("file"))
        name = title_of(file.get("name")) or title_of(inner.get("filename"))
        address = file.get("url")
        content = text_of(mapping(inner.get("data")).get("content"))
        if isinstance(address, str) and address.startswith("data:"):
            found = _picture(address)
            yield replace(found, name=name or found.name)
        elif name and content.strip():
            yield ForeignFile(name if name.casefold().endswith(TEXTS) else f"{name}.txt", embedded(content))
        elif name or file.get("type") == "image":
            yield ForeignFile(name or "image")


def memory(item: Mapping[str, Any], kind: str = Kind.OPEN_WEBUI) -> ForeignMemory | None:
    """A saved memory: its text and when it was last changed."""
    values = (item.get(name) for name in ("content", "text", "memory", "value"))
    text = next((told for told in map(text_of, values) if told.strip()), "")
    dates = item.get("updated_at"), item.get("created_at")
    when = moment(dates[0]) or moment(dates[1])
    if not text:
        return None
    return ForeignMemory(kind, text.strip(), when.date() if when else None, odd_date=odd_date(*dates))
