"""MemoryManager, the one door to a user's memory: each method calls its room, and the index follows here."""

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from django.conf import settings

from memory import embedding
from memory.compaction.compactor import Compaction, MemoryCompactor
from memory.dailylog import forgotten, removal, unlogged
from memory.dailylog.summarisers import Summariser
from memory.dailylog.writer import BUDGET, DailyLogWriter, Flush
from memory.forgetting import acts, holding
from memory.forgetting import lines as receipt_lines
from memory.forgetting.acts import ForgottenParts
from memory.forgetting.holding import Holding
from memory.forgetting.lines import LineChange, ShownLine
from memory.index import backfill, portions, rebuild
from memory.index.backfill import Progress
from memory.index.index import Index
from memory.index.sources.chats import ChatSource
from memory.injection.framing import unframed
from memory.injection.injector import DEFAULT_TOKEN_BUDGET, Injection, MemoryInjector
from memory.injection.standing import offered
from memory.jobs.ledger import Outcome, Trigger
from memory.longterm import dates, revisions
from memory.longterm.memory import Author, LongTermMemory, SavedEdit
from memory.longterm.revisions import UndoError
from memory.longterm.use import EntriesInUse
from memory.models import Forgotten, MemoryIndex, Proposal, RemovedEntries, Revision
from memory.search.engine import DEFAULT_TOP_K, HybridSearchEngine
from memory.search.results import MemorySearchResult
from memory.speech.requests import asks_for_silence, asks_to_forget
from memory.storage import edits, entries
from memory.storage.corrections import Correction, NotAnEntry
from memory.storage.entries import EntryChanged
from memory.storage.files import LOCK_WAIT, MEMORY_FILE, MemoryFileStorage
from memory.storage.log_entries import LogEntry
from memory.storage.markdown import without_comments
from memory.storage.sections import section_for
from oneclaw.masking import kind_of_secret
from oneclaw.server import measures
from people.models import User

__all__ = [
    "DuplicateMemory",
    "EntryChanged",
    "Holding",
    "Injection",
    "LineChange",
    "MemoryManager",
    "MemorySearchResult",
    "MemoryStats",
    "NotAnEntry",
    "SecretRefused",
    "ShownLine",
    "UndoError",
    "asks_for_silence",
    "asks_to_forget",
    "unframed",
]

log = logging.getLogger(__name__)

# So much of a message's beginning, and of its end, is looked for in memory.
ASKED = 4_000


class DuplicateMemory(Exception):
    """The words are in MEMORY.md already."""


class SecretRefused(ValueError):
    """The words hold a secret; the message says of which kind."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"This contains {kind}. Secrets are not kept in memory, so nothing was saved.")


def asked(query: str) -> str:
    """A question as it is searched for. Reading more than a few pages of it would only take time."""
    return query if len(query) <= 2 * ASKED else f"{query[:ASKED]}\n{query[-ASKED:]}"


def refuse_secret(text: str) -> None:
    """A file may hold what its owner writes there by hand; nobody else puts a secret into it."""
    if kind := kind_of_secret(text):
        raise SecretRefused(kind)


@dataclass(frozen=True, slots=True)
class MemoryStats:
    daily_log_count: int
    total_size_bytes: int
    indexed_chunk_count: int
    embedding_model_loaded: bool


class MemoryManager:
    """What one user's memory can do. Files first; the index follows and may fail without harm."""

    def __init__(
        self, user: User, lock_wait: float = LOCK_WAIT, check: Callable[[], None] | None = None
    ) -> None:
        """`check` is called right before MEMORY.md is changed, and may raise."""
        self.user = user
        self.files = MemoryFileStorage(user, lock_wait)
        self.long_term = LongTermMemory(user, self.files, check)

    # Recall

    @measures.timed("search")
    def search_memory(
        self,
        query: str,
        top_k: int = DEFAULT_TOP_K,
        *,
        sources: Sequence[str] | None = None,
        since: date | None = None,
        until: date | None = None,
        leave_out: str = "",
        previous: str = "",
        judged: bool = True,
    ) -> list[MemorySearchResult]:
        """The best memories for a question; none when nothing in memory fits it.

        `leave_out` is the key of a source not to look in. `previous` is the user's message before this one:
        a short follow-up is understood together with it. `judged=False` gives the best hits however poor.
        """
        return HybridSearchEngine(self.user).search(
            asked(query),
            top_k,
            sources=sources,
            since=since,
            until=until,
            leave_out=leave_out,
            previous=previous[-2 * ASKED :],
            judged=judged,
        )

    def inject(
        self,
        query: str,
        token_budget: int | None = None,
        session_id: UUID | str | None = None,
        *,
        previous: str = "",
    ) -> Injection:
        """What memory adds to a request, in its stable and its per-message part, with the receipt.

        `session_id` is the chat the message is in: its own transcript is not recalled into it. `previous` is
        the user's message before this one.
        """
        if not self.user.memory_enabled:
            return Injection()
        budget = settings.MEMORY_TOKENS if token_budget is None else token_budget
        leave_out = f"chat:{session_id}" if session_id else ""
        return self._injector(previous).build(query, budget, leave_out)

    def get_injection_content(self, query: str, token_budget: int = DEFAULT_TOKEN_BUDGET) -> str:
        """The whole block as text; empty when there is nothing to say."""
        return self._injector().text(query, token_budget) if self.user.memory_enabled else ""

    def _injector(self, previous: str = "") -> MemoryInjector:
        def search(query: str, top_k: int, leave_out: str) -> list[MemorySearchResult]:
            return self.search_memory(query, top_k, leave_out=leave_out, previous=previous)

        return MemoryInjector(self.long_term, search, EntriesInUse(self.user))

    def injected_lines(self, receipt: dict[str, Any]) -> tuple[str, bool]:
        """The lines of MEMORY.md that a receipt counts, and whether they are those that went in.

        When the text is no longer in the history, they are the lines as they are now.
        """
        now, file = self.long_term.read(), receipt.get("file", "")
        then = now if file == revisions.digest(now) else revisions.text_of(self.user, file)
        lines = offered(now if then is None else then).lines
        left_out = set(receipt.get("skipped", ())) if then is not None else set()
        used = [line for at, line in enumerate(lines) if at not in left_out]
        return "\n".join(used[: receipt["lines"]]), then is not None

    def injected_entries(self, receipt: dict[str, Any]) -> tuple[list[str], bool]:
        """The entries among those lines."""
        if not receipt.get("lines"):
            return [], True
        lines, exact = self.injected_lines(receipt)
        return [entry.content for entry in entries.entries_of(lines)], exact

    # Lines that a receipt shows

    def with_those_gone(self, lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Lines of a receipt, each with whether memory holds it no more."""
        there = receipt_lines.still_there(self.user, [ShownLine.of(line) for line in lines])
        return [line | {"gone": not stands} for line, stands in zip(lines, there, strict=True)]

    def edit_line(self, line: ShownLine, words: str) -> LineChange:
        """Correct a line; EntryChanged if it no longer stands, as for the others here."""
        refuse_secret(words)
        return self._followed(receipt_lines.edit(self.user, line, words))

    def pin_line(self, line: ShownLine) -> LineChange:
        """Make a line a standing request."""
        forgotten.allow(self.user, line.text)
        return self._followed(receipt_lines.pin(self.user, line))

    def forget_line(self, line: ShownLine) -> LineChange:
        return self._followed(receipt_lines.forget(self.user, line))

    def undo_line(self, names: str) -> None:
        """Take back what an action at a line left under these names; UndoError says why it can't be."""
        receipt_lines.undo(self.user, names)
        self.refresh_index()

    def _followed(self, change: LineChange) -> LineChange:
        self.refresh_index()
        return change

    # Long-term memory

    def read_long_term_memory(self) -> str:
        return self.long_term.read()

    def save_to_long_term_memory(
        self,
        content: str,
        category: str | None = None,
        *,
        user_requested: bool = False,
        author: str = Author.USER,
        session_id: UUID | str | None = None,
        refuse_duplicate: bool = False,
        by: str = "",
    ) -> Revision | None:
        """Write an entry into its category's section; with `refuse_duplicate`, only words that are new.

        `by` names a program that writes from outside.
        """
        content = content.strip()
        if not content:
            raise ValueError("There is nothing to save.")
        refuse_secret(content)
        if user_requested:
            # Asked for again, it is forgotten no more.
            forgotten.allow(self.user, content)
        section = section_for(category, self.long_term.read())
        entry = edits.requested(content) if user_requested else content

        def insert(text: str) -> str:
            same = entries.saying(text, content) if user_requested else None
            if same and not same.user_requested and author == Author.USER:
                # Noted before, and now asked for by its owner: the same entry stays for good.
                return entries.edit(text, same.position, same.key, edits.requested(same.content))
            if refuse_duplicate and (same or edits.is_duplicate(text, content)):
                raise DuplicateMemory("This is already in MEMORY.md.")
            return edits.insert(text, section, entry)

        reason = f"Saved to {section}" + (", as you asked" if user_requested else "")
        revision = self.long_term.change(insert, author, reason, session_id, by=by)
        self._index_memory_file()
        return revision

    def update_long_term_memory(
        self,
        old_text: str,
        new_text: str,
        *,
        author: str = Author.USER,
        session_id: UUID | str | None = None,
    ) -> int:
        """Reword the entry with these words, or delete it by an empty text; how many fit (1 is success)."""
        try:
            return self.correct_entry(old_text, new_text, author=author, session_id=session_id)[0].count
        except NotAnEntry:
            return 0

    def correct_entry(
        self,
        old_text: str,
        new_text: str,
        *,
        author: str = Author.USER,
        session_id: UUID | str | None = None,
        by: str = "",
    ) -> tuple[Correction, Revision | None]:
        """As `update_long_term_memory`: what it came to and its revision. NotAnEntry says why not."""
        refuse_secret(new_text)
        correction, revision = self.long_term.correct(old_text, new_text, author, session_id, by)
        if correction.count == 1:
            self._index_memory_file()
        return correction, revision

    def change_long_term_memory(self, edit: Callable[[str], str], reason: str) -> Revision | None:
        """Let `edit` turn the text into the next, by its user's hand; None if nothing changed."""
        revision = self.long_term.change(edit, Author.USER, reason)
        self._index_memory_file()
        return revision

    def save_edit(self, base: str | None, mine: str) -> SavedEdit:
        """Save what an editor made of `base`; with conflicts, nothing is written."""
        saved = self.long_term.save_edit(base, mine)
        if saved.ok:
            self._index_memory_file()
        return saved

    # Forgetting

    def dated_entries(self) -> list[dict[str, Any]]:
        """Every entry with the day on which it was last said, for a file that leaves the installation."""
        return dates.exported(self.user, self.long_term.read())

    def load_dates(self, rows: list[dict[str, Any]]) -> int:
        """Take the days from such a file; how many there were."""
        return dates.imported(self.user, rows)

    def would_forget(self, words: str) -> list[Holding]:
        """Every place that a request to forget these words is about."""
        return holding.held(self.user, words)

    def left_of_chats(self, session_ids: Collection[UUID | str]) -> list[Holding]:
        """What memory keeps of these chats in MEMORY.md and in the logs."""
        return holding.of_chats(self.user, session_ids)

    def forget(self, refs: Collection[str], *, session_id: UUID | str | None = None) -> ForgottenParts:
        """Take out or silence the places that these refs name, at once, and keep them forgotten."""
        done = acts.forget(self.user, refs, session_id)
        self.refresh_index()
        return done

    def keep_forgotten(self, texts: Sequence[str], revision: Revision | None = None) -> None:
        """Let no summary write again what was taken out of MEMORY.md at its owner's request."""
        Forgotten.objects.create(
            owner=self.user,
            traces=forgotten.trace_of(self.user, texts),
            revision_id=revision.pk if revision else None,
        )

    def was_forgotten(self, text: str) -> bool:
        """Whether its owner once had this forgotten."""
        return bool(forgotten.among(self.user, [text]))

    def undo_forgetting(self, forgotten_id: int) -> None:
        """Bring back what a request to forget took away; UndoError says why it can't be."""
        row = Forgotten.objects.filter(owner=self.user, pk=forgotten_id).first()
        if row is None or not row.can_be_undone:
            raise UndoError("This can't be undone any more.")
        acts.undo(self.user, row)
        self.refresh_index()

    def purge_forgotten(self, forgotten_id: int) -> bool:
        """Take what was forgotten out of history and backups too; False if there is no such request."""
        row = Forgotten.objects.filter(owner=self.user, pk=forgotten_id).first()
        if row is not None:
            acts.purge(self.user, row)
        return row is not None

    def purge_history(self) -> int:
        """Delete the history and the backups of MEMORY.md; how many there were."""
        return acts.purge_history(self.user)

    def take_off_record(self, message_id: int) -> list[int]:
        """Keep an exchange out of memory: a message and what answers it. Those that were on the record."""
        silenced = acts.silence(self.user, acts.exchange_of(self.user, message_id))
        if silenced:
            self.refresh_index()
        return silenced

    def put_on_record(self, message_id: int) -> list[int]:
        """Take that back; what was said with memory off stays off the record."""
        back = acts.unsilence(self.user, acts.exchange_of(self.user, message_id))
        if back:
            self.refresh_index()
        return back

    def written_of(self, message_ids: Collection[int]) -> list[Holding]:
        """What logs and MEMORY.md may already say of these messages."""
        return holding.of_messages(self.user, message_ids)

    def undo(self, revision_id: int) -> Revision | None:
        """Undo one change of MEMORY.md; UndoError says why that can't be done."""
        revision = Revision.objects.filter(owner=self.user, id=revision_id).first()
        if revision is None:
            raise UndoError("This change is no longer in the history.")
        undone = self.long_term.undo(revision)
        self._index_memory_file()
        return undone

    def undone(self, revision_ids: Collection[int]) -> set[int]:
        """Which of these changes of MEMORY.md were undone."""
        rows = Revision.objects.filter(owner=self.user, id__in=revision_ids, undone_by__isnull=False)
        return set(rows.values_list("id", flat=True))

    def restore_backup(self, name: str) -> bool:
        """Put a backup back as a revision of its own; False if there is no such backup or it is blank."""
        text = self.files.read_backup(name)
        if text is None or not text.strip():
            return False
        self.long_term.restore(name)
        self._index_memory_file()
        return True

    # Daily log

    def read_log(self, day: date | str) -> str:
        """A day's log as people read it, without its markers."""
        return without_comments(self.files.read_daily_log(day) or "").strip()

    def flush_daily_log(
        self,
        session_id: UUID | str,
        trigger: str = Trigger.MANUAL,
        *,
        wait: float = 60.0,
        budget: float = BUDGET,
    ) -> Flush:
        """Write what is new in a chat to the daily log, in `budget` seconds. Never raises.

        `wait` is how long another flush of the same chat is waited for.
        """
        flush = DailyLogWriter(self.user).write_daily_log(session_id, trigger, wait=wait, budget=budget)
        self._index_flushed([flush])
        return flush

    def flush_chats(self, trigger: str = Trigger.MANUAL, only: Collection[UUID] | None = None) -> list[Flush]:
        """Every chat with something new, one after the other; those that no time was left for have `more`."""
        flushes = list[Flush]()
        for flush in DailyLogWriter(self.user).write_daily_logs(trigger, only):
            self._index_flushed([flush])
            flushes.append(flush)
        return flushes

    def write_past_log(
        self, session_id: UUID, after: int, until: int, writer: Summariser, budget: float = BUDGET
    ) -> tuple[Flush, int]:
        """Write the log of a chat's messages from elsewhere; also the last message that it got to."""
        flush, reached = DailyLogWriter(self.user).write_past(session_id, after, until, writer, budget)
        self._index_flushed([flush])
        return flush, reached

    def missed_chats(self) -> list[UUID]:
        """Chats with something unlogged from before today."""
        return list(unlogged.chats_before(self.user, self.user.today()).values_list("id", flat=True))

    def redo_day(self, day: date, *, by: str = "") -> list[Flush]:
        """Summarise a day again by a model: all its chats, or only those with an entry made `by`."""
        flushes = DailyLogWriter(self.user).redo_day(day, by=by)
        self._index_flushed(flushes)
        return flushes

    def skip_session(self, session_id: UUID | str) -> None:
        """What was said in a chat until now stays out of the daily log for good."""
        unlogged.skip_to_now(unlogged.writable(self.user).filter(id=session_id))

    def remove_log_entries(
        self, days: Iterable[date | str], wanted: Callable[[LogEntry], bool]
    ) -> RemovedEntries | None:
        """Take the wanted entries out of these days' logs; None if there are none."""
        removed = removal.remove(self.user, days, wanted)
        if removed:
            self.refresh_index()
        return removed

    def remove_log_entries_of(self, session_ids: Collection[UUID | str]) -> RemovedEntries | None:
        """Take all entries out that came from these chats; None if there are none."""
        removed = removal.remove_entries_of(self.user, *session_ids)
        if removed:
            self.refresh_index()
        return removed

    def put_back_log_entries(self, removed: RemovedEntries) -> int:
        """Undo a removal; returns how many entries came back."""
        count = removal.put_back(self.user, removed)
        self.refresh_index()
        return count

    def restore_log_entries(self, session_id: UUID | str) -> int:
        """A chat came back: so do its log entries, if they were removed with it."""
        count = removal.put_back_entries_of(self.user, session_id)
        if count:
            self.refresh_index()
        return count

    # Compaction

    def may_need_compaction(self) -> bool:
        """Whether MEMORY.md may be over its size; costs a look at the file's size."""
        return MemoryCompactor(self.user).may_be_needed()

    def compact_memory_if_needed(self, trigger: str = Trigger.MANUAL) -> bool:
        """Compact MEMORY.md if it is over its size; returns whether it was written."""
        return self.run_compaction(trigger, if_needed=True).outcome == Outcome.WRITTEN

    def force_compact_memory(self, trigger: str = Trigger.MANUAL) -> bool:
        """Compact MEMORY.md whatever its size; returns whether it was written."""
        return self.run_compaction(trigger).outcome == Outcome.WRITTEN

    def run_compaction(
        self, trigger: str = Trigger.MANUAL, *, if_needed: bool = False, even_in_doubt: bool = False
    ) -> Compaction:
        """Compact MEMORY.md and tell how it ended. Never raises."""
        compactor = MemoryCompactor(self.user)
        if if_needed:
            return self._index_compacted(compactor.run_if_needed(trigger))
        return self._index_compacted(compactor.run(trigger, even_in_doubt=even_in_doubt))

    def preview_compaction(self) -> Compaction:
        """What a compaction would do; nothing is written."""
        return MemoryCompactor(self.user).dry_run()

    def propose_compaction(self) -> Compaction:
        """Draft a compaction and keep it until its owner accepts it or asks for another."""
        return MemoryCompactor(self.user).propose()

    def apply_compaction(self, proposal: Proposal) -> Compaction:
        """Write a proposal that its owner has accepted."""
        return self._index_compacted(MemoryCompactor(self.user).apply(proposal))

    # Index

    def rebuild_index(self, progress: Progress | None = None) -> None:
        """Rebuild the whole index from the files and the chats."""
        Index(self.user).rebuild(progress=progress)

    def rebuild_index_in_sight(self) -> str:
        """As `rebuild_index`, with progress for the page; returns a sentence on how it ended."""
        return rebuild.run(self.user, self.rebuild_index)

    def refresh_index(self) -> bool:
        """Index what changed in files and chats; False if that is left to the next search.

        It follows a write, and the write stands whatever happens here (RFC-023).
        """
        try:
            Index(self.user).sync()
        except Exception:
            log.warning("The files are written; indexing them is left to the next search", exc_info=True)
            return False
        return True

    def index_words(self) -> None:
        """Index what is new by its words alone, as it comes in masses; no model is loaded for it."""
        index, portion = Index(self.user), portions.Portion()
        state = index.state()
        index.files.sync(state, index.files.present(), portion)
        index.chats.sync(state, portion)

    def drop_gone_chats(self) -> None:
        """Take out of the index what was said in chats that are gone for good."""
        ChatSource(self.user).drop_unsaid()

    def embed_later(self) -> None:
        """Have the worker make the vectors that are missing."""
        backfill.ask_worker(self.user)

    def waiting_for_vectors(self) -> int:
        """How many pieces of memory are found by their words alone so far."""
        return MemoryIndex.objects.filter(owner=self.user, embedded_by="").count()

    def _index_memory_file(self) -> None:
        """Index MEMORY.md alone while somebody waits for a save. The save stands whatever happens here."""
        try:
            if portions.of_a_search().takes(self.files.memory_path.stat().st_size):
                Index(self.user).index_file(MEMORY_FILE)
            else:
                backfill.ask_worker(self.user, "memory.tasks.refresh")
        except Exception:
            log.warning("MEMORY.md is saved; indexing it is left to the next search", exc_info=True)

    def _index_flushed(self, flushes: Iterable[Flush]) -> None:
        if any(flush.changed for flush in flushes):
            self.refresh_index()

    def _index_compacted(self, result: Compaction) -> Compaction:
        if result.outcome == Outcome.WRITTEN:
            self.refresh_index()
        return result

    def forget_session(self, session_id: UUID | str) -> None:
        """Take a chat's transcript out of the index at once."""
        ChatSource(self.user).remove(session_id)

    def look_again(self, session_id: UUID | str) -> None:
        """Have the next refresh compare a chat's page with the index: its messages are others than before."""
        ChatSource(self.user).look_again(session_id)

    def get_stats(self) -> MemoryStats:
        return MemoryStats(
            daily_log_count=self.files.daily_log_count(),
            total_size_bytes=self.files.total_size(),
            indexed_chunk_count=MemoryIndex.objects.filter(owner=self.user).count(),
            embedding_model_loaded=_model_loaded(),
        )


def _model_loaded() -> bool:
    try:
        return embedding.engine().is_available()
    except Exception:
        log.exception("The embedding engine could not be asked")
        return False
