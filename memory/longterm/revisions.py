"""Revisions of MEMORY.md: one row a write, by whom and why, and a way back from any of them."""

import hashlib
import logging
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError
from django.db.models import QuerySet

from memory.longterm import dates
from memory.longterm.dates import Saying
from memory.models import Revision
from memory.storage.merge import merge
from people.models import User

log = logging.getLogger(__name__)

MAX_SIZE = 64_000_000  # characters a user, so that a huge file doesn't fill the disk with its past


class UndoError(Exception):
    """The change can't be undone; the message says why."""


def digest(text: str) -> str:
    """A short name for a whole text: what an editor remembers of the file it opened."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def history(user: User) -> QuerySet[Revision]:
    """The user's revisions, newest first."""
    return Revision.objects.filter(owner=user)


def latest(user: User) -> Revision | None:
    return history(user).defer("before", "after").first()


def record(
    user: User,
    author: str,
    reason: str,
    before: str,
    after: str,
    session_id: UUID | str | None = None,
    said: Saying | None = None,
    by: str = "",
) -> Revision | None:
    """Remember a write that has been made. A failure here never undoes what is on disk.

    `said` is when the new entries were, if that is not now. `by` names a program that wrote from outside.
    """
    dates.follow(user, author, before, after, said or Saying(user.today(), _id(session_id)))
    try:
        revision = Revision.objects.create(
            owner=user,
            author=author,
            by=by[:120],
            reason=reason[:200],
            before=before,
            after=after,
            after_digest=digest(after),
            size=len(before) + len(after),
            session_id=_id(session_id),
        )
        prune(user)
        dates.prune(user, after)
    except (DatabaseError, ValueError):
        log.exception("A change to MEMORY.md was written, but could not be added to its history")
        return None
    return revision


def _id(session_id: UUID | str | None) -> UUID | None:
    try:
        return UUID(str(session_id)) if session_id else None
    except ValueError:
        return None


def is_latest(user: User, text: str) -> bool:
    """Whether the text is what the last revision left."""
    last = latest(user)
    return last.after_digest == digest(text) if last else not text.strip()


def notice(user: User, text: str) -> Revision | None:
    """If the file is not what the last revision left, somebody else wrote it: make that a revision."""
    if is_latest(user, text):
        return None
    last = latest(user)
    if last is None:
        return record(user, Revision.Author.OUTSIDE, "Found in the memory folder", "", text)
    return record(user, Revision.Author.OUTSIDE, "Changed outside OneClaw", last.after, text)


def prune(user: User, keep: int | None = None) -> int:
    """Keep the newest revisions, within a number the owner sets and a size that spares the disk."""
    keep = settings.MEMORY_REVISIONS if keep is None else keep
    sizes = history(user).order_by("-id").values_list("id", "size")
    total, doomed = 0, []
    for count, (id, size) in enumerate(sizes, start=1):
        total += size
        if count > max(keep, 1) or (total > MAX_SIZE and count > 1):
            doomed.append(id)
    return history(user).filter(id__in=doomed).delete()[0] if doomed else 0


def text_of(user: User, wanted: str) -> str | None:
    """The text that had this digest, if history still has it: an editor's base for a merge."""
    found = history(user).filter(after_digest=wanted).first()
    return found.after if found else None


def reversed_text(revision: Revision, current: str) -> str:
    """The current text without what the revision did to it; later changes stay."""
    result = merge(base=revision.after, mine=revision.before, theirs=current)
    if result.conflicts:
        raise UndoError("The same lines were changed again later, so this change can't be undone on its own.")
    if result.text == current:
        raise UndoError("This change is no longer in MEMORY.md.")
    return result.text
