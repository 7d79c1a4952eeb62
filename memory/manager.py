"""The one door to a user's memory: search, injection, saving, logs, compaction (RFC-013's facade)."""

import logging
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.conf import settings

from memory import edits, entries, revisions
from memory.entries import Entry, EntryChanged
from memory.injection import DEFAULT_TOKEN_BUDGET, Injection, MemoryInjector, injected
from memory.logentries import without_comments
from memory.longterm import Author, LongTermMemory
from memory.models import MemoryIndex, Revision
from memory.revisions import UndoError
from memory.sections import section_for
from memory.storage import LOCK_WAIT, MEMORY_FILE, MemoryFileStorage
from people.models import User

if TYPE_CHECKING:
    from memory.results import MemorySearchResult

__all__ = ["DuplicateMemory", "EntryChanged", "MemoryManager", "MemoryStats", "UndoError"]

log = logging.getLogger(__name__)

# A file larger than this is indexed by the next search instead of while somebody waits for a save.
INDEX_AT_ONCE = 500_000


class DuplicateMemory(Exception):
    """The words are in MEMORY.md already."""


@dataclass(frozen=True, slots=True)
class MemoryStats:
    daily_log_count: int
    total_size_bytes: int
    indexed_chunk_count: int
    embedding_model_loaded: bool


class MemoryManager:
    """What one user's memory can do. Files first; the index follows and may fail without harm."""

    def __init__(self, user: User, lock_wait: float = LOCK_WAIT) -> None:
        self.user = user
        self.files = MemoryFileStorage(user, lock_wait)
        self.long_term = LongTermMemory(user, self.files)

    # Recall

    def search_memory(self, query: str, top_k: int = 5, **limits: Any) -> "list[MemorySearchResult]":
        """The best memories for a question; limits are `sources`, `since`, `until`, `leave_out`."""
        from memory.search import HybridSearchEngine

        results: list[MemorySearchResult] = HybridSearchEngine(self.user).search(query, top_k=top_k, **limits)
        return results

    def inject(
        self, query: str, token_budget: int | None = None, session_id: UUID | str | None = None
    ) -> Injection:
        """What memory adds to a request, in its stable and its per-message part, with the receipt.

        `session_id` is the chat the message is in: its own transcript is not recalled into it.
        """
        if not self.user.memory_enabled:
            return Injection()
        budget = settings.MEMORY_TOKEN_BUDGET if token_budget is None else token_budget
        leave_out = f"chat:{session_id}" if session_id else ""
        return MemoryInjector(self.long_term, self._search).build(query, budget, leave_out)

    def _search(self, query: str, top_k: int, leave_out: str) -> "list[MemorySearchResult]":
        return self.search_memory(query, top_k, leave_out=leave_out)

    def get_injection_content(self, query: str, token_budget: int = DEFAULT_TOKEN_BUDGET) -> str:
        """The whole block as text; empty when there is nothing to say."""
        return self.inject(query, token_budget).text

    def injected_lines(self, receipt: dict[str, Any]) -> tuple[str, bool]:
        """The lines of MEMORY.md that a receipt counts, and whether they are those that went in.

        When the text is no longer in the history, they are the lines as they are now.
        """
        now, file = self.long_term.read(), receipt.get("file", "")
        then = now if file == revisions.digest(now) else revisions.text_of(self.user, file)
        lines, _ = injected(now if then is None else then)
        used = [line for at, line in enumerate(lines) if at not in receipt.get("skipped", ())]
        return "\n".join(used[: receipt["lines"]]), then is not None

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
    ) -> Revision | None:
        """Write an entry into its category's section; with `refuse_duplicate`, only words that are new."""
        content = content.strip()
        if not content:
            raise ValueError("There is nothing to save.")
        section = section_for(category)
        entry = edits.requested(content) if user_requested else content

        def insert(text: str) -> str:
            if refuse_duplicate and edits.is_duplicate(text, content):
                raise DuplicateMemory("This is already in MEMORY.md.")
            return edits.insert(text, section, entry)

        reason = f"Saved to {section}" + (", as you asked" if user_requested else "")
        revision = self.long_term.change(insert, author, reason, session_id)
        self.refresh_index()
        return revision

    def update_long_term_memory(
        self,
        old_text: str,
        new_text: str,
        *,
        author: str = Author.USER,
        session_id: UUID | str | None = None,
    ) -> int:
        """Replace or delete the one exact match; how many matches there were (1 is success)."""
        return self.update_with_revision(old_text, new_text, author=author, session_id=session_id)[0]

    def update_with_revision(
        self, old_text: str, new_text: str, *, author: str = Author.USER, session_id: UUID | str | None = None
    ) -> tuple[int, Revision | None]:
        count, revision = self.long_term.replace(old_text, new_text, author, "", session_id)
        if count == 1:
            self.refresh_index()
        return count, revision

    def would_forget(self, words: str) -> list[Entry]:
        """The entries of MEMORY.md that a request to forget these words is about."""
        from memory import embedding
        from memory.forgetting import would_remove

        return would_remove(self.long_term.read(), words, embedding.engine().embed_many)

    def forget_entry(
        self, position: int, key: str, *, session_id: UUID | str | None = None
    ) -> Revision | None:
        """Take one entry out; EntryChanged if it is not what it was."""
        revision = self.long_term.change(
            lambda text: entries.delete(text, position, key), Author.USER, "Forgotten", session_id
        )
        self.refresh_index()
        return revision

    def undo(self, revision_id: int) -> Revision | None:
        """Take one change of MEMORY.md back; UndoError says why it can't be."""
        revision = Revision.objects.filter(owner=self.user, id=revision_id).first()
        if revision is None:
            raise UndoError("This change is no longer in the history.")
        undone = self.long_term.undo(revision)
        self.refresh_index()
        return undone

    def undone(self, revision_ids: Collection[int]) -> set[int]:
        """Which of these changes of MEMORY.md were taken back."""
        rows = Revision.objects.filter(owner=self.user, id__in=revision_ids, undone_by__isnull=False)
        return set(rows.values_list("id", flat=True))

    def restore_backup(self, name: str) -> bool:
        """Put a backup back as a revision of its own; False if there is no such backup or it is blank."""
        text = self.files.read_backup(name)
        if text is None or not text.strip():
            return False
        self.long_term.restore(name)
        self.refresh_index()
        return True

    # Daily log and compaction

    def read_log(self, day: date | str) -> str:
        """A day's log as people read it, without its markers."""
        return without_comments(self.files.read_daily_log(day) or "").strip()

    def flush_daily_log(self, session_id: UUID | str, **how: Any) -> Any:
        from memory.dailylog import DailyLogWriter

        return DailyLogWriter(self.user).write_daily_log(session_id, **how)

    def compact_memory_if_needed(self, **how: Any) -> bool:
        from memory.compaction import MemoryCompactor

        compacted = bool(MemoryCompactor(self.user).compact_if_needed(**how))
        if compacted:
            self.refresh_index()
        return compacted

    def force_compact_memory(self, **how: Any) -> bool:
        from memory.compaction import MemoryCompactor

        compacted = bool(MemoryCompactor(self.user).force_compact(**how))
        if compacted:
            self.refresh_index()
        return compacted

    # Index

    def rebuild_index(self, progress: Any = None) -> None:
        from memory.index import Index

        Index(self.user).rebuild(progress=progress)

    def refresh_index(self) -> None:
        """Index MEMORY.md after a write. The write stands whatever happens here (RFC-023)."""
        try:
            if self.files.memory_path.stat().st_size > INDEX_AT_ONCE:
                return
            from memory.index import Index

            Index(self.user).index_file(MEMORY_FILE)
        except Exception:
            log.warning("MEMORY.md is saved; indexing it is left to the next search", exc_info=True)

    def forget_session(self, session_id: UUID | str) -> None:
        """Take a chat's transcript out of the index at once."""
        from memory.chatsource import ChatSource

        ChatSource(self.user).remove(session_id)

    def restore_log_entries(self, session_id: UUID | str) -> int:
        """A chat came back: so do its log entries, if they were removed with it."""
        from memory.removal import put_back_entries_of

        return put_back_entries_of(self.user, session_id)

    def get_stats(self) -> MemoryStats:
        return MemoryStats(
            daily_log_count=self.files.daily_log_count(),
            total_size_bytes=self.files.total_size(),
            indexed_chunk_count=MemoryIndex.objects.filter(owner=self.user).count(),
            embedding_model_loaded=_model_loaded(),
        )


def _model_loaded() -> bool:
    try:
        from memory import embedding

        return bool(embedding.engine().is_available())
    except Exception:
        log.exception("The embedding engine could not be asked")
        return False
