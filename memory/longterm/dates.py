"""When each entry of MEMORY.md was last said, and in which chat.

Kept in the database by the entry's words, so that the file stays as clean as its owner wants it. A date
belongs to words, not to a place: an entry that is moved, marked as a request or put back by an undo still has
its own.
"""

import hashlib
import logging
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django.db import DatabaseError
from django.utils import timezone

from memory.models import EntryUse, LastSaid, Revision
from memory.storage.edits import normal
from memory.storage.entries import Entry, entries_of
from memory.storage.markdown import without_mark
from memory.storage.sections import USER_REQUESTED
from people.models import User

log = logging.getLogger(__name__)

# Dates of entries that are gone: a backup or an undo may bring one back.
KEPT = timedelta(days=365)
MOST_SAID = 1_000  # new entries in one write that count as said
# Whose new entries were said when they were written. The others only carry words that were said before.
SPEAKERS = frozenset(
    {
        Revision.Author.USER,
        Revision.Author.TOOL,
        Revision.Author.CLIENT,
        Revision.Author.DAILY_LOG,
        Revision.Author.OUTSIDE,
    }
)


@dataclass(frozen=True, slots=True)
class Saying:
    """The last time that something was said; the chat is unknown where it was written by hand."""

    day: date
    session_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class DatedEntry:
    """An entry of MEMORY.md and when it was last said, where that is known."""

    entry: Entry
    said: Saying | None = None


def words_of(text: str) -> str:
    """The name that an entry's words have in the table, whatever their case, spacing, mark or protection."""
    words = normal(unicodedata.normalize("NFKC", without_mark(text.strip())))
    words = words.removeprefix(USER_REQUESTED.casefold()).strip()
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()


def dated(user: User, text: str) -> list[DatedEntry]:
    """Every entry of a text with its date."""
    rows = LastSaid.objects.filter(owner=user).values_list("words", "day", "session_id")
    said = {words: Saying(day, session) for words, day, session in rows}
    return [DatedEntry(entry, said.get(words_of(entry.text))) for entry in entries_of(text)]


def note(user: User, said: Mapping[str, Saying]) -> None:
    """Remember when these texts were said. Only a later day takes the place of a known one."""
    wanted = {words_of(text): saying for text, saying in said.items()}
    known = dict(LastSaid.objects.filter(owner=user).values_list("words", "day"))
    later = {words: each for words, each in wanted.items() if words not in known or each.day >= known[words]}
    LastSaid.objects.bulk_create(
        [
            LastSaid(owner=user, words=words, day=saying.day, session_id=saying.session_id)
            for words, saying in later.items()
        ],
        update_conflicts=True,
        unique_fields=["owner", "words"],
        update_fields=["day", "session_id", "noted_at"],
    )


def follow(user: User, author: str, before: str, after: str, saying: Saying) -> None:
    """Date what a write of MEMORY.md has brought; the write stands whatever happens here."""
    # A file that was there before OneClaw saw it says nothing of when.
    if author not in SPEAKERS or (author == Revision.Author.OUTSIDE and not before.strip()):
        return
    old, now = ({entry.text for entry in entries_of(text)} for text in (before, after))
    # Moved, marked or written in capitals, the words are the same.
    gone = {words_of(text) for text in old - now}
    new = [text for text in now - old if words_of(text) not in gone]
    try:
        # So many at once were brought from elsewhere: nobody has said them today.
        if 0 < len(new) <= MOST_SAID:
            note(user, dict.fromkeys(new, saying))
    except DatabaseError:
        log.exception("MEMORY.md was written, but not when its new entries were said")


def forget(user: User, texts: Iterable[str]) -> int:
    """Keep no trace of when these were said or of use."""
    names = [words_of(text) for text in texts]
    EntryUse.objects.filter(owner=user, words__in=names).delete()
    return LastSaid.objects.filter(owner=user, words__in=names).delete()[0]


def prune(user: User, text: str, kept: timedelta = KEPT) -> int:
    """Drop the dates of entries that the file has not had for long."""
    rows = LastSaid.objects.filter(owner=user, noted_at__lt=timezone.now() - kept)
    old = dict(rows.values_list("words", "pk"))
    if not old:
        return 0
    there = {words_of(entry.text) for entry in entries_of(text)}
    gone = [pk for words, pk in old.items() if words not in there]
    parts = (gone[at : at + 500] for at in range(0, len(gone), 500))
    return sum(LastSaid.objects.filter(pk__in=part).delete()[0] for part in parts)


def exported(user: User, text: str) -> list[dict[str, Any]]:
    """A text's entries with their dates, for a file that leaves the installation."""
    return [
        {
            "entry": each.entry.content,
            "last_said": each.said.day.isoformat() if each.said else None,
            "chat": str(each.said.session_id) if each.said and each.said.session_id else None,
        }
        for each in dated(user, text)
    ]


def imported(user: User, rows: Iterable[Mapping[str, Any]]) -> int:
    """Take dates from such a file; what is no date is left out. How many there were."""
    said = dict[str, Saying]()
    for row in rows:
        try:
            chat = row.get("chat")
            said[str(row["entry"])] = Saying(
                date.fromisoformat(row["last_said"]), UUID(str(chat)) if chat else None
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            continue
    note(user, said)
    return len(said)
