"""Which kind an archive is, by what is in it, and all that it holds in one stream."""

import codecs
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from connect.archives import chatgpt, claude, librechat, notes, oneclaw, openwebui
from connect.archives.documents import Damaged, TooMuch, first_keys, items
from connect.archives.sources import Refused, Single, source_of
from connect.archives.values import (
    MOST_MEMORIES,
    MOST_MEMORY,
    TOO_LONG,
    TOO_MANY,
    ForeignChat,
    ForeignMemory,
    ForeignNote,
    Item,
    Kind,
    MemoryFile,
    Skipped,
    listed,
    mapping,
    text_of,
    title_of,
)

TEXTS = (".md", ".markdown", ".txt")
OTHER = "other"
MANIFEST, MEMORIES, PROJECTS, CHATS = "manifest", "memories", "projects", "chats"
FORGOTTEN, ENTRIES, HISTORY, AGENTS = "forgotten", "entries", "history", "agents"
MOST_UNKNOWN = 20
NO_ZIP = "This ZIP is damaged: it does not begin as a ZIP does. Was the download complete?"
MOST_PROJECTS, MOST_ENTRIES = 10_000, 20_000
MOST_ATTACHED = 50  # files of one message
# Characters of one chat: more than anybody reads, and than a database should be given at once.
MOST_CHAT = 24_000_000
# Files that exports have beside the chats; nobody misses them.
BESIDE = frozenset(
    [
        "user.json",
        "users.json",
        "user_settings.json",
        "message_feedback.json",
        "shared_conversations.json",
        "model_comparisons.json",
        "export_manifest.json",
        "conversation_asset_file_names.json",
    ]
)
# What other lists of things with a content have: messages, ratings, prompts.
NO_MEMORY = {"role", "rating", "conversation_id", "command", "title"}


@dataclass(frozen=True, slots=True)
class Document:
    """One file of the archive: who wrote it, and what is in it."""

    name: str
    kind: str
    what: str


@dataclass(frozen=True, slots=True)
class Signs:
    """What is known of a JSON file without reading it: the keys of its first object, and keys within them."""

    keys: Mapping[str, set[str]]
    first: Mapping[str, Any]

    def has(self, *names: str) -> bool:
        return all(name in self.keys for name in names)


# The first that fits. What a file is called plays no part.
KNOWN: tuple[tuple[str, str, Callable[[Signs], bool]], ...] = (
    (Kind.ONECLAW, MANIFEST, lambda signs: signs.first.get("format") == oneclaw.FORMAT),
    (Kind.ONECLAW, CHATS, lambda signs: signs.first.get("format") == oneclaw.CHAT_FORMAT),
    (Kind.ONECLAW, FORGOTTEN, lambda signs: signs.first.get("format") == "oneclaw-forgotten"),
    (Kind.ONECLAW, ENTRIES, lambda signs: signs.first.get("format") == "oneclaw-entries"),
    (Kind.ONECLAW, HISTORY, lambda signs: signs.first.get("format") == "oneclaw-revisions"),
    (Kind.ONECLAW, AGENTS, lambda signs: signs.first.get("format") == "oneclaw-agents"),
    (Kind.ONECLAW, OTHER, lambda signs: str(signs.first.get("format", "")).startswith("oneclaw-")),
    (Kind.CHATGPT, CHATS, lambda signs: signs.has("mapping")),
    (Kind.CLAUDE, CHATS, lambda signs: signs.has("chat_messages")),
    (Kind.CLAUDE, MEMORIES, lambda signs: signs.has("conversations_memory")),
    (Kind.CLAUDE, PROJECTS, lambda signs: signs.has("uuid", "name", "docs")),
    (Kind.LIBRECHAT, CHATS, lambda signs: signs.has("conversationId") and signs.has("messages")),
    (Kind.LIBRECHAT, CHATS, lambda signs: signs.has("conversationId", "messagesTree")),
    (Kind.OPEN_WEBUI, CHATS, lambda signs: bool({"history", "messages"} & signs.keys.get("chat", set()))),
    (Kind.OPEN_WEBUI, CHATS, lambda signs: "currentId" in signs.keys.get("history", set())),
    (Kind.OPEN_WEBUI, MEMORIES, lambda signs: signs.has("user_id", "content", "created_at")),
    (Kind.CHATGPT, MEMORIES, lambda signs: signs.has("content", "id") and not signs.keys.keys() & NO_MEMORY),
)
ORDER = (MANIFEST, AGENTS, CHATS, PROJECTS, ENTRIES, HISTORY, MEMORIES, FORGOTTEN, "notes", OTHER)


class Archive:
    """A file that people bring: its kind, and its items one after the other, as often as asked."""

    def __init__(self, path: Path, name: str = "") -> None:
        self.source = source_of(path, name)
        # Files that are neither text nor JSON: pictures and the like, which messages may point to.
        self.assets = list[str]()
        self.unknown = list[Skipped]()
        self.documents = self._documents()
        self.own = any(document.what == MANIFEST for document in self.documents)
        named = [document.name for document in self.documents if document.what == "notes"]
        # A MEMORY.md that is not among backups.
        self.has_memory = any(notes.is_memory(name) and not notes.is_kept_aside(name) for name in named)
        if not self.documents:
            raise Refused(
                "This is no archive that OneClaw knows: it takes exports of ChatGPT, Claude, Open WebUI, "
                "LibreChat and OneClaw, and Markdown notes."
            )

    @property
    def kinds(self) -> list[str]:
        found = [document.kind for document in self.documents if document.what != OTHER]
        return sorted(set(found), key=list(Kind.LABELS).index)

    @property
    def label(self) -> str:
        return ", ".join(Kind.LABELS[kind] for kind in self.kinds)

    def _documents(self) -> list[Document]:
        every = {entry.name: self._recognised(entry.name) for entry in self.source.entries}
        # Where ChatGPT's chats are, a file called by an id is attached to one of them, whatever is in it.
        chatgpts = any(each and _is_chatgpts(each) for each in every.values())
        found = list[Document]()
        own = False
        for name, document in every.items():
            if document is None or (chatgpts and chatgpt.is_asset(name)):
                self.assets.append(name)
            elif document.kind == OTHER and name.rsplit("/", 1)[-1] in BESIDE:
                continue
            elif document.kind == OTHER:
                self.unknown.append(Skipped(title_of(name), document.what))
            else:
                own |= document.what == MANIFEST
                found.append(document)
        if own:
            # The Markdown of chats is in the archive to be read by people; memory is what is in memory/.
            found = [
                replace(each, kind=Kind.ONECLAW) if each.what == "notes" else each
                for each in found
                if each.what != "notes" or _is_memory(each.name)
            ]
        return sorted(found, key=lambda each: (ORDER.index(each.what), natural(each.name)))

    def _recognised(self, name: str) -> Document | None:
        lower = name.casefold()
        single = len(self.source.entries) == 1
        if lower.endswith(TEXTS) and not self._looks_json(name):
            return Document(name, Kind.MARKDOWN, "notes")
        if not (lower.endswith((".json", ".jsonl")) or single):
            return None
        if not self._looks_json(name):
            if lower.endswith(".zip") and isinstance(self.source, Single):
                raise Refused(NO_ZIP)
            if single and self._is_text(name):
                return Document(name, Kind.MARKDOWN, "notes")
            return Document(name, OTHER, "It is not JSON.")
        try:
            with self.source.open(name) as stream:
                signs = Signs(*first_keys(stream))
        except Damaged as error:
            return Document(name, OTHER, str(error))
        for kind, what, fits in KNOWN:
            if fits(signs):
                return Document(name, kind, what)
        return Document(name, OTHER, "It holds neither chats nor memories.")

    def _start(self, name: str) -> bytes:
        try:
            with self.source.open(name) as stream:
                return stream.read(2_000)
        except (Damaged, OSError):
            return b""

    def _looks_json(self, name: str) -> bool:
        return notes.decoded(self._start(name))[:1000].lstrip("\ufeff \t\r\n\0")[:1] in ("[", "{")

    def _is_text(self, name: str) -> bool:
        """Whether a file without a name that tells is words: none of the bytes that only programs write."""
        start = self._start(name)
        try:
            text = codecs.getincrementaldecoder("utf-8")().decode(start)
        except UnicodeDecodeError:
            return False
        return bool(text) and all(letter.isprintable() or letter.isspace() for letter in text)

    def items(self) -> Iterator[Item]:
        """Everything in the archive, each thing by itself; what can't be read comes as skipped, with why."""
        yield from self.source.skipped
        yield from self.unknown[:MOST_UNKNOWN]
        memories = 0
        for item in self._every():
            if isinstance(item, ForeignMemory):
                if (
                    why := TOO_LONG
                    if len(item.text) > MOST_MEMORY
                    else TOO_MANY
                    if memories >= MOST_MEMORIES
                    else ""
                ):
                    item = Skipped("A memory", why)
                else:
                    memories += 1
            yield item

    def _every(self) -> Iterator[Item]:
        reader = chatgpt.Reader(self.assets)
        projects = dict[str, str]()
        entries: list[Mapping[str, Any]] = []
        for document in self.documents:
            try:
                yield from self._read(document, reader, projects, entries)
            except Damaged as error:
                yield Skipped(title_of(document.name), str(error))
        yield from reader.memories.all()

    def _read(
        self,
        document: Document,
        reader: chatgpt.Reader,
        projects: dict[str, str],
        entries: list[Mapping[str, Any]],
    ) -> Iterator[Item]:
        name = document.name
        if document.what == OTHER:
            return
        if document.what == "notes":
            yield from self._note(name, entries)
            return
        with self.source.open(name) as stream:
            for number, item in enumerate(items(stream), start=1):
                place = f"{title_of(name)}, item {number}"
                if isinstance(item, TooMuch):
                    yield Skipped(place, item.why)
                elif not isinstance(item, dict):
                    yield Skipped(place, "It is no object.")
                elif document.what == CHATS:
                    yield from _bounded(self._chat(document.kind, item, place, reader))
                elif document.what == MANIFEST:
                    yield from self._changed(item)
                else:
                    yield from _others(document, item, projects, entries)

    def _chat(self, kind: str, item: Mapping[str, Any], place: str, reader: chatgpt.Reader) -> Item:
        read: dict[str, Callable[[Mapping[str, Any], str], Item]] = {
            Kind.CHATGPT: reader.chat,
            Kind.CLAUDE: claude.chat,
            Kind.OPEN_WEBUI: openwebui.chat,
            Kind.LIBRECHAT: librechat.chat,
            Kind.ONECLAW: oneclaw.chat,
        }
        return read[kind](item, place)

    def _note(self, name: str, entries: list[Mapping[str, Any]]) -> Iterator[Item]:
        with self.source.open(name) as stream:
            data = b""
            while len(data) <= notes.MOST_NOTE and (piece := stream.read(2**16)):
                data += piece
        if not self.own:
            yield from notes.note(title_of(name), data, aside=self.has_memory)
        elif name.endswith("MEMORY.md"):
            yield MemoryFile(Kind.ONECLAW, text_of(notes.decoded(data)), name, tuple(entries))
        elif day := oneclaw.log_day(name):
            yield ForeignNote(Kind.ONECLAW, day, text_of(notes.decoded(data), notes.MOST_NOTE), name)
        else:
            yield Skipped(title_of(name), notes.ODD_DAY)

    def _changed(self, manifest: Mapping[str, Any]) -> Iterator[Skipped]:
        """Files of an archive of OneClaw's own that are not as they were when it was made."""
        there = {entry.name for entry in self.source.entries}
        damaged = set[str]()
        for name, digest in oneclaw.checksums(manifest):
            if name not in there:
                yield Skipped(title_of(name), "It is missing from the archive.")
                continue
            try:
                with self.source.open(name) as stream:
                    same = oneclaw.digest_of(stream) == digest
            except Damaged:
                same = False
            if not same:
                damaged.add(name)
                yield Skipped(title_of(name), "It was changed after the export: its checksum is another.")
        if damaged:
            self.documents[:] = [each for each in self.documents if each.name not in damaged]


def _bounded(chat: Item) -> Iterator[Item]:
    """A chat within what one may hold; what is past that comes as skipped."""
    if not isinstance(chat, ForeignChat):
        yield chat
        return
    what = chat.title or chat.id
    if sum(len(row.content) + len(row.thinking) for row in chat.rows) > MOST_CHAT:
        yield Skipped(what, f"It has more than {MOST_CHAT:,} characters.")
        return
    left_out = sum(max(0, len(row.files) - MOST_ATTACHED) for row in chat.rows)
    if left_out:
        rows = tuple(replace(row, files=row.files[:MOST_ATTACHED]) for row in chat.rows)
        chat = replace(chat, rows=rows)
    yield chat
    for _ in range(left_out):
        yield Skipped(what, f"A file: a message takes {MOST_ATTACHED} at most.")


def _others(
    document: Document,
    item: Mapping[str, Any],
    projects: dict[str, str],
    entries: list[Mapping[str, Any]],
) -> Iterator[Item]:
    """Memories, projects, and what belongs to an archive of OneClaw's own."""
    if document.what == PROJECTS:
        key, name = claude.names_of(item)
        if len(projects) < MOST_PROJECTS:
            projects[key] = name
        yield from claude.project(item)
    elif document.what == MEMORIES and document.kind == Kind.CLAUDE:
        yield from claude.memories(item, projects)
    elif document.what == MEMORIES:
        memory: ForeignMemory | None = openwebui.memory(item, document.kind)
        if memory:
            yield memory
    elif document.what == ENTRIES:
        room = MOST_ENTRIES - len(entries)
        entries += [mapping(each) for each in listed(item.get("entries")) if isinstance(each, dict)][:room]
    elif document.what == FORGOTTEN and (traces := oneclaw.forgotten(item)):
        yield traces
    elif document.what == HISTORY and (change := oneclaw.change(item)):
        yield change
    elif document.what == AGENTS:
        yield from oneclaw.agents(item)


def _is_chatgpts(document: Document) -> bool:
    chats = (document.kind, document.what) == (Kind.CHATGPT, CHATS)
    return chats and not chatgpt.is_asset(document.name)


def _is_memory(name: str) -> bool:
    folder = f"/{name}"
    return folder.endswith("/memory/MEMORY.md") or "/memory/daily/" in folder


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """A key by which `part-2` comes before `part-10`."""
    parts, number = list[tuple[int, str]](), ""
    for letter in f"{name} ":
        if letter.isascii() and letter.isdigit() and len(number) < 18:
            number += letter
            continue
        if number:
            parts.append((int(number), ""))
            number = ""
        parts.append((-1, letter))
    return tuple(parts)
