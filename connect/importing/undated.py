"""Dates that can't be: chats without a usable one get that of the export, messages that of a neighbour."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from django.utils import timezone

from connect.archives.reading import Archive
from connect.archives.sources import Zip
from connect.archives.values import EARLIEST, ForeignChat, Redated

MOST_QUOTED = 3


def is_undated(chat: ForeignChat) -> bool:
    return chat.created_at is None and not any(row.at for row in chat.rows)


def dated(chat: ForeignChat, made_at: datetime) -> ForeignChat:
    """The chat with the time of its first message, else that of the archive: it was said by then."""
    if chat.created_at is not None:
        return chat
    return replace(chat, created_at=min((row.at for row in chat.rows if row.at), default=made_at))


def redated(chat: ForeignChat, made_at: date) -> Iterator[Redated]:
    """Which dates of a chat can't be, and which they get instead."""
    what, count = chat.title or chat.id, len(chat.odd_dates)
    if is_undated(chat):
        if odd := quoted([chat.odd_date, *chat.odd_dates]):
            yield Redated(what, f"Its dates can't be ({odd}): it gets that of the export, {made_at}.")
        return
    if chat.odd_date:
        yield Redated(what, f"Its date can't be ({chat.odd_date}): it gets that of its first message.")
    if count:
        odd = quoted(chat.odd_dates)
        which = "The date of a message" if count == 1 else f"The dates of {count:,} messages"
        gets = "it gets" if count == 1 else "they get"
        yield Redated(what, f"{which} can't be ({odd}): {gets} that of the message before.")


def quoted(dates: Iterable[str]) -> str:
    """The first few of them."""
    found = list(dict.fromkeys(filter(None, dates)))
    return ", ".join(found[:MOST_QUOTED]) + (", …" if len(found) > MOST_QUOTED else "")


def made_at(archive: Archive, path: Path) -> datetime:
    """When an archive was made: the newest of its files, else the file itself; now if none of them knows."""
    now = timezone.now()
    times = list[datetime]()
    if isinstance(archive.source, Zip):
        for info in archive.source.infos.values():
            try:
                # A ZIP knows no time zones.
                times.append(datetime(*info.date_time, tzinfo=UTC))
            except ValueError:
                continue
    elif path.is_file():
        times.append(datetime.fromtimestamp(path.stat().st_mtime, UTC))
    return max((time for time in times if EARLIEST <= time <= now), default=now)
