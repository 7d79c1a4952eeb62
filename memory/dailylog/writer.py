"""DailyLogWriter: flushes new messages of a chat into the daily log, once, whatever fails on the way."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import date
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from chat import errors
from chat.errors import ModelError
from chat.models import Session
from memory.dailylog import commit, unlogged
from memory.dailylog.known import known_to
from memory.dailylog.summarisers import NoSummary, Summariser, Talk, summariser_for
from memory.dailylog.summary import Summary
from memory.dailylog.unlogged import DayOfChat, move_pointer, writable
from memory.jobs import claims, ledger
from memory.jobs.deadline import Deadline
from memory.jobs.ledger import FREE, Kind, Outcome, Trigger
from memory.longterm.memory import LongTermMemory
from memory.models import LedgerEntry, PendingEntry
from memory.storage import log_entries
from memory.storage.atomic import StorageError
from people.models import User

LATER = "Time ran out; the rest follows later."
BUDGET = 600.0  # seconds for one flush; the worker's own limit is higher
DOWN = {
    errors.AUTH,
    errors.NO_MODEL,
    errors.NOT_FOUND,
    errors.QUOTA,
    errors.RATE_LIMIT,
    errors.REDIRECT,
    errors.SERVER,
    errors.TIMEOUT,
    errors.UNREACHABLE,
}


@dataclass(frozen=True, slots=True)
class Flush:
    """How a flush ended."""

    outcome: str
    detail: str = ""
    messages: int = 0
    days: tuple[date, ...] = ()
    # There is more to write than fitted into the time.
    more: bool = False
    # A reply is still being made: it is for another flush.
    waiting: bool = False
    # It failed for a reason that any other chat would meet too.
    down: bool = False
    # Something was put into the files: the index has to follow.
    changed: bool = False
    session_id: UUID | None = None

    @property
    def ok(self) -> bool:
        return self.outcome != Outcome.FAILED


class Withdrawn(Exception):
    """The chat was deleted or memory switched off while its summary was made."""


class FlushRound:
    """One pass over what is new: its row in the ledger and what it came to so far."""

    def __init__(self, user: User, session: Session, trigger: str) -> None:
        self.user, self.session, self.trigger = user, session, trigger
        self.row: LedgerEntry | None = None
        self.days = list[date]()
        self.counted = 0
        self.changed = False
        self.summaries = list[Summary]()
        # What was not done as a model wanted it.
        self.notes = list[str]()

    def start(self, writer: str = "") -> LedgerEntry:
        self.row = self.row or ledger.start(
            self.user, Kind.FLUSH, self.trigger, self.session.id, model_name=writer
        )
        return self.row

    def end(self, outcome: str, detail: str = "", more: bool = False) -> Flush:
        notes = [note for each in self.summaries for note in each.notes] + self.notes
        detail = " ".join(dict.fromkeys([*([detail] if detail else []), *notes]))
        ledger.finish(
            self.start(),
            outcome,
            detail,
            sum((each.cost for each in self.summaries), FREE),
            self.counted,
        )
        return Flush(
            outcome,
            detail,
            self.counted,
            tuple(dict.fromkeys(self.days)),
            more,
            changed=self.changed,
            session_id=self.session.id,
        )


class DailyLogWriter:
    """Writes what is new in a chat to the daily log. One at a time for a chat, and never twice."""

    def __init__(self, user: User) -> None:
        self.user = user

    def write_daily_log(
        self,
        session_id: UUID | str,
        trigger: str = Trigger.MANUAL,
        *,
        wait: float = 60.0,
        budget: float = BUDGET,
    ) -> Flush:
        """Flush one chat. Never raises: failure is in the ledger, and the next trigger tries again."""
        session = self._session(session_id)
        if session is None:
            return Flush(Outcome.NOTHING, "This chat doesn't write to memory.")
        deadline = Deadline.of(budget)
        held = claims.take(claims.flush(session.id), wait)
        if held is None:
            return Flush(Outcome.NOTHING, "This chat is already being summarised.")
        try:
            deadline = Deadline(deadline.until, held.renew)
            flush = self._round(session, trigger, deadline)
            changed = flush.changed
            while flush.ok and not flush.more and not held.release():
                flush = self._round(session, trigger, deadline)
                changed |= flush.changed
            return replace(flush, waiting=unlogged.open_reply(session) is not None, changed=changed)
        finally:
            held.drop()

    def write_daily_logs(
        self, trigger: str = Trigger.MANUAL, only: Collection[UUID] | None = None, budget: float = BUDGET
    ) -> Iterator[Flush]:
        """Flush every chat with something new, or of those only these, as long as the time lasts.

        A provider that is down is asked only once. A chat that no time was left for comes with `more`.
        """
        deadline, down = Deadline.of(budget), set[str]()
        for session in unlogged.chats(self.user).select_related("agent"):
            if only is not None and session.id not in only:
                continue
            writer = summariser_for(session).name
            if writer in down:
                continue
            if deadline.left <= 0:
                yield Flush(Outcome.NOTHING, LATER, more=True, session_id=session.id)
                continue
            flush = self.write_daily_log(session.id, trigger, wait=0.0, budget=deadline.left)
            if flush.down:
                down.add(writer)
            yield flush

    def _session(self, session_id: UUID | str) -> Session | None:
        try:
            key = session_id if isinstance(session_id, UUID) else UUID(str(session_id))
        except ValueError:
            return None
        return writable(self.user).select_related("agent").filter(id=key).first()

    def _round(self, session: Session, trigger: str, deadline: Deadline) -> Flush:
        this = FlushRound(self.user, session, trigger)
        try:
            return self._write_new(this, deadline)
        except Withdrawn as error:
            return this.end(Outcome.NOTHING, str(error))
        except Exception as error:
            # Parts that are finished stay finished; the pointer is where the last of them ended.
            return replace(this.end(Outcome.FAILED, why(error)), down=is_down(error))

    def _write_new(self, this: FlushRound, deadline: Deadline) -> Flush:
        """Steps 1 to 10 of RFC-013."""
        self._finish_pending(this)
        parts = unlogged.parts(self.user, this.session)
        if not any(part.told for part in parts):
            if parts:
                move_pointer(this.session.id, parts[-1].messages[-1].id)
            return Flush(Outcome.NOTHING, "Nothing new.", changed=this.changed, session_id=this.session.id)
        writer = summariser_for(this.session)
        this.start(writer.name)
        more = False
        for part in parts:
            last = part.messages[-1].id
            more = deadline.left <= 0 or self._write_part(this, part, writer, deadline) < last
            if more:
                break
        outcome = Outcome.WRITTEN if this.days else Outcome.NOTHING
        return this.end(outcome, LATER if more else "", more)

    def _write_part(self, this: FlushRound, part: DayOfChat, writer: Summariser, deadline: Deadline) -> int:
        """One date's messages; the last of them that the time allowed."""
        told, found, done = part.told, Summary(), 0
        if told:
            found, done = writer.summarise(self._talk(part), deadline)
        whole = done == len(told)
        last = part.messages[-1].id if whole else told[done - 1].id
        self._save(this, self._pending(this, part, writer, found, last))
        this.summaries.append(found)
        this.counted += done
        this.days += [part.day] if found.log else []
        return last

    def _talk(self, part: DayOfChat) -> Talk:
        """What was said on a date, with what MEMORY.md says now: later days see what earlier ones added."""
        known = known_to(self.user, LongTermMemory(self.user).read())
        return Talk(part.said, part.day, known, self.user.today())

    def _save(self, this: FlushRound, pending: PendingEntry) -> None:
        # Memory may have been switched off, or the chat deleted, while the model was thinking.
        if not writable(self.user).filter(id=this.session.id).exists():
            raise Withdrawn("Memory was switched off for this chat in the meantime; nothing was written.")
        pending.save()
        self._settle(this, pending)

    def _finish_pending(self, this: FlushRound) -> None:
        """What a crash left between the model's answer and the pointer."""
        for pending in PendingEntry.objects.filter(owner=self.user, session_id=this.session.id):
            self._settle(this, pending)

    def _settle(self, this: FlushRound, pending: PendingEntry) -> None:
        # Said first: of a write that fails half-way, the index follows the half that was written.
        this.changed = True
        this.notes += commit.write(self.user, pending)
        with transaction.atomic():
            move_pointer(this.session.id, pending.last)
            pending.delete()

    def write_past(
        self, session_id: UUID, after: int, until: int, writer: Summariser, budget: float = BUDGET
    ) -> tuple[Flush, int]:
        """Write the log of messages that came from elsewhere, by a chosen summariser; also how far that went.

        They are behind the pointer, which no trigger goes back over.
        """
        session = self._session(session_id)
        if session is None:
            return Flush(Outcome.NOTHING, "This chat doesn't write to memory."), until
        with claims.holding(claims.flush(session.id), wait=60.0) as held:
            if held is None:
                return Flush(Outcome.NOTHING, "This chat is already being summarised.", more=True), after
            this, reached, more = FlushRound(self.user, session, Trigger.IMPORT), after, False
            deadline = Deadline(Deadline.of(budget).until, held.renew)
            try:
                self._finish_pending(this)
                this.start(writer.name)
                for part in unlogged.past(self.user, session, after, until):
                    if more := deadline.left <= 0:
                        break
                    reached = self._write_part(this, part, writer, deadline)
                    if more := reached < part.messages[-1].id:
                        break
            except Withdrawn as error:
                return this.end(Outcome.NOTHING, str(error)), until
            except Exception as error:
                return replace(this.end(Outcome.FAILED, why(error)), down=is_down(error)), reached
            outcome = Outcome.WRITTEN if this.days else Outcome.NOTHING
            return this.end(outcome, LATER if more else "", more), reached if more else until

    def redo_day(
        self, day: date, trigger: str = Trigger.MANUAL, *, by: str = "", budget: float = BUDGET
    ) -> list[Flush]:
        """Summarise a day's logged messages again by a model: all, or only chats with an entry made `by`.

        An old entry stays until its successor is written.
        """
        deadline = Deadline.of(budget)
        flushes = list[Flush]()
        chats = unlogged.said_on(self.user, day).select_related("agent").exclude(last_logged_message=None)
        if by:
            chats = chats.filter(id__in=unlogged.logged_by(self.user, day, by))
        for session in chats:
            found = tuple(unlogged.logged_on(self.user, session, day))
            part, writer = DayOfChat(day, found, self.user.memory_since), summariser_for(session)
            if writer.by == log_entries.MODEL and part.told:
                flushes.append(self._redo(session, part, writer, trigger, deadline))
        return flushes

    def _redo(
        self, session: Session, part: DayOfChat, writer: Summariser, trigger: str, deadline: Deadline
    ) -> Flush:
        with claims.holding(claims.flush(session.id), wait=60.0) as held:
            if held is None:
                return Flush(Outcome.NOTHING, "This chat is already being summarised; try again.")
            this = FlushRound(self.user, session, trigger)
            this.start(writer.name)
            try:
                deadline = Deadline(deadline.until, held.renew)
                found, done = writer.summarise(self._talk(part), deadline)
                if done < len(part.told):
                    raise NoSummary("There was not enough time for the whole day. Try again.")
                last = part.messages[-1].id
                self._save(this, self._pending(this, part, writer, found, last, replaces=True))
            except Withdrawn as error:
                return this.end(Outcome.NOTHING, str(error))
            except Exception as error:
                return this.end(Outcome.FAILED, why(error))
            this.summaries, this.counted, this.days = [found], done, [part.day]
            return this.end(Outcome.WRITTEN if found.log else Outcome.NOTHING)

    def _pending(
        self,
        this: FlushRound,
        part: DayOfChat,
        writer: Summariser,
        found: Summary,
        last: int,
        replaces: bool = False,
    ) -> PendingEntry:
        return PendingEntry(
            owner=self.user,
            session_id=this.session.id,
            day=part.day,
            first=part.messages[0].id,
            last=last,
            trigger=this.trigger,
            by=writer.by,
            body=found.log,
            facts=commit.stored(found),
            replaces=replaces,
            made_at=timezone.now(),
        )


def is_down(error: Exception) -> bool:
    """Whether the provider answers nobody now; one that only refuses this chat may take the others."""
    return isinstance(error, ModelError) and error.code in DOWN


def why(error: Exception) -> str:
    """A sentence for the ledger."""
    return ledger.reason(error, ModelError, StorageError, NoSummary)
