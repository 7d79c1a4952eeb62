"""LongTermMemory: reads and changes MEMORY.md. Every write becomes a revision."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from memory.longterm import revisions
from memory.longterm.dates import Saying
from memory.models import Revision
from memory.storage import edits
from memory.storage.atomic import StorageError
from memory.storage.corrections import Correction, correct
from memory.storage.files import MemoryFileStorage
from memory.storage.merge import Merge, compare, merge, with_line_ends_of
from people.models import User

log = logging.getLogger(__name__)

INJECTED_LINES = 200  # RFC-013
Author = Revision.Author


@dataclass(frozen=True, slots=True)
class SavedEdit:
    """What an edit of the whole text came to: a revision, or conflicts and nothing written."""

    revision: Revision | None
    merge: Merge

    @property
    def ok(self) -> bool:
        return not self.merge.conflicts


def first_lines(text: str, count: int = INJECTED_LINES) -> str:
    """MEMORY.md's first lines, which go into every prompt."""
    return "\n".join(text.replace("\r\n", "\n").split("\n")[:count]) if text.strip() else ""


class LongTermMemory:
    """Changes are computed on the text as it is under the lock, so two at once both stay."""

    def __init__(
        self,
        user: User,
        files: MemoryFileStorage | None = None,
        check: Callable[[], None] | None = None,
    ) -> None:
        self.user = user
        self.files = files or MemoryFileStorage(user)
        # Called under the lock, right before a change is written; what it raises leaves the file as it is.
        self.check = check

    def read(self) -> str:
        return self.files.read_memory_file() or ""

    def change(
        self,
        edit: Callable[[str], str],
        author: str,
        reason: str,
        session_id: UUID | str | None = None,
        said: Saying | None = None,
        by: str = "",
    ) -> Revision | None:
        """Let `edit` turn the current text into the next, under the lock; None if nothing changed.

        `said` is when the new entries were, if that is not now. `by` names a program outside.
        """
        with self.files.lock():
            before = self.read()
            revisions.notice(self.user, before)
            after = edit(before).encode("utf-8", "replace").decode()
            if after == before:
                return None
            if self.check:
                self.check()
            self.files.write_memory_file(after)
            # Read again: bytes that are not UTF-8 may have come back in their own way.
            return revisions.record(self.user, author, reason, before, self.read(), session_id, said, by)

    def write(
        self, text: str, author: str = Author.USER, reason: str = "", session_id: UUID | str | None = None
    ) -> Revision | None:
        """Replace the whole text."""
        return self.change(lambda _: text, author, reason or "Edited", session_id)

    def append(
        self, content: str, author: str = Author.USER, reason: str = "", session_id: UUID | str | None = None
    ) -> Revision | None:
        """Add to the end of the file (RFC-013)."""
        return self.change(lambda text: edits.append(text, content), author, reason or "Added", session_id)

    def correct(
        self,
        old: str,
        new: str,
        author: str = Author.USER,
        session_id: UUID | str | None = None,
        by: str = "",
    ) -> tuple[Correction, Revision | None]:
        """Reword the one entry that `old` names, or delete it by an empty `new`; NotAnEntry says why not."""
        correction = Correction("", 0)

        def apply(text: str) -> str:
            nonlocal correction
            correction = correct(text, old, new)
            return correction.text

        reason = "Updated an entry" if new.strip() else "Deleted an entry"
        revision = self.change(apply, author, reason, session_id, by=by)
        return correction, revision

    def save_edit(self, base: str | None, mine: str, reason: str = "Edited") -> SavedEdit:
        """Save what an editor made of `base`. If the file moved on, merge; write only without conflicts.

        Without a base, history having lost it, every difference is a conflict.
        """
        outcome = Merge([mine])

        def join(current: str) -> str:
            nonlocal outcome
            # A browser sends CRLF whatever the file has, so the merge is made without line ends' kinds.
            ours, theirs = mine.replace("\r\n", "\n"), current.replace("\r\n", "\n")
            outcome = (
                compare(ours, theirs) if base is None else merge(base.replace("\r\n", "\n"), ours, theirs)
            )
            return current if outcome.conflicts else with_line_ends_of(current, outcome.text)

        revision = self.change(join, Author.USER, reason)
        return SavedEdit(revision, outcome)

    def undo(self, revision: Revision) -> Revision | None:
        """Undo one revision and keep later ones; UndoError says why that can't be done."""
        if revision.owner_id != self.user.pk:
            raise revisions.UndoError("This change belongs to somebody else.")
        reason = f"Undid: {revision.reason}"
        made = self.change(lambda text: revisions.reversed_text(revision, text), Author.UNDO, reason)
        if made is not None:
            Revision.objects.filter(pk=revision.pk).update(undone_by=made)
        return made

    def restore(self, name: str) -> Revision | None:
        """Put a backup back; None if there is no such backup or it is what the file holds already."""
        with self.files.lock():
            before = self.read()
            revisions.notice(self.user, before)
            if not self.files.restore_from_backup(name) or self.read() == before:
                return None
            return revisions.record(self.user, Author.RESTORE, f"Restored {name}", before, self.read())

    def notice_outside_edit(self) -> Revision | None:
        """Make a revision of a change that another program made. A folder that can't be locked waits."""
        if revisions.is_latest(self.user, self.read()):
            return None
        try:
            with self.files.lock(wait=2.0):
                return revisions.notice(self.user, self.read())
        except StorageError:
            log.warning("An outside change to MEMORY.md could not be recorded yet", exc_info=True)
            return None
