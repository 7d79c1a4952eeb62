"""ChatGPT's export: conversations as trees of messages, and what it remembered of its user."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from connect.archives.trees import CALL, MOST_NODES, REPLY, RESULT, USER, Node, dated, laid_out
from connect.archives.values import (
    MOST_MEMORIES,
    MOST_MEMORY,
    MOST_RESULT,
    TOO_LONG,
    TOO_MANY,
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
    odd_date,
    odd_dates,
    real_day,
    text_of,
    title_of,
    unpacked,
)

# Marks in the text: private characters around a kind and its parts, and brackets with a dagger.
MARK = re.compile(r"\ue200([^\ue200\ue201]{0,2000})\ue201|【[^【】†]{0,40}†[^【】]{0,200}】|[\ue200-\ue206]")
BETWEEN = "\ue202"
# A line of what it was told it remembers: 1. [2024-05-01]. Text
REMEMBERED = re.compile(r"[ \t]*\d{1,4}\.[ \t]+\[(\d{4}-\d{2}-\d{2})\]\.?[ \t]+(\S.*)")
NUMBERED = re.compile(r"[ \t]*(?:\d{1,4}\.|[-*•])[ \t]+(\S.*)")
POINTER = re.compile(r"(?:file-service|sediment)://([\w-]{1,100})")
# What an attached file is called in the archive: its id, and mostly its name after it.
ASSET = re.compile(r"file[-_][0-9A-Za-z]{1,80}(?![0-9A-Za-z_])")
SHORTEST_ID = 13
FENCE = "```"
MEMORY_TOOL = "bio"
CANVAS = "canmore."
# How far above a tool's message its call is looked for: a call may have several results.
NEAR = 8
ASKED_TO_FORGET = "ChatGPT was asked to forget something: see that it is not among what came."


@dataclass(slots=True)
class Memories:
    """What ChatGPT remembered, gathered from all conversations.

    The newest list holds all that was known then; what it noted since stands beside it. Of the custom
    instructions only the newest hold.
    """

    as_of: datetime | None = None
    list: tuple[ForeignMemory, ...] = ()
    notes: dict[str, tuple[datetime | None, ForeignMemory]] = field(default_factory=dict)
    about_as_of: datetime | None = None
    about: tuple[ForeignMemory, ...] = ()
    left_out: dict[str, int] = field(default_factory=dict)

    def note(self, text: str, at: datetime | None) -> None:
        key = text.casefold() if len(text) <= MOST_MEMORY else ""
        if not key:
            self._leave_out(TOO_LONG)
        elif key.startswith("forget "):
            self._leave_out(ASKED_TO_FORGET)
        elif key in self.notes:
            return
        elif len(self.notes) >= MOST_MEMORIES:
            self._leave_out(TOO_MANY)
        else:
            memory = ForeignMemory(Kind.CHATGPT, text, at.date() if at else None)
            self.notes[key] = (at, memory)

    def _leave_out(self, why: str) -> None:
        self.left_out[why] = self.left_out.get(why, 0) + 1

    def all(self) -> Iterator[ForeignMemory | Skipped]:
        yield from self.about
        yield from self.list
        listed = {memory.text.casefold() for memory in self.list}
        for key, (at, memory) in self.notes.items():
            if not self.list or (at and self.as_of and at > self.as_of and key not in listed):
                yield memory
        for why, count in self.left_out.items():
            for _ in range(count):
                yield Skipped("A memory", why)


class Reader:
    """Reads conversations one after the other; the memories are known when all have been read."""

    def __init__(self, files: Sequence[str] = ()) -> None:
        self.memories = Memories()
        # Names in the archive, to find what messages point to.
        self.files = {key: name for name in files if (key := asset_id(name))}

    def chat(self, item: Mapping[str, Any], place: str) -> Item:
        nodes = mapping(item.get("mapping"))
        title = title_of(item.get("title"))
        key = key_of(item.get("conversation_id")) or key_of(item.get("id"))
        if not key or not nodes:
            return Skipped(title or place, "It has no messages or no id.")
        if len(nodes) > MOST_NODES:
            return Skipped(title or place, f"It has more than {MOST_NODES:,} messages.")
        created = moment(item.get("create_time"))
        found = [self._node(name, mapping(node), nodes, created) for name, node in nodes.items()]
        rows = dated(laid_out(found, key_of(item.get("current_node"))), created)
        if not rows:
            return Skipped(title or place, "Nothing in it can be shown.")
        messages = (mapping(mapping(node).get("message")) for node in nodes.values())
        return ForeignChat(
            Kind.CHATGPT,
            key,
            title,
            created or rows[0].at,
            rows,
            archived=item.get("is_archived") is True,
            odd_date=odd_date(item.get("create_time")),
            odd_dates=odd_dates(
                _dates(message) for node, message in zip(found, messages, strict=True) if node.rows
            ),
        )

    def _node(
        self, name: str, node: Mapping[str, Any], nodes: Mapping[str, Any], created: datetime | None
    ) -> Node:
        message = mapping(node.get("message"))
        key = key_of(name)
        rows = self._rows(key, message, created) if message else ()
        if not rows and mapping(message.get("author")).get("role") == "tool" and _follows_call(node, nodes):
            # Hidden, or without words: it still answers its call, so that the next one doesn't.
            rows = (Said(key, RESULT, at=_when(message), tool_name=_tool_name(message)),)
        return Node(key, key_of(node.get("parent")), rows)

    def _rows(self, key: str, message: Mapping[str, Any], created: datetime | None) -> tuple[Said, ...]:
        author, content = mapping(message.get("author")), mapping(message.get("content"))
        about = mapping(message.get("metadata"))
        role, kind = author.get("role"), content.get("content_type")
        at = _when(message)
        if kind in ("model_editable_context", "user_editable_context") or about.get("is_user_system_message"):
            self._remember(content, about, at or created)
            return ()
        if _is_hidden(message):
            return ()
        text = MARK.sub(_marked, spoken(content))
        files = self._files(content, about)
        if role == "user":
            return (Said(key, USER, text, at, files=files),) if text.strip() or files else ()
        if role == "assistant":
            reply = Said(key, REPLY, text, at, model=key_of(about.get("model_slug")), files=files)
            return self._said(reply, message, kind)
        if role == "tool" and (text.strip() or files):
            code = "error" if kind == "system_error" else ""
            name, text = _tool_name(message), text_of(text, MOST_RESULT)
            return (Said(key, RESULT, text, at, tool_name=name, error_code=code, files=files),)
        return ()

    def _said(self, reply: Said, message: Mapping[str, Any], kind: object) -> tuple[Said, ...]:
        """What the model wrote: words, thoughts, or a call of a tool."""
        to, text = _recipient(message), reply.content
        if kind in ("thoughts", "reasoning_recap"):
            return (replace(reply, content="", thinking=text, files=()),) if text.strip() else ()
        if to == MEMORY_TOOL and text.strip():
            self.memories.note(text.strip(), reply.at)
        if to != "all":
            return tuple(_called(reply, to))
        if kind == "code" and text.strip():
            language = key_of(mapping(message.get("content")).get("language"))
            mark = language if language.isalnum() and language != "unknown" else ""
            reply = replace(reply, content=f"{FENCE}{mark}\n{text}\n{FENCE}")
        return (reply,) if text.strip() or reply.files else ()

    def _files(self, content: Mapping[str, Any], about: Mapping[str, Any]) -> tuple[ForeignFile, ...]:
        found = dict[str, ForeignFile]()
        for each in listed(about.get("attachments")):
            if key := key_of(mapping(each).get("id")):
                name = title_of(mapping(each).get("name")) or key
                found[key] = ForeignFile(name, self._entry(key), key_of(mapping(each).get("mime_type")))
        for key in _pointers(content):
            if key not in found:
                entry = self._entry(key)
                found[key] = ForeignFile(title_of(entry.rsplit("/", 1)[-1]) or key, entry)
        return tuple(found.values())

    def _entry(self, key: str) -> str:
        return self.files.get(key, "")

    def _remember(self, content: Mapping[str, Any], about: Mapping[str, Any], at: datetime | None) -> None:
        """Keep what a hidden message says of the user: the newest list of memories, custom instructions."""
        given = mapping(about.get("user_context_message_data"))
        profile = text_of(given.get("about_user_message")) or _fenced(content.get("user_profile"))
        wishes = text_of(given.get("about_model_message")) or _fenced(content.get("user_instructions"))
        day = at.date() if at else None
        told = tuple(
            ForeignMemory(Kind.CHATGPT, line, day, category)
            for text, category in ((profile, "profile"), (wishes, "preferences"))
            for line in filter(None, (line.strip(" \t-*") for line in text.splitlines()[:100]))
        )
        memories = self.memories
        # In one conversation the later of two holds; both have its date.
        if told and (not memories.about or _is_since(at, memories.about_as_of)):
            memories.about_as_of, memories.about = at, told
        found = tuple(remembered(text_of(content.get("model_set_context"))))
        if found and (not memories.list or _is_since(at, memories.as_of)):
            memories.as_of, memories.list = at, found


def _is_since(at: datetime | None, before: datetime | None) -> bool:
    return at is not None and (before is None or at >= before)


def _when(message: Mapping[str, Any]) -> datetime | None:
    return next(filter(None, map(moment, _dates(message))), None)


def _dates(message: Mapping[str, Any]) -> tuple[object, object]:
    return message.get("create_time"), message.get("update_time")


def _is_hidden(message: Mapping[str, Any]) -> bool:
    about = mapping(message.get("metadata"))
    return about.get("is_visually_hidden_from_conversation") is True or message.get("weight") == 0


def _recipient(message: Mapping[str, Any]) -> str:
    return key_of(message.get("recipient")) or "all"


def _tool_name(message: Mapping[str, Any]) -> str:
    return key_of(mapping(message.get("author")).get("name"))[:100]


def _follows_call(node: Mapping[str, Any], nodes: Mapping[str, Any]) -> bool:
    """Whether a tool's message stands below a call that is shown."""
    for _ in range(NEAR):
        node = mapping(nodes.get(key_of(node.get("parent"))))
        message = mapping(node.get("message"))
        role = mapping(message.get("author")).get("role")
        if role == "assistant":
            return _recipient(message) != "all" and not _is_hidden(message)
        if role != "tool":
            return False
    return False


def _called(reply: Said, to: str) -> Iterator[Said]:
    """A call with its arguments; what was written into a canvas stands before it, as it was read there."""
    given = unpacked(reply.content)
    data = given if isinstance(given, dict) else {"input": reply.content}
    if to.startswith(CANVAS) and (text := _canvas(data)):
        yield Said(f"{reply.key}#canvas", REPLY, text, reply.at, model=reply.model)
        data = {name: value for name, value in data.items() if name not in ("content", "updates")}
    yield replace(reply, type=CALL, content="", tool_name=to[:100], tool_data=data)


def _canvas(data: Mapping[str, Any]) -> str:
    """The text of a new canvas, or of one that was written anew."""
    if text := text_of(data.get("content")).strip():
        name = title_of(data.get("name"))
        mark = key_of(data.get("type")).removeprefix("code/")
        if str(data.get("type")).startswith("code/"):
            text = f"{FENCE}{mark if mark.isalnum() else ''}\n{text}\n{FENCE}"
        return f"**{name}**\n\n{text}" if name else text
    changes = [mapping(each) for each in listed(data.get("updates"))]
    if len(changes) == 1 and changes[0].get("pattern") == ".*":
        return text_of(changes[0].get("replacement")).strip()
    return ""


def remembered(text: str) -> Iterator[ForeignMemory]:
    """The entries of a list: each begins with its number and date, and goes on to the next."""
    lines = text.splitlines()
    dates = any(REMEMBERED.fullmatch(line) for line in lines)
    found, when = list[str](), ""
    for line in lines:
        match = REMEMBERED.fullmatch(line) if dates else NUMBERED.fullmatch(line)
        if match:
            if found:
                yield _memory(found, when)
            found, when = [match[match.lastindex or 1].strip()], match[1] if dates else ""
        elif line.strip() and found:
            found.append(line.strip())
    if found:
        yield _memory(found, when)


def _memory(lines: Sequence[str], when: str) -> ForeignMemory:
    day = real_day(when)
    return ForeignMemory(Kind.CHATGPT, _joined(lines), day, odd_date="" if day else when)


def _joined(lines: Sequence[str]) -> str:
    """Lines of one entry as one: items of a list within it are told apart."""
    whole = [lines[0]]
    for line in lines[1:]:
        item = NUMBERED.fullmatch(line)
        between = "; " if item and not whole[-1].endswith((":", ";", ",")) and len(whole) > 1 else " "
        whole += [between, item[1].strip() if item else line]
    return "".join(whole)


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
    if kind in ("tether_quote", "sonic_webpage"):
        title, address = text_of(content.get("title"), 500), text_of(content.get("url"), 2000)
        return "\n".join(filter(None, [title, address, text_of(content.get("text"))]))
    parts = [_part(part) for part in listed(content.get("parts"))]
    if parts:
        return text_of("\n".join(filter(None, parts)))
    values = (content.get(name) for name in ("text", "result", "output_str", "summary"))
    return next(filter(None, map(text_of, values)), "")


def _part(part: object) -> str:
    if isinstance(part, str):
        return text_of(part)
    # A picture has no words; speech has what was understood of it.
    return text_of(mapping(part).get("text"))


def _marked(match: re.Match[str]) -> str:
    """The words that stood on the page where a mark is: of things and links, not of sources."""
    kind, *parts = (match[1] or "").split(BETWEEN)
    if kind == "url" and parts:
        return parts[0]
    if kind == "entity" and parts:
        names = listed(unpacked(parts[0]))
        return text_of(names[1]) if len(names) > 1 else ""
    return ""


def _pointers(content: Mapping[str, Any]) -> Iterator[str]:
    """Ids of the files that a message's parts point to: pictures, speech, a screen."""
    for part in [*listed(content.get("parts")), content.get("screenshot")]:
        for holder in (mapping(part), mapping(mapping(part).get("audio_asset_pointer"))):
            pointer = holder.get("asset_pointer")
            if isinstance(pointer, str) and (match := POINTER.match(pointer)):
                yield match[1]


def _fenced(text: object) -> str:
    """What stands between the fences of the sentence that a profile is wrapped in, or all of it."""
    whole = text_of(text, 20_000)
    _, fence, after = whole.partition(FENCE)
    return after.rpartition(FENCE)[0].removeprefix("text\n") if FENCE in after else after if fence else whole


def asset_id(name: str) -> str:
    """The id that an attached file is called by: `file-AbC…-holiday.png`, `folder/file_0012….dat`."""
    match = ASSET.match(name.rsplit("/", 1)[-1])
    return match[0] if match else ""


def is_asset(name: str) -> bool:
    """Whether a file is called by an id, which is longer than any word that people put after `file-`."""
    return len(asset_id(name)) >= SHORTEST_ID
