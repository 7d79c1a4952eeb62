"""Chats without a usable date: they get that of the export, so that they don't pass for today's."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from django.utils import timezone

from connect.archives.reading import Archive
from connect.archives.sources import Zip
from connect.archives.values import EARLIEST, ForeignChat


def is_undated(chat: ForeignChat) -> bool:
    return chat.created_at is None and not any(row.at for row in chat.rows)


def dated(chat: ForeignChat, made_at: datetime) -> ForeignChat:
    """The chat with the time of its first message, else that of the archive: it was said by then."""
    if chat.created_at is not None:
        return chat
    return replace(chat, created_at=min((row.at for row in chat.rows if row.at), default=made_at))


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
