"""ChatGPT's export: conversations as trees of messages, and what it remembered of its user."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from connect.archives.trees import CALL, MOST_NODES, REPLY, RESULT, USER, Node, dated, laid_out
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

# Marks of citations: private characters around an address within ChatGPT, and brackets with a dagger.
CITATION = re.compile(r"\ue200[^\ue200\ue201]{0,2000}\ue201|【[^【】†]{0,40}†[^【】]{0,200}】")
# A line of what it was told it remembers: 1. [2024-05-01]. Text
REMEMBERED = re.compile(r"[ \t]*\d{1,4}\.[ \t]+\[(\d{4}-\d{2}-\d{2})\]\.?[ \t]+(\S.*)")
POINTER = re.compile(r"(?:file-service|sediment)://([\w-]{1,100})")
FENCED = re.compile(r"```(?:text)?\n?([^`]{1,4000})```")
MEMORY_TOOL = "bio"


@dataclass(slots=True)
class Memories:
    """What ChatGPT remembered, gathered from all conversations: the newest list, else each thing it noted."""

    as_of: datetime | None = None
    list: tuple[ForeignMemory, ...] = ()
    noted: dict[str, ForeignMemory] = field(default_factory=dict)
    about: dict[str, ForeignMemory] = field(default_factory=dict)

    def all(self) -> Iterator[ForeignMemory]:
        yield from self.about.values()
        yield from self.list or self.noted.values()


class Reader:
    """Reads conversations one after the other; the memories are known when all have been read."""

    def __init__(self, files: Sequence[str] = ()) -> None:
        self.memories = Memories()
        # Names in the archive, to find what messages point to.
        self.files = {_stem(name): name for name in files}

    def chat(self, item: Mapping[str, Any], place: str) -> Item:
        nodes = mapping(item.get("mapping"))
        title = title_of(item.get("title"))
        key = key_of(item.get("conversation_id")) or key_of(item.get("id"))
        if not key or not nodes:
            return Skipped(title or place, "It has no messages or no id.")
        if len(nodes) > MOST_NODES:
            return Skipped(title or place, f"It has more than {MOST_NODES:,} messages.")
        created = moment(item.get("create_time"))
        found = [self._node(name, mapping(node), created) for name, node in nodes.items()]
        rows = dated(laid_out(found, key_of(item.get("current_node"))), created)
        if not rows:
            return Skipped(title or place, "Nothing in it can be shown.")
        return ForeignChat(
            Kind.CHATGPT, key, title, created or rows[0].at, rows, archived=item.get("is_archived") is True
        )

    def _node(self, name: str, node: Mapping[str, Any], created: datetime | None) -> Node:
        message = mapping(node.get("message"))
        rows = self._rows(key_of(name), message, created) if message else ()
        return Node(key_of(name), key_of(node.get("parent")), rows)

    def _rows(self, key: str, message: Mapping[str, Any], created: datetime | None) -> tuple[Said, ...]:
        author, content = mapping(message.get("author")), mapping(message.get("content"))
        about = mapping(message.get("metadata"))
        role, kind = author.get("role"), content.get("content_type")
        at = moment(message.get("create_time")) or moment(message.get("update_time"))
        if kind in ("model_editable_context", "user_editable_context") or about.get("is_user_system_message"):
            self._remember(content, about, at or created)
            return ()
        if about.get("is_visually_hidden_from_conversation") is True or message.get("weight") == 0:
            return ()
        text = CITATION.sub("", spoken(content))
        files = self._files(content, about)
        model = key_of(about.get("model_slug"))
        if role == "user":
            return (Said(key, USER, text, at, files=files),) if text.strip() or files else ()
        if role == "assistant":
            return self._said(key, message, kind, text, at, model, files)
        if role == "tool" and (text.strip() or files):
            name = key_of(author.get("name"))[:100]
            code = "error" if kind == "system_error" else ""
            text = text_of(text, MOST_RESULT)
            return (Said(key, RESULT, text, at, tool_name=name, error_code=code, files=files),)
        return ()

    def _said(
        self,
        key: str,
        message: Mapping[str, Any],
        kind: object,
        text: str,
        at: datetime | None,
        model: str,
        files: tuple[ForeignFile, ...],
    ) -> tuple[Said, ...]:
        to = key_of(message.get("recipient")) or "all"
        if kind in ("thoughts", "reasoning_recap"):
            return (Said(key, REPLY, at=at, thinking=text, model=model),) if text.strip() else ()
        if to == MEMORY_TOOL and text.strip():
            noted = text.strip()
            self.memories.noted.setdefault(
                noted.casefold(), ForeignMemory(Kind.CHATGPT, noted, at.date() if at else None)
            )
        if to != "all":
            return (Said(key, CALL, at=at, tool_name=to[:100], tool_data={"input": text}, model=model),)
        if kind == "code" and text.strip():
            language = key_of(mapping(message.get("content")).get("language"))
            mark = language if language.isalnum() and language != "unknown" else ""
            text = f"```{mark}\n{text}\n```"
        return (Said(key, REPLY, text, at, model=model, files=files),) if text.strip() or files else ()

    def _files(self, content: Mapping[str, Any], about: Mapping[str, Any]) -> tuple[ForeignFile, ...]:
        found = dict[str, ForeignFile]()
        for each in listed(about.get("attachments")):
            if key := key_of(mapping(each).get("id")):
                name = title_of(mapping(each).get("name")) or key
                found[key] = ForeignFile(name, self._entry(key), key_of(mapping(each).get("mime_type")))
        for part in listed(content.get("parts")):
            pointer = mapping(part).get("asset_pointer")
            match = POINTER.match(pointer) if isinstance(pointer, str) else None
            if match and match[1] not in found:
                found[match[1]] = ForeignFile(match[1], self._entry(match[1]))
        return tuple(found.values())[:50]

    def _entry(self, key: str) -> str:
        return self.files.get(key, "")

    def _remember(self, content: Mapping[str, Any], about: Mapping[str, Any], at: datetime | None) -> None:
        """Keep what a hidden message says of the user: the newest list of memories, custom instructions."""
        given = mapping(about.get("user_context_message_data"))
        profile = text_of(given.get("about_user_message")) or _within(content.get("user_profile"))
        wishes = text_of(given.get("about_model_message")) or _within(content.get("user_instructions"))
        for text, category in ((profile, "profile"), (wishes, "preferences")):
            for line in filter(None, (line.strip(" \t-*") for line in text.splitlines()[:100])):
                about_user = ForeignMemory(Kind.CHATGPT, line, at.date() if at else None, category)
                self.memories.about.setdefault(line.casefold(), about_user)
        found = tuple(remembered(text_of(content.get("model_set_context"))))
        newer = self.memories.as_of is None or (at is not None and at > self.memories.as_of)
        if found and newer:
            self.memories.as_of, self.memories.list = at, found


def remembered(text: str) -> Iterator[ForeignMemory]:
    for line in text.splitlines():
        if match := REMEMBERED.fullmatch(line):
            try:
                day = date.fromisoformat(match[1])
            except ValueError:
                continue
            yield ForeignMemory(Kind.CHATGPT, match[2].strip(), day)


def spoken(content: Mapping[str, Any]) -> str:
    """The words of a message, of whatever type it is."""
    kind = content.get("content_type")
    if kind == "thoughts":
        thoughts = (mapping(each) for each in listed(content.get("thoughts")))
        told = (
            "\n".join(filter(None, [text_of(each.get("summary")), text_of(each.get("content"))]))
            for each in thoughts
        )
        return text_of("\n\n".join(filter(None, told)))
    if kind == "reasoning_recap":
        return text_of(content.get("content"))
    if kind == "tether_quote":
        title, address = text_of(content.get("title"), 500), text_of(content.get("url"), 2000)
        return "\n".join(filter(None, [title, address, text_of(content.get("text"))]))
    parts = [_part(part) for part in listed(content.get("parts"))]
    if parts:
        return text_of("\n".join(filter(None, parts)))
    return text_of(content.get("text")) or text_of(content.get("result"))


def _part(part: object) -> str:
    if isinstance(part, str):
        return text_of(part)
    # A picture has no words; speech has what was understood of it.
    return text_of(mapping(part).get("text"))


def _within(text: object) -> str:
    """What stands between the fences of the sentence that a profile is wrapped in, or all of it."""
    whole = text_of(text, 20_000)
    match = FENCED.search(whole)
    return match[1] if match else whole


def _stem(name: str) -> str:
    """The id that the name of an asset begins with: `file-AbC-holiday.png`, `folder/file_0012-image.webp`."""
    base = name.rsplit("/", 1)[-1].split(".", 1)[0]
    if base.startswith("file-"):
        return "-".join(base.split("-")[:2])
    return base.split("-", 1)[0]
