"""What an archive would bring, found by reading it whole and writing nothing."""

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from connect.archives.reading import Archive
from connect.archives.values import (
    ForeignAgent,
    ForeignChat,
    ForeignMemory,
    ForeignNote,
    ForgottenTraces,
    Item,
    MemoryFile,
    PastChange,
    Redated,
    Skipped,
)
from connect.importing import agents, chats, logs, undated
from connect.importing.history import History
from connect.importing.memories import Memories
from connect.importing.origins import Origins
from connect.models import Import
from memory.dailylog.forgotten import Register
from memory.manager import MemoryManager
from people.models import User

MOST_SKIPPED = 200  # that are listed one by one
MOST_SEEN = 100_000  # chats that are counted once, though the archive has them twice


@dataclass(slots=True)
class Plan:
    """Counts for the page, and what is left out with why."""

    label: str = ""
    items: int = 0
    chats: int = 0
    messages: int = 0
    # Chats that are here already, and messages that are new in them.
    known: int = 0
    more: int = 0
    memories: int = 0
    days: int = 0
    # Pictures and files of messages, and how many of them the archive holds.
    files: int = 0
    forgotten: int = 0
    # Chats without a usable date, and the day that they get.
    undated: int = 0
    undated_as: str = ""
    # Messages that stay off the record.
    silent: int = 0
    # Changes of MEMORY.md before today, and agents.
    changes: int = 0
    agents: int = 0
    first: str = ""
    last: str = ""
    skipped: list[dict[str, str]] = field(default_factory=list)
    skipped_count: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    # What comes with another date than the archive says.
    redated: list[dict[str, str]] = field(default_factory=list)
    redated_count: int = 0

    def skip(self, *items: Skipped) -> None:
        for item in items:
            self.skipped_count += 1
            if len(self.reasons) < MOST_SKIPPED or item.why in self.reasons:
                self.reasons[item.why] = self.reasons.get(item.why, 0) + 1
            if len(self.skipped) < MOST_SKIPPED:
                self.skipped.append({"what": item.what[:200], "why": item.why[:300]})

    def redate(self, items: Iterable[Redated]) -> None:
        for item in items:
            self.redated_count += 1
            if len(self.redated) < MOST_SKIPPED:
                self.redated.append({"what": item.what[:200], "why": item.why[:300]})

    def span(self, moment: datetime | None, user: User) -> None:
        if moment:
            day = user.local_date(moment).isoformat()
            self.first = min(self.first or day, day)
            self.last = max(self.last, day)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Preview:
    """One reading of an archive."""

    def __init__(self, user: User, archive: Archive, by: Import, made_at: datetime) -> None:
        self.user, self.archive, self.by = user, archive, by
        self.made_at = made_at
        self.plan = Plan(label=archive.label)
        self.memories, self.history = Memories(), History()
        self.origins = Origins(archive)
        self.forgotten = Register(user)
        self.seen = set[bytes]()

    def take(self, item: Item) -> None:
        self.plan.items += 1
        if isinstance(item, ForeignChat):
            self._chat(item)
        elif isinstance(item, ForeignMemory | MemoryFile):
            self.memories.add(item)
        elif isinstance(item, ForeignNote):
            self.plan.days += logs.would_come(self.user, item, self.by)
        elif isinstance(item, ForgottenTraces):
            self.plan.forgotten += len(item.traces)
        elif isinstance(item, PastChange):
            self.history.add(item)
        elif isinstance(item, ForeignAgent):
            self.plan.agents += agents.is_new(self.user, item)
        else:
            self.plan.skip(item)

    def _chat(self, chat: ForeignChat) -> None:
        if self._is_double(chat):
            self.plan.known += 1
            return
        chat = chats.resolved(self.user, chat, self.origins.of(chat))
        found = chats.judged(self.user, chat, self.forgotten)
        self.plan.silent += found.silent
        if found.new:
            self.plan.chats += 1
            self.plan.messages += found.messages
            self.plan.files += sum(len(row.files) for row in chat.rows)
            self.plan.span(chat.rows[0].at, self.user)
            self.plan.span(chat.rows[-1].at, self.user)
            if undated.is_undated(chat):
                self.plan.undated += 1
                self.plan.undated_as = self.user.local_date(self.made_at).isoformat()
        else:
            self.plan.known += 1
            self.plan.more += found.messages
        if found.new or (found.messages and not undated.is_undated(chat)):
            self.plan.redate(undated.redated(chat, self.user.local_date(self.made_at)))
        if found.why:
            self.plan.skip(Skipped(chat.title or chat.id, found.why))

    def _is_double(self, chat: ForeignChat) -> bool:
        """Whether the archive had this chat before, as far as one can remember: the import itself knows."""
        name = hashlib.blake2b(f"{chat.kind}:{chat.id}".encode(), digest_size=12).digest()
        if name in self.seen:
            return True
        if len(self.seen) < MOST_SEEN:
            self.seen.add(name)
        return False

    def ended(self) -> Plan:
        text = MemoryManager(self.user).read_long_term_memory()
        self.plan.memories = len(self.memories.accepted(self.user, text))
        self.plan.changes, left_out = self.history.would_come(self.user, self.by)
        self.plan.skip(*self.memories.skipped, *left_out)
        self.plan.redate(self.memories.redated)
        return self.plan
