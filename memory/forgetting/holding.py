"""Everything that holds what is to be forgotten: entries of MEMORY.md, items of logs, messages of chats."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from uuid import UUID

from django.db.models import Q

from chat.models import Message
from memory import embedding
from memory.forgetting.entries import normal, would_remove
from memory.index.sources.chats import remembered
from memory.index.terms import query_terms, terms
from memory.longterm import dates
from memory.longterm.memory import LongTermMemory
from memory.search.engine import HybridSearchEngine
from memory.storage import log_entries
from memory.storage.entries import Entry, entries_of
from memory.storage.files import MemoryFileStorage
from memory.storage.log_entries import LogEntry
from people.models import User

MOST_ENTRIES, MOST_ITEMS, MOST_MESSAGES = 20, 50, 50
# Share of the asked terms that a log's item or a message must have.
SHARE = 0.75


@dataclass(frozen=True, slots=True)
class Holding:
    """One place that holds it. `ref` names it for a form; `sure` if it has the very words."""

    ref: str
    kind: str  # entry, log or chat
    text: str
    where: str
    day: str = ""
    session: str = ""
    message: int | None = None
    sure: bool = True


def held(user: User, words: str) -> list[Holding]:
    """Every place that holds the words, or says in other words what they say."""
    words = words.strip()
    if not normal(words):
        return []
    return [*in_memory(user, words), *in_logs(user, words), *in_chats(user, words)]


def in_memory(user: User, words: str) -> Iterator[Holding]:
    found = would_remove(LongTermMemory(user).read(), words, embedding.engine().embed_many, MOST_ENTRIES)
    for entry in found:
        yield of_entry(entry, sure=has(words)(entry.text))


def of_entry(entry: Entry, sure: bool = True) -> Holding:
    return Holding(
        f"entry:{entry.position}:{entry.key}",
        "entry",
        entry.content,
        f"MEMORY.md, {entry.section}" if entry.section else "MEMORY.md",
        sure=sure,
    )


def in_logs(user: User, words: str) -> list[Holding]:
    return items(user, MemoryFileStorage(user).list_daily_log_dates(), lambda _, item: has(words)(item.text))


def items(
    user: User, days: Iterable[date | str], wanted: Callable[[LogEntry, Entry], bool], most: int = MOST_ITEMS
) -> list[Holding]:
    """Items of these days' logs, newest day first."""
    files, found = MemoryFileStorage(user), list[Holding]()
    for day in days:
        for entry in log_entries.entries_of(files.read_daily_log(day) or ""):
            for item in entries_of(entry.body):
                if wanted(entry, item):
                    ref = f"log:{day}:{key_of(entry)}:{item.key}"
                    session = entry.marker.session if entry.marker else ""
                    found.append(
                        Holding(ref, "log", item.content, f"Daily log, {day}", str(day), session=session)
                    )
                    if len(found) >= most:
                        return found
    return found


def key_of(entry: LogEntry) -> str:
    """Names an entry by its marker where it has one: other items may have gone from it meanwhile."""
    name = str(entry.marker) if entry.marker else entry.raw
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:16]


def in_chats(user: User, words: str) -> Iterator[Holding]:
    """Messages that the index finds and that have the words, or most of their terms; newest first."""
    hits = HybridSearchEngine(user).search(words, 200, sources=["transcript"], judged=False)
    ids = {hit.anchor for hit in hits if hit.anchor}
    found = Q(id__in=ids) | Q(content__icontains=words) if len(words) > 2 else Q(id__in=ids)
    rows = remembered(user).filter(found).select_related("session").order_by("-id")
    fits = has(words)
    for message in [row for row in rows if fits(row.content)][:MOST_MESSAGES]:
        yield of_message(message)


def of_message(message: Message) -> Holding:
    who = "You" if message.type == Message.Type.USER else "Assistant"
    return Holding(
        f"chat:{message.pk}",
        "chat",
        message.content,
        f"{who}, in “{message.session}”",
        session=str(message.session_id),
        message=message.pk,
    )


def has(words: str) -> Callable[[str], bool]:
    """Whether a text has the very words, or most of the terms that say something."""
    wanted, asked = normal(words), set(query_terms(words))

    def fits(text: str) -> bool:
        if wanted in normal(text):
            return True
        return bool(asked) and len(asked & set(terms(text))) >= SHARE * len(asked)

    return fits


def of_messages(user: User, ids: Collection[int]) -> list[Holding]:
    """What the logs tell of these messages, and what MEMORY.md learnt in their chats, perhaps of else."""
    said = Message.objects.filter(session__owner=user, id__in=list(ids))
    chats = {str(each) for each in said.values_list("session_id", flat=True)}
    days = {user.local_date(moment) for moment in said.values_list("created_at", flat=True)}
    near = sorted({str(day + timedelta(days=step)) for day in days for step in (-1, 0, 1)}, reverse=True)

    def tells(entry: LogEntry, _: Entry) -> bool:
        mark = entry.marker
        return bool(mark and mark.session in chats and any(mark.first <= each <= mark.last for each in ids))

    logged = items(user, near, tells)
    facts = [each for each in of_chats(user, chats) if each.kind == "entry"] if logged else []
    return [replace(each, sure=False) for each in (*facts, *logged)]


def of_chats(user: User, session_ids: Iterable[UUID | str]) -> list[Holding]:
    """What memory keeps of these chats: facts that were last said in one of them, and all log items."""
    wanted = {str(each) for each in session_ids}
    text = LongTermMemory(user).read()
    facts = [
        replace(of_entry(each.entry), session=str(each.said.session_id))
        for each in dates.dated(user, text)
        if each.said and str(each.said.session_id) in wanted
    ]
    days = MemoryFileStorage(user).list_daily_log_dates()
    logged = items(user, days, lambda entry, _: bool(entry.marker and entry.marker.session in wanted))
    return [*facts, *logged]
