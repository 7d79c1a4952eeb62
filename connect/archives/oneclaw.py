"""OneClaw's own archive: chats with every row as it was, MEMORY.md with dates, logs, what was forgotten."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from typing import Any, BinaryIO

from chat.models import Message
from connect.archives.trees import MOST_NODES, dated
from connect.archives.values import (
    ForeignAgent,
    ForeignChat,
    ForeignFile,
    ForgottenTraces,
    Item,
    Kind,
    PastChange,
    Said,
    Skipped,
    key_of,
    listed,
    mapping,
    moment,
    odd_date,
    odd_dates,
    real_day,
    text_of,
    title_of,
)

FORMAT, CHAT_FORMAT = "oneclaw-archive", "oneclaw-chat"
VERSION = 1
TYPES = frozenset(Message.Type.values)
MOST_AGENTS, MOST_PROMPT = 200, 50_000
# Columns that travel as they are, each with what it must be.
FLAGS = ("off_record", "untrusted")
COUNTS = ("input_tokens", "output_tokens")


def chat(item: Mapping[str, Any], place: str) -> Item:
    title, key = title_of(item.get("title")), key_of(item.get("id"))
    messages = [mapping(each) for each in listed(item.get("messages"))]
    if not key or not messages:
        return Skipped(title or place, "It has no messages or no id.")
    if len(messages) > MOST_NODES:
        return Skipped(title or place, f"It has more than {MOST_NODES:,} messages.")
    created = moment(item.get("created_at"))
    rows = placed([row for message in messages if (row := row_of(message))])
    if not rows:
        return Skipped(title or place, "Nothing in it can be shown.")
    own = {
        "memory_mode": item.get("memory_mode"),
        "title_by": item.get("title_by"),
        "agent": title_of(item.get("agent")),
        "last_logged": key_of(item.get("last_logged_message")),
        "summary": text_of(item.get("summary")),
        "summary_until": key_of(item.get("summary_until")),
    }
    return ForeignChat(
        Kind.ONECLAW,
        key,
        title,
        created,
        dated(rows, created),
        archived=moment(item.get("archived_at")) is not None,
        pinned=item.get("pinned") is True,
        own=own,
        odd_date=odd_date(item.get("created_at")),
        odd_dates=odd_dates([message.get("created_at")] for message in messages if row_of(message)),
    )


def row_of(message: Mapping[str, Any]) -> Said | None:
    key, kind = key_of(message.get("id")), message.get("type")
    if not key or kind not in TYPES:
        return None
    own = {name: message.get(name) is True for name in FLAGS}
    counts = {name: message.get(name) for name in COUNTS}
    shelf = key_of(message.get("shelf"))
    if not shelf and message.get("on_page") is False:
        # The export of a single chat does not say with which version a row was set aside.
        shelf = key_of(message.get("version_of")) or key
    return Said(
        key,
        str(kind),
        text_of(message.get("content")),
        moment(message.get("created_at")),
        thinking=text_of(message.get("thinking")),
        tool_name=key_of(message.get("tool_name"))[:100],
        tool_call_id=key_of(message.get("tool_call_id")),
        tool_data=message.get("tool_data"),
        error_code=key_of(message.get("error_code"))[:40],
        model=key_of(message.get("model")),
        files=tuple(
            ForeignFile(title_of(each.get("name")), key_of(each.get("file")), key_of(each.get("media_type")))
            for each in map(mapping, listed(message.get("attachments"))[:50])
        ),
        version_of=key_of(message.get("version_of")),
        shelf=shelf,
        reply=key_of(message.get("reply")),
        prompt=key_of(message.get("prompt")),
        own={
            **own,
            **{name: count for name, count in counts.items() if type(count) is int and 0 <= count < 2**31},
            "silenced_at": moment(message.get("silenced_at")),
            "receipt": message.get("receipt") if isinstance(message.get("receipt"), dict) else None,
        },
    )


def placed(rows: list[Said]) -> list[Said]:
    """Rows whose names of others all mean rows that are there."""
    there = {row.key for row in rows}

    def known(name: str) -> str:
        return name if name in there else ""

    return [
        replace(
            row,
            version_of=known(row.version_of),
            shelf=known(row.shelf) or (row.key if row.shelf else ""),
            prompt=known(row.prompt),
        )
        for row in rows
    ]


def forgotten(item: Mapping[str, Any]) -> ForgottenTraces | None:
    """What keeps things forgotten: hashes of words with their key, and meanings as numbers."""
    key = item.get("key")
    traces = [mapping(each) for each in listed(item.get("traces"))][:10_000]
    whole = [
        {
            "terms": [key_of(term) for term in listed(trace.get("terms"))[:2_000]],
            **(
                {"vector": trace["vector"], "model": key_of(trace.get("model"))}
                if isinstance(trace.get("vector"), str) and len(trace["vector"]) < 20_000
                else {}
            ),
        }
        for trace in traces
        if listed(trace.get("terms"))
    ]
    if not isinstance(key, str) or len(key) != 64 or not whole:
        return None
    return ForgottenTraces(key, tuple(whole))


def change(item: Mapping[str, Any]) -> PastChange | None:
    """One line of the history of MEMORY.md."""
    key, after, before = key_of(item.get("id")), item.get("text"), item.get("before")
    if not key or not isinstance(after, str):
        return None
    return PastChange(
        key,
        key_of(item.get("author")),
        title_of(item.get("writer")),
        title_of(item.get("reason")),
        moment(item.get("created_at")),
        text_of(after),
        text_of(before) if isinstance(before, str) else None,
        key_of(item.get("chat")),
        key_of(item.get("undone_by")),
    )


def agents(item: Mapping[str, Any]) -> Iterator[ForeignAgent]:
    for each in map(mapping, listed(item.get("agents"))[:MOST_AGENTS]):
        name, warmth = title_of(each.get("name"))[:100], each.get("temperature")
        if not name:
            continue
        fits = isinstance(warmth, int | float) and not isinstance(warmth, bool) and 0 <= warmth <= 2
        yield ForeignAgent(
            Kind.ONECLAW,
            name,
            title_of(each.get("description")),
            text_of(each.get("prompt"))[:MOST_PROMPT],
            key_of(each.get("model")),
            float(warmth) if fits and warmth is not None else None,
            each.get("reads_memory") is not False,
            each.get("writes_memory") is not False,
        )


def log_day(name: str) -> date | None:
    return real_day(name.rsplit("/", 1)[-1].removesuffix(".md"))


def digest_of(stream: BinaryIO) -> str:
    found = hashlib.sha256()
    while data := stream.read(2**20):
        found.update(data)
    return found.hexdigest()


def checksums(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, about in mapping(manifest.get("files")).items():
        yield name, key_of(mapping(about).get("sha256"))
