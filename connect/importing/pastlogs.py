"""Daily logs for chats that came from elsewhere: an offer with an estimate, then the work, oldest first."""

import math
import time
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Avg, F, Q, QuerySet, Sum
from django.db.models.functions import Length, TruncDate
from django.utils import timezone
from django_q.tasks import async_task

from chat.models import AiModel, Message, Run, Session
from connect.importing import undoing
from connect.models import Import, Imported, LogWriting
from memory.dailylog.summarisers import HighlightsSummariser, ModelSummariser, Summariser
from memory.dailylog.summary import PIECE_CHARS
from memory.jobs import claims, progress
from memory.jobs.ledger import Kind, Outcome
from memory.manager import MemoryManager, UndoError
from memory.models import LedgerEntry, Revision
from people.models import User

Status = LogWriting.Status
SLICE = 300.0  # seconds of one task
PACE = 1.0  # between two chats
# How long a reply that its owner waits for may hold the work up.
PATIENCE = 60.0
# For the estimate: characters of a token, what a call reads besides and writes, seconds it takes.
CHARACTERS, BESIDES, WRITTEN, SECONDS = 4, 1_500, 250, 8.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """What writing the logs would take."""

    chats: int
    calls: int
    tokens: int
    seconds: int

    @property
    def minutes(self) -> int:
        return math.ceil(self.seconds / 60)


def key(writing: LogWriting) -> str:
    return f"pastlogs:{writing.pk}"


def waiting(by: Import) -> QuerySet[Imported]:
    """Chats of an import whose log is not written, the oldest first; not those that are gone or silent."""
    rows = Imported.objects.filter(by=by, what=Imported.What.CHAT).exclude(last_message=None)
    rows = rows.filter(Q(logged_until=None) | Q(logged_until__lt=F("last_message")))
    writable = Session.objects.filter(owner=by.owner, deleted_at=None, memory_mode=Session.MemoryMode.NORMAL)
    return rows.filter(session_id__in=writable.values("id")).order_by("said_at", "pk")


def estimate(by: Import) -> Estimate:
    """By what the chats hold and what summaries took so far."""
    chats = waiting(by)
    told = Message.objects.filter(
        session_id__in=chats.values("session_id"), shelf=None, type__in=("user", "ai_response")
    )
    days = (
        told.annotate(day=TruncDate("created_at"))
        .values("session_id", "day")
        .annotate(size=Sum(Length("content")))
        .values_list("size", flat=True)
    )
    calls = characters = 0
    for size in days.iterator():
        calls += max(1, math.ceil((size or 0) / PIECE_CHARS))
        characters += size or 0
    tokens = characters // CHARACTERS + calls * (BESIDES + WRITTEN)
    return Estimate(chats.count(), calls, tokens, math.ceil(calls * _seconds(by.owner)))


def _seconds(user: User) -> float:
    taken = LedgerEntry.objects.filter(
        owner=user, kind=Kind.FLUSH, outcome=Outcome.WRITTEN, input_tokens__gt=0
    ).aggregate(mean=Avg(F("finished_at") - F("started_at")))["mean"]
    return float(taken.total_seconds()) if taken else SECONDS


def start(by: Import, model: AiModel | None) -> LogWriting:
    """Begin, or go on with another model or after Stop."""
    writing = LogWriting.objects.update_or_create(
        by=by,
        defaults={
            "owner": by.owner,
            "model": model,
            "with_model": model is not None,
            "status": Status.RUNNING,
            "stop_requested": False,
            "error": "",
            "moved_at": timezone.now(),
            "done": 0,
            "total": waiting(by).count(),
        },
    )[0]
    async_task("connect.tasks.write_logs", writing.pk)
    return writing


def stop(by: Import) -> None:
    LogWriting.objects.filter(by=by, status=Status.RUNNING).update(stop_requested=True)


def summariser(writing: LogWriting) -> Summariser | None:
    """Who writes; None when the model that was chosen is gone or may not."""
    if not writing.with_model:
        return HighlightsSummariser()
    model = AiModel.objects.usable().filter(pk=writing.model_id or 0).first()
    return ModelSummariser(model) if model and model.may_write_memory else None


def write(writing: LogWriting, seconds: float = SLICE, pace: float = PACE) -> bool:
    """Write logs for as long as the time lasts; True when there is nothing more to do now."""
    with claims.holding(key(writing)) as held:
        writing.refresh_from_db()
        if held is None or writing.status != Status.RUNNING:
            return True
        user, until = writing.owner, time.monotonic() + seconds
        writer = summariser(writing)
        if writer is None or not user.memory_enabled:
            why = "The chosen model is gone." if writer is None else "Memory is switched off."
            return _end(writing, Status.FAILED, f"{why} Choose again to go on.")
        manager, tried = MemoryManager(user), set[int]()
        with progress.shown(user, "pastlogs", "Writing logs of imported chats", page="settings:data") as note:
            while chat := waiting(writing.by).exclude(pk__in=tried).first():
                if _is_to_stop(writing):
                    return _end(writing, Status.STOPPED)
                if time.monotonic() > until:
                    return False
                note(writing.done, writing.total)
                _let_replies_pass(user)
                held.renew()
                tried.add(chat.pk)
                if problem := _one(writing, chat, manager, writer, until - time.monotonic()):
                    return _end(writing, Status.FAILED, problem)
                time.sleep(pace if writing.with_model else 0)
        if left := waiting(writing.by).count():
            return _end(
                writing, Status.FAILED, f"{left} chats could not be summarised. Start again to retry."
            )
        return _end(writing, Status.DONE)


def _one(
    writing: LogWriting, chat: Imported, manager: MemoryManager, writer: Summariser, seconds: float
) -> str:
    """One chat's log; a sentence if there is no point in going on with the next."""
    flush, reached = manager.write_past_log(
        chat.chat_id, chat.logged_until or 0, chat.last_message or 0, writer, max(seconds, 30.0)
    )
    Imported.objects.filter(pk=chat.pk).update(logged_until=reached)
    if flush.ok and not flush.more:
        writing.done += 1
    row = LedgerEntry.objects.filter(owner=writing.owner, session_id=chat.session_id).first()
    writing.input_tokens += (row.input_tokens or 0) if row else 0
    writing.output_tokens += (row.output_tokens or 0) if row else 0
    writing.moved_at = timezone.now()
    writing.save(update_fields=["done", "input_tokens", "output_tokens", "moved_at"])
    return f"{flush.detail} Start again when it answers." if flush.down else ""


def _is_to_stop(writing: LogWriting) -> bool:
    return LogWriting.objects.filter(pk=writing.pk, stop_requested=True).exists()


def _let_replies_pass(user: User) -> None:
    """Old chats have time: whoever waits for a reply now goes first."""
    until = time.monotonic() + PATIENCE
    while Run.objects.filter(session__owner=user, status__in=Run.OPEN).exists() and time.monotonic() < until:
        time.sleep(1.0)


def _end(writing: LogWriting, status: str, error: str = "") -> bool:
    LogWriting.objects.filter(pk=writing.pk).update(
        status=status, error=error, stop_requested=False, moved_at=timezone.now()
    )
    writing.refresh_from_db()
    return True


def take_back(user: User, by: Import) -> list[str]:
    """What logs and MEMORY.md say of an import's chats; sentences on what could not be taken back."""
    manager, problems = MemoryManager(user), list[str]()
    things = Imported.objects.filter(by=by, what=Imported.What.CHAT).exclude(logged_until=None)
    ids = [thing.chat_id for thing in things.defer("messages", "places") if not undoing.stays(thing)]
    _undo_facts(manager, undoing.take_back_logs_of_added(user, by), problems, since=by.created_at)
    for at in range(0, len(ids), 200):
        some = ids[at : at + 200]
        manager.remove_log_entries_of(some)
        _undo_facts(manager, some, problems)
    LogWriting.objects.filter(by=by).delete()
    return list(dict.fromkeys(problems))


def _undo_facts(
    manager: MemoryManager, chats: list[UUID], problems: list[str], since: datetime | None = None
) -> None:
    facts = Revision.objects.filter(
        owner=manager.user, author=Revision.Author.DAILY_LOG, session_id__in=chats, undone_by=None
    )
    for revision in facts.filter(created_at__gte=since) if since else facts:
        try:
            manager.undo(revision.pk)
        except UndoError as error:
            problems.append(f"MEMORY.md keeps a fact from one of the chats: {error}")
