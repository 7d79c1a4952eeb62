"""Claude's export: conversations in order, memories of the account and of projects, projects."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from connect.archives.trees import CALL, MOST_NODES, REPLY, RESULT, USER, chained, dated, laid_out
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

# The parent of a conversation's first message.
NOBODY = "00000000-0000-4000-8000-000000000000"
MOST_QUOTED = 20_000  # characters of an attachment's text


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
    return ForeignChat(Kind.CLAUDE, key, title, created or rows[0].at, rows)


def rows_of(key: str, message: Mapping[str, Any]) -> tuple[Said, ...]:
    """A message's blocks: words, thoughts, calls of tools and what they gave."""
    at = moment(message.get("created_at"))
    files = tuple(_files(message))[:50]
    if message.get("sender") in ("human", "user"):
        text = "\n\n".join(filter(None, [words_of(message), *_quoted(message)]))
        return (Said(key, USER, text_of(text), at, files=files),) if text.strip() or files else ()
    blocks = [mapping(block) for block in listed(message.get("content"))]
    rows = list[Said]()
    for number, block in enumerate(blocks):
        if row := _row(f"{key}#{number}" if number else key, block, at):
            rows.append(row)
    if not any(row.content for row in rows if row.type == REPLY) and (text := text_of(message.get("text"))):
        rows.append(Said(f"{key}#text" if rows else key, REPLY, text, at))
    return tuple(rows)


def _row(key: str, block: Mapping[str, Any], at: datetime | None) -> Said | None:
    at = moment(block.get("start_timestamp")) or at
    kind = block.get("type")
    if kind == "text" and (text := text_of(block.get("text"))).strip():
        return Said(key, REPLY, text, at)
    if kind == "thinking" and (text := text_of(block.get("thinking"))).strip():
        return Said(key, REPLY, at=at, thinking=text)
    if kind == "tool_use":
        name = key_of(block.get("name"))[:100] or "tool"
        given = block.get("input")
        data = given if isinstance(given, dict) else {"input": text_of(given)}
        return Said(key, CALL, at=at, tool_name=name, tool_call_id=key_of(block.get("id")), tool_data=data)
    if kind == "tool_result":
        return Said(
            key,
            RESULT,
            text_of(_result(block.get("content")), MOST_RESULT),
            at,
            tool_name=key_of(block.get("name"))[:100],
            tool_call_id=key_of(block.get("tool_use_id")),
            error_code="error" if block.get("is_error") is True else "",
        )
    return None


def _result(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = (mapping(part) for part in listed(content))
    told = (
        text_of(part.get("text")) or text_of(part.get("title")) or text_of(part.get("url")) for part in parts
    )
    return "\n".join(filter(None, told))


def words_of(message: Mapping[str, Any]) -> str:
    """What a person wrote: the blocks of it, which `text` repeats."""
    blocks = (mapping(block) for block in listed(message.get("content")))
    texts = [text_of(block.get("text")) for block in blocks if block.get("type") == "text"]
    return "\n\n".join(filter(None, texts)) or text_of(message.get("text"))


def _quoted(message: Mapping[str, Any]) -> Iterator[str]:
    """Text that was pasted or attached, which the export holds as text."""
    for each in listed(message.get("attachments")):
        text = text_of(mapping(each).get("extracted_content"), MOST_QUOTED).strip()
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
    """Files are only named in the export."""
    for each in [*listed(message.get("files")), *listed(message.get("files_v2"))]:
        if name := title_of(mapping(each).get("file_name")):
            yield ForeignFile(name)


def memories(item: Mapping[str, Any], projects: Mapping[str, str]) -> Iterator[ForeignMemory]:
    """What Claude remembered of the account, and of each project."""
    day = moment(item.get("updated_at"))
    for line in sentences(text_of(item.get("conversations_memory"))):
        yield ForeignMemory(Kind.CLAUDE, line, day.date() if day else None)
    for key, text in mapping(item.get("project_memories")).items():
        name = projects.get(key, "")
        for line in sentences(text_of(text)):
            told = f"{name}: {line}" if name else line
            yield ForeignMemory(Kind.CLAUDE, told, day.date() if day else None, "projects")


def project(item: Mapping[str, Any]) -> Iterator[Item]:
    """A project's description as something to know; its documents are named as left out."""
    name = title_of(item.get("name"))
    if name and (told := " ".join(text_of(item.get("description"), 2_000).split())):
        day = moment(item.get("updated_at")) or moment(item.get("created_at"))
        yield ForeignMemory(Kind.CLAUDE, f"{name}: {told}", day.date() if day else None, "projects")
    if docs := len(listed(item.get("docs"))):
        yield Skipped(name or "A project", f"Its {docs} documents are not chats or memories.")


def sentences(text: str) -> Iterator[str]:
    """Paragraphs and list items, each a memory; lines that are nothing but a heading lead nowhere."""
    for line in text.splitlines()[:2_000]:
        plain = line.strip().lstrip("-*•").strip()
        if plain.startswith("#") or (line.strip().startswith("**") and line.strip().endswith("**")):
            continue
        if plain:
            yield plain


def names_of(item: Mapping[str, Any]) -> tuple[str, str]:
    return key_of(item.get("uuid")), title_of(item.get("name"))
