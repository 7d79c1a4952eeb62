"""Forgetting itself: what was picked goes or is silenced, stays forgotten, can be undone or purged."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from chat.models import Message
from memory.dailylog import forgotten, removal
from memory.forgetting.holding import key_of
from memory.index.sources.chats import ChatSource
from memory.longterm import dates, revisions
from memory.longterm.memory import Author, LongTermMemory
from memory.models import Forgotten, PendingEntry, Proposal, RemovedEntries, Revision
from memory.storage import entries
from memory.storage.entries import Entry, EntryChanged, entries_of
from memory.storage.files import MemoryFileStorage
from memory.storage.log_entries import LogEntry
from oneclaw.outside import number
from people.models import User

# What a model's reply may consist of.
ANSWERS = (Message.Type.AI_RESPONSE, Message.Type.TOOL_CALL, Message.Type.TOOL_RESULT)


@dataclass(frozen=True, slots=True)
class ForgottenParts:
    """What a request came to: how many of each kind went, and how many were there no more."""

    row: Forgotten | None
    entries: int = 0
    items: int = 0
    messages: int = 0
    missed: int = 0

    def __str__(self) -> str:
        parts = [
            counted(self.entries, "entry", "entries") + " of MEMORY.md" if self.entries else "",
            counted(self.items, "log item", "log items") if self.items else "",
            counted(self.messages, "message", "messages") + " taken off the record" if self.messages else "",
        ]
        said = ", ".join(filter(None, parts))
        missed = f" {counted(self.missed, 'place', 'places')} had changed meanwhile." if self.missed else ""
        return (f"Forgotten: {said}." if said else "Nothing was forgotten.") + missed


def counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def forget(user: User, refs: Collection[str], session_id: UUID | str | None = None) -> ForgottenParts:
    """Take out what these refs name. Files first; each step leaves what undo needs before the next begins."""
    wanted = dict.fromkeys(refs)
    named = [ref.split(":") for ref in wanted]
    numbered = [(ref, key) for ref in named if len(ref) > 1 and (key := number(ref[1])) is not None]
    picked = {(key, ref[2]) for ref, key in numbered if ref[0] == "entry" and len(ref) == 3}
    places = {(ref[1], ref[2], ref[3]) for ref in named if ref[0] == "log" and len(ref) == 4}
    ids = [key for ref, key in numbered if ref[0] == "chat" and len(ref) == 2]
    gone, revision = _from_memory(user, picked, session_id)
    removed, items = _from_logs(user, places)
    silenced = silence(user, ids)
    if not (gone or items or silenced):
        return ForgottenParts(None, missed=len(wanted))
    said = Message.objects.filter(id__in=silenced).values_list("content", flat=True)
    texts = [*gone, *items, *(text[:1_000] for text in said)]
    row = Forgotten.objects.create(
        owner=user,
        traces=forgotten.trace_of(user, texts),
        revision_id=revision.pk if revision else None,
        removed_id=removed.pk if removed else None,
        messages=silenced,
    )
    missed = len(wanted) - len(gone) - len(items) - len(silenced)
    return ForgottenParts(row, len(gone), len(items), len(silenced), missed)


def _from_memory(
    user: User, picked: set[tuple[int, str]], session_id: UUID | str | None
) -> tuple[list[str], Revision | None]:
    gone = list[str]()

    def without(text: str) -> str:
        gone.clear()
        # From the end, so that places stay true.
        for position, key in sorted(picked, reverse=True):
            try:
                entry = entries.find(text, position, key)
            except EntryChanged:
                continue
            gone.append(entry.content)
            text = entries.delete(text, entry.position, key)
        return text

    revision = LongTermMemory(user).change(without, Author.USER, "Forgotten", session_id) if picked else None
    return gone, revision


def _from_logs(user: User, places: set[tuple[str, str, str]]) -> tuple[RemovedEntries | None, list[str]]:
    days = [
        day for day in MemoryFileStorage(user).list_daily_log_dates() if day in {each[0] for each in places}
    ]

    def wanted(day: str, entry: LogEntry, item: Entry) -> bool:
        return (day, key_of(entry), item.key) in places

    return removal.remove_items(user, days, wanted) if places else (None, [])


def silence(user: User, ids: Collection[int]) -> list[int]:
    """Take messages off the record: out of recall and search at once, and out of every summary to come."""
    rows = wherever_said(user, ids).filter(off_record=False)
    found = dict(rows.values_list("id", "session_id"))
    Message.objects.filter(id__in=list(found)).update(off_record=True, silenced_at=timezone.now())
    for message_id, session_id in found.items():
        # A summary that is not written yet tells of it: it is made again without.
        holding = Q(first__lte=message_id, last__gte=message_id)
        PendingEntry.objects.filter(holding, owner=user, session_id=session_id).delete()
    _look_again(user, set(found.values()))
    return sorted(found)


def wherever_said(user: User, ids: Collection[int]) -> QuerySet[Message]:
    """Messages with all their copies: what was said is on the record or off it, whichever branch shows it."""
    own = Message.objects.filter(session__owner=user)
    roots = [message.said_id for message in own.filter(id__in=list(ids)).only("id", "copied_from")]
    return own.filter(Q(id__in=roots) | Q(copied_from__in=roots))


def exchange_of(user: User, message_id: int) -> list[int]:
    """A message of the user and everything that answers it; of a reply, what it answers too."""
    message = Message.objects.filter(session__owner=user, id=message_id).select_related("run").first()
    if message is None:
        return []
    chat = Message.objects.filter(session_id=message.session_id)
    prompt = message.run.prompt_id if message.run else message.id
    within = Q(id=prompt) | Q(run__prompt=prompt)
    if message.type == Message.Type.USER:
        # Imported replies, and those that a program brought with its history, have no run.
        later = chat.filter(id__gt=message.id)
        following = later.filter(type=Message.Type.USER).order_by("id").values_list("id", flat=True).first()
        until = Q(id__lt=following) if following else Q()
        within |= Q(run=None, id__gt=message.id, type__in=ANSWERS) & until
    return list(chat.filter(within).values_list("id", flat=True))


def unsilence(user: User, ids: Collection[int]) -> list[int]:
    """Put back what its owner took off the record; what was said with memory off stays off."""
    rows = wherever_said(user, ids).filter(silenced_at__isnull=False)
    found = dict(rows.values_list("id", "session_id"))
    Message.objects.filter(id__in=list(found)).update(off_record=False, silenced_at=None)
    _look_again(user, set(found.values()))
    return sorted(found)


def _look_again(user: User, session_ids: Collection[UUID]) -> None:
    for session_id in session_ids:
        ChatSource(user).look_again(session_id)


def undo(user: User, row: Forgotten) -> None:
    """Bring back what a request took away; UndoError says if an entry of MEMORY.md can't be."""
    if row.revision_id and (revision := Revision.objects.filter(owner=user, pk=row.revision_id).first()):
        LongTermMemory(user).undo(revision)
    if row.removed_id and (removed := RemovedEntries.objects.filter(owner=user, pk=row.removed_id).first()):
        removal.put_back(user, removed)
    unsilence(user, row.messages)
    row.delete()


def purge(user: User, row: Forgotten) -> None:
    """Take what was forgotten out of the history and the backups of MEMORY.md too: no undo after that."""
    texts = list[str]()
    if row.revision_id and (revision := Revision.objects.filter(owner=user, pk=row.revision_id).first()):
        after = {entry.key for entry in entries_of(revision.after)}
        texts = [entry.text for entry in entries_of(revision.before) if entry.key not in after]
    doomed = {dates.words_of(text) for text in texts}
    long_term = LongTermMemory(user)
    with long_term.files.lock():
        if doomed:
            for each in Revision.objects.filter(owner=user):
                _scrub(each, doomed)
            for name in long_term.files.list_backups():
                old = long_term.files.read_backup(name) or ""
                if (new := scrubbed(old, doomed)) != old:
                    long_term.files.rewrite_backup(name, new)
            Proposal.objects.filter(owner=user).delete()
            dates.forget(user, texts)
    RemovedEntries.objects.filter(owner=user, pk=row.removed_id or 0).delete()
    Forgotten.objects.filter(pk=row.pk).update(revision_id=None, removed_id=None)


def _scrub(revision: Revision, doomed: set[str]) -> None:
    before, after = scrubbed(revision.before, doomed), scrubbed(revision.after, doomed)
    if (before, after) != (revision.before, revision.after):
        Revision.objects.filter(pk=revision.pk).update(
            before=before, after=after, after_digest=revisions.digest(after), size=len(before) + len(after)
        )


def scrubbed(text: str, doomed: set[str]) -> str:
    """A text of the past without these entries."""
    for entry in reversed(entries_of(text)):
        if dates.words_of(entry.text) in doomed:
            text = entries.delete(text, entry.position, entry.key)
    return text


def purge_history(user: User) -> int:
    """Delete all history and all backups of MEMORY.md, and what removals from logs could bring back."""
    long_term = LongTermMemory(user)
    with long_term.files.lock():
        count = Revision.objects.filter(owner=user).count() + len(long_term.files.list_backups())
        Revision.objects.filter(owner=user).delete()
        long_term.files.prune_old_backups(keep=0)
        text = long_term.read()
        dates.prune(user, text, kept=timedelta(0))
        if text.strip():
            revisions.record(user, Author.USER, "History purged", text, text)
    RemovedEntries.objects.filter(owner=user).delete()
    Proposal.objects.filter(owner=user).delete()
    Forgotten.objects.filter(owner=user).update(revision_id=None, removed_id=None)
    return count
