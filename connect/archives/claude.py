"""Claude's export: conversations in order, memories of the account and of projects, projects."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from chat.attachments.reading import MOST_LETTERS
from connect.archives.trees import (
    CALL,
    MOST_NODES,
    REPLY,
    RESULT,
    USER,
    chained,
    dated,
    laid_out,
    with_files,
)
from connect.archives.values import (
    MOST_RESULT,
    MOST_TITLE,
    ForeignAgent,
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

# The parent of a conversation's first message.
NOBODY = "00000000-0000-4000-8000-000000000000"
# Marks of a list item, and bold words.
ITEM = re.compile(r"(?:[-*•+]|\d{1,3}[.)])[ \t]+")
BOLD = re.compile(r"\*\*([^*]{1,1000})\*\*")
DEEPEST_RESULT = 4
DISPLAYED = "display_content"
MOST_PROMPT = 50_000
SPOKEN = ("text", "voice_note")


def chat(item: Mapping[str, Any], place: str) -> Item:
    title, key = title_of(item.get("name")), key_of(item.get("uuid"))
    messages = [mapping(each) for each in listed(item.get("chat_messages"))]
    if not key or not messages:
        return Skipped(title or place, "It has no messages or no id.")
    if len(messages) > MOST_NODES:
        return Skipped(title or place, f"It has more than {MOST_NODES:,} messages.")
    created = moment(item.get("created_at"))
    told = [
        (key_of(message.get("uuid")) or f"{key}:{number}", message) for number, message in enumerate(messages)
    ]
    nodes = chained((name, rows_of(name, message)) for name, message in told)
    if any("parent_message_uuid" in message for _, message in told):
        parents = {name: key_of(message.get("parent_message_uuid")) for name, message in told}
        nodes = [
            replace(node, parent="" if parents[node.key] == NOBODY else parents[node.key]) for node in nodes
        ]
    rows = dated(laid_out(nodes, key_of(item.get("current_leaf_message_uuid"))), created)
    if not rows:
        return Skipped(title or place, "Nothing in it can be shown.")
    return ForeignChat(
        Kind.CLAUDE,
        key,
        title,
        created or rows[0].at,
        rows,
        odd_date=odd_date(item.get("created_at")),
        odd_dates=odd_dates(
            [message.get("created_at")] for node, message in zip(nodes, messages, strict=True) if node.rows
        ),
    )


def rows_of(key: str, message: Mapping[str, Any]) -> tuple[Said, ...]:
    """A message's blocks: words, thoughts, calls of tools and what they gave."""
    at = moment(message.get("created_at"))
    files = tuple(_files(message))
    if message.get("sender") in ("human", "user"):
        text = "\n\n".join(filter(None, [words_of(message), *_quoted(message)]))
        return (Said(key, USER, text_of(text), at, files=files),) if text.strip() or files else ()
    blocks = [mapping(block) for block in listed(message.get("content"))]
    rows = list[Said]()
    for number, block in enumerate(blocks):
        name = f"{key}#{number}" if number else key
        if row := _row(name, block, at):
            rows += _shown(row)
    if not any(row.content for row in rows if row.type == REPLY) and (text := text_of(message.get("text"))):
        rows.append(Said(f"{key}#text" if rows else key, REPLY, text, at))
    return tuple(with_files(rows, key, files))


def _shown(row: Said) -> Iterator[Said]:
    """A row; what was written into an artifact stands before its call, as it was read there."""
    data = mapping(row.tool_data)
    if row.type == CALL and row.tool_name == "artifacts" and (text := text_of(data.get("content")).strip()):
        title, language = title_of(data.get("title")), key_of(data.get("language"))
        if data.get("type") != "text/markdown":
            fence = "`" * max(3, 1 + _longest_run(text))
            text = f"{fence}{language if language.isalnum() else ''}\n{text}\n{fence}"
        yield Said(f"{row.key}#artifact", REPLY, f"**{title}**\n\n{text}" if title else text, row.at)
        row = replace(row, tool_data={name: value for name, value in data.items() if name != "content"})
    yield row


def _row(key: str, block: Mapping[str, Any], at: datetime | None) -> Said | None:
    at = moment(block.get("start_timestamp")) or at
    kind = block.get("type")
    if kind in SPOKEN and (text := text_of(block.get("text"))).strip():
        return Said(key, REPLY, text, at)
    if kind == "thinking" and (text := text_of(block.get("thinking"))).strip():
        return Said(key, REPLY, at=at, thinking=text)
    if kind == "tool_use":
        name = key_of(block.get("name"))[:100] or "tool"
        given = block.get("input")
        data = given if isinstance(given, dict) else {"input": text_of(given)}
        if (shown := displayed(block.get("display_content"))) and not _is_among(shown, data):
            data = data | {DISPLAYED: shown}
        return Said(key, CALL, at=at, tool_name=name, tool_call_id=key_of(block.get("id")), tool_data=data)
    if kind == "tool_result":
        return Said(
            key,
            RESULT,
            text_of(_result(block.get("content")) or displayed(block.get("display_content")), MOST_RESULT),
            at,
            tool_name=key_of(block.get("name"))[:100],
            tool_call_id=key_of(block.get("tool_use_id")),
            error_code="error" if block.get("is_error") is True else "",
        )
    return None


def _result(content: object, depth: int = 0) -> str:
    """What a tool gave: text, pages with their addresses, files by name, and results within results."""
    if isinstance(content, str):
        return content
    if depth > DEEPEST_RESULT:
        return ""
    told = list[str]()
    for part in map(mapping, [content] if isinstance(content, dict) else listed(content)):
        values = (part.get(name) for name in ("title", "name", "url", "text"))
        told += [*map(text_of, values), _result(part.get("content"), depth + 1)]
    return "\n".join(filter(None, told))


def displayed(value: object) -> str:
    """What was shown for a call or a result: a text, code, a table, links. Mostly it repeats the rest."""
    shown = mapping(value)
    block = shown.get("json_block")
    held = unpacked(block) if isinstance(block, str) else shown
    code = text_of(mapping(held).get("code"), MOST_RESULT)
    rows = (" | ".join(map(_cell, listed(row))) for row in listed(shown.get("table")))
    links = (_link(mapping(each)) for each in [shown.get("link"), *listed(shown.get("content"))])
    told = [text_of(shown.get("text")), code or text_of(block), *rows, *links]
    return text_of("\n".join(filter(None, told)).strip(), MOST_RESULT)


def _cell(value: object) -> str:
    return text_of(as_json(value), MOST_TITLE)


def _link(link: Mapping[str, Any]) -> str:
    parts = [link.get("title"), link.get("url"), *listed(link.get("subtitles")), link.get("text")]
    return "\n".join(filter(None, map(text_of, parts)))


def _is_among(shown: str, given: Mapping[str, Any]) -> bool:
    """Whether what was shown stands in a call's arguments anyway."""
    return any(shown in text_of(value) for value in given.values() if isinstance(value, str))


def words_of(message: Mapping[str, Any]) -> str:
    """What a person wrote: the blocks of it, which `text` repeats."""
    blocks = (mapping(block) for block in listed(message.get("content")))
    texts = [text_of(block.get("text")) for block in blocks if block.get("type") in SPOKEN]
    return "\n\n".join(filter(None, texts)) or text_of(message.get("text"))


def _quoted(message: Mapping[str, Any]) -> Iterator[str]:
    """Text that was pasted or attached, which the export holds as text."""
    for each in listed(message.get("attachments")):
        text = text_of(mapping(each).get("extracted_content"), MOST_LETTERS).strip()
        if text:
            name = title_of(mapping(each).get("file_name")) or "Attached text"
            fence = "`" * max(3, 1 + _longest_run(text))
            yield f"**{name}**\n\n{fence}\n{text}\n{fence}"


def _longest_run(text: str) -> int:
    longest = run = 0
    for letter in text:
        run = run + 1 if letter == "`" else 0
        longest = max(longest, run)
    return longest


def _files(message: Mapping[str, Any]) -> Iterator[ForeignFile]:
    """Files are only named in the export, as are attachments that no text was read from."""
    unread = (
        each
        for each in listed(message.get("attachments"))
        if not text_of(mapping(each).get("extracted_content")).strip()
    )
    seen = set[str]()
    for each in [*listed(message.get("files")), *listed(message.get("files_v2")), *unread]:
        name = title_of(mapping(each).get("file_name"))
        key = key_of(mapping(each).get("file_uuid")) or name
        if name and key not in seen:
            seen.add(key)
            yield ForeignFile(name)


def memories(item: Mapping[str, Any], projects: Mapping[str, str]) -> Iterator[ForeignMemory]:
    """What Claude remembered of the account, and of each project."""
    day, odd = moment(item.get("updated_at")), odd_date(item.get("updated_at"))
    for line in sentences(text_of(item.get("conversations_memory"))):
        yield ForeignMemory(Kind.CLAUDE, line, day.date() if day else None, odd_date=odd)
    for key, text in mapping(item.get("project_memories")).items():
        name = projects.get(key, "")
        for line in sentences(text_of(text)):
            told = f"{name}: {line}" if name else line
            yield ForeignMemory(Kind.CLAUDE, told, day.date() if day else None, "projects", odd)


def project(item: Mapping[str, Any]) -> Iterator[Item]:
    """A project's description as something to know, its instructions as an agent; documents are left out."""
    name, told = title_of(item.get("name")), " ".join(text_of(item.get("description")).split())
    prompt = text_of(item.get("prompt_template")).strip()
    if item.get("is_starter_project") is True:
        return
    if name and prompt and len(prompt) <= MOST_PROMPT:
        yield ForeignAgent(Kind.CLAUDE, name[:100], told[:200], prompt)
    elif prompt:
        yield Skipped(name or "A project", "Its instructions are too long for an agent, or it has no name.")
    if name and told:
        dates = item.get("updated_at"), item.get("created_at")
        day = moment(dates[0]) or moment(dates[1])
        yield ForeignMemory(
            Kind.CLAUDE, f"{name}: {told}", day.date() if day else None, "projects", odd_date(*dates)
        )
    if docs := len(listed(item.get("docs"))):
        yield Skipped(name or "A project", f"Its {docs} documents are not chats or memories.")


def sentences(text: str) -> Iterator[str]:
    """Paragraphs and list items, each a memory in plain words; a heading by itself leads nowhere."""
    for line in text.splitlines():
        whole = line.strip()
        item = ITEM.match(whole)
        plain = BOLD.sub(r"\1", whole[item.end() :] if item else whole).strip()
        if plain and not (item is None and _is_heading(whole)):
            yield plain.strip("*").strip() if _is_wrapped(plain, "*") else plain


def _is_heading(line: str) -> bool:
    """Whether a line is a title: marked so, or one bold or slanted piece that is no sentence."""
    if line.startswith("#") or not line.strip("-_* "):
        return True
    mark = "**" if line.startswith("**") else "*"
    inner = line[len(mark) : -len(mark)]
    return _is_wrapped(line, mark) and not inner.rstrip().endswith((".", "!", "?")) and ": " not in inner


def _is_wrapped(line: str, mark: str) -> bool:
    return (
        len(line) > 2 * len(mark)
        and line.startswith(mark)
        and line.endswith(mark)
        and "*" not in (line[len(mark) : -len(mark)])
    )


def names_of(item: Mapping[str, Any]) -> tuple[str, str]:
    return key_of(item.get("uuid")), title_of(item.get("name"))
