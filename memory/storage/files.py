"""A user's memory on disk: MEMORY.md, one daily log a date, backups. Files are the truth."""

import errno
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import date, datetime
from pathlib import Path

from django.conf import settings
from django.utils import timezone
from filelock import FileLock, Timeout

from memory.storage.atomic import (
    StorageError,
    TooLarge,
    before_replacing,
    encode_over,
    explain,
    is_too_large,
    read_bytes,
    read_text,
    sync_folder,
    write_bytes,
)
from memory.storage.markdown import newline_of
from oneclaw.postgres import is_postgres, locks
from people.models import User

MEMORY_FILE = "MEMORY.md"
MAX_BACKUPS = 5  # RFC-049 3D
LOCK_WAIT = 60.0
BACKUP = re.compile(r"MEMORY_backup_(\d{4}-\d{2}-\d{2}_\d{2}-\d{2}-\d{2})(?:_(\d{1,6}))?\.md", re.ASCII)
DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
SEPARATOR = "---"
BUSY = "Memory is busy with another change. Try again in a moment."
LOST = "Memory was not changed, because the database was restarted meanwhile. Try again."
GONE = "Memory was not changed: the volume of the data folder is not mounted. Mount it and restart OneClaw."

# Whose memory a thread has locked in PostgreSQL, and the disk on which this process found the data folder.
_locked = threading.local()
_volumes: dict[Path, int] = {}


class LockTimeout(StorageError):
    """Another process kept the user's memory busy for longer than this caller could wait."""


def _same_volume(folder: Path) -> None:
    """Refuse to write into the empty folder that a volume leaves behind: nobody would find it again."""
    try:
        found = folder.stat().st_dev
    except OSError:
        raise StorageError(GONE) from None
    if _volumes.setdefault(folder, found) != found:
        raise StorageError(GONE)


def day_name(day: date | str) -> str:
    """`YYYY-MM-DD` of a real date; anything else is no name for a log."""
    if isinstance(day, datetime):
        day = day.date()
    if isinstance(day, date):
        return day.isoformat()
    if not DAY.fullmatch(day):
        raise ValueError(f"{day!r} is not a date in the form YYYY-MM-DD.")
    return date.fromisoformat(day).isoformat()


class MemoryFileStorage:
    """Reads are plain and never wait; every write is whole, atomic and under the user's lock."""

    def __init__(self, user: User, lock_wait: float = LOCK_WAIT) -> None:
        name = user.get_username()
        if name in {"", ".", ".."} or re.search(r"[/\\\0]", name):
            raise ValueError(f"{name!r} can't be the name of a memory folder.")
        self.user = user
        self.lock_wait = lock_wait
        self.root = Path(settings.MEMORY_DIR) / name

    @property
    def memory_path(self) -> Path:
        return self.root / MEMORY_FILE

    @property
    def daily_folder(self) -> Path:
        return self.root / "daily"

    def daily_path(self, day: date | str) -> Path:
        return self.daily_folder / f"{day_name(day)}.md"

    @contextmanager
    def lock(self, wait: float | None = None) -> Iterator[None]:
        """The user's lock across processes; a thread that holds it may take it again."""
        if is_postgres():
            with self._lock_in_database(self.lock_wait if wait is None else wait):
                yield
            return
        path = self.root / ".lock"
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = FileLock(path, is_singleton=True, mode=0o600)
            lock.acquire(timeout=self.lock_wait if wait is None else wait, poll_interval=0.01)
        except Timeout:
            raise LockTimeout(BUSY) from None
        except OSError as error:
            raise explain(error, self.root, "locked") from error
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def _lock_in_database(self, wait: float) -> Iterator[None]:
        """Where several machines share the folder: a file's lock may hold on one of them alone."""
        mine = _locked.__dict__.setdefault("users", set[int]())
        if self.user.pk in mine:
            yield
            return
        with locks.held(locks.FILES, self.user.pk, wait) as held:
            if held is None:
                raise LockTimeout(BUSY)

            def check() -> None:
                if not held.is_held():
                    raise StorageError(LOST)

            _same_volume(Path(settings.DATA_DIR))
            try:
                self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise explain(error, self.root, "locked") from error
            before = before_replacing.set(check)
            mine.add(self.user.pk)
            try:
                yield
            finally:
                mine.discard(self.user.pk)
                before_replacing.reset(before)

    # Long-term memory

    def read_memory_file(self) -> str | None:
        return read_text(self.memory_path)

    def write_memory_file(self, text: str) -> None:
        """The whole of MEMORY.md. History is kept by LongTermMemory: prefer its methods."""
        with self.lock():
            old = read_bytes(self.memory_path)
            data, gave_up = encode_over(old, text)
            if gave_up and old is not None:
                self._write_backup(old)
            write_bytes(self.memory_path, data)

    # Daily logs

    def read_daily_log(self, day: date | str) -> str | None:
        return read_text(self.daily_path(day))

    def append_to_daily_log(self, day: date | str, text: str) -> None:
        """One more entry at the end of the day's log, which begins with its header (RFC-013)."""
        path, name = self.daily_path(day), day_name(day)
        entry = text.strip("\r\n")
        if not entry.strip():
            return
        with self.lock():
            old = read_bytes(path) or b""
            head = old if old.strip() else f"# Daily Log - {name}\n\n".encode()
            newline = newline_of(head.decode("utf-8", "replace"))
            gap = "" if head.endswith((b"\n\n", b"\n\r\n")) else newline
            gap = gap if head.endswith(b"\n") else newline * 2
            lines = f"{entry}\n\n{SEPARATOR}\n\n".replace("\r\n", "\n").replace("\n", newline)
            write_bytes(path, head + (gap + lines).encode("utf-8", "replace"))

    def rewrite_daily_log(self, day: date | str, text: str) -> None:
        """Replace a whole log: only for what its owner asks (an entry removed, an undo)."""
        path = self.daily_path(day)
        with self.lock():
            write_bytes(path, encode_over(read_bytes(path), text)[0])

    def remove_daily_log(self, day: date | str) -> bool:
        """Delete a day's log: only for what its owner asks."""
        path = self.daily_path(day)
        with self.lock():
            if is_too_large(path):
                # Its undo would bring back the start alone.
                raise TooLarge(path)
            try:
                path.unlink()
            except FileNotFoundError:
                return False
            except OSError as error:
                raise explain(error, path, "removed") from error
            sync_folder(path.parent)
            return True

    def list_daily_log_dates(self) -> list[str]:
        """Dates that have a log, newest first. Files with any other name are left alone."""
        dates = []
        for name in self._names(self.daily_folder):
            with suppress(ValueError):
                if name.endswith(".md"):
                    dates.append(day_name(name.removesuffix(".md")))
        return sorted(dates, reverse=True)

    def daily_log_count(self) -> int:
        return len(self.list_daily_log_dates())

    def too_large(self) -> list[str]:
        """Files of which only the start is read, named as in the user's folder."""
        logs = [self.daily_path(day) for day in self.list_daily_log_dates()]
        return [str(path.relative_to(self.root)) for path in (self.memory_path, *logs) if is_too_large(path)]

    def must_be_whole(self) -> None:
        """Refuse a change to a MEMORY.md of which only the start is read, before any work is done on it."""
        if is_too_large(self.memory_path):
            raise TooLarge(self.memory_path)

    def total_size(self) -> int:
        """Bytes of everything kept for the user, backups too, without locks and temporary files."""
        total = 0
        for folder, _, names in os.walk(self.root):
            for name in names:
                with suppress(OSError):
                    total += 0 if name.startswith(".") else os.stat(os.path.join(folder, name)).st_size
        return total

    # Backups (RFC-049 3D)

    def create_backup(self) -> str | None:
        """Copy MEMORY.md aside, byte for byte; its name, or None when there is nothing to keep."""
        with self.lock():
            data = read_bytes(self.memory_path)
            return self._write_backup(data) if data and data.strip() else None

    def _write_backup(self, data: bytes) -> str:
        stamp = timezone.now().astimezone(self.user.zone).strftime("%Y-%m-%d_%H-%M-%S")
        # One more than the newest of the same second: a lower number that was pruned would sort as older.
        taken = [int(match[2] or 1) for match in self._backups() if match[1] == stamp]
        name = f"MEMORY_backup_{stamp}_{max(taken) + 1}.md" if taken else f"MEMORY_backup_{stamp}.md"
        write_bytes(self.root / name, data)
        return name

    def list_backups(self) -> list[str]:
        """Names of the backups, newest first."""
        found = sorted(self._backups(), key=lambda match: (match[1], int(match[2] or 1)), reverse=True)
        return [match[0] for match in found]

    def _backups(self) -> list[re.Match[str]]:
        return [match for name in self._names(self.root) if (match := BACKUP.fullmatch(name))]

    def read_backup(self, name: str) -> str | None:
        """A backup's text; None for a name that is not a backup's."""
        return read_text(self.root / name) if BACKUP.fullmatch(name) else None

    def rewrite_backup(self, name: str, text: str) -> None:
        """Another text under a backup's name: what its owner had purged is out of it."""
        if BACKUP.fullmatch(name):
            with self.lock():
                write_bytes(self.root / name, text.encode())

    def prune_old_backups(self, keep: int = MAX_BACKUPS) -> list[str]:
        """Delete all but the newest; returns the names of those that went."""
        with self.lock():
            doomed = self.list_backups()[max(keep, 0) :]
            for name in doomed:
                with suppress(FileNotFoundError):
                    (self.root / name).unlink()
            return doomed

    def restore_from_backup(self, name: str) -> bool:
        """Put a backup back as MEMORY.md. Only a plain backup's name is taken, and no blank one."""
        text = self.read_backup(name)
        if text is None or not text.strip():
            return False
        with self.lock():
            write_bytes(self.memory_path, read_bytes(self.root / name) or b"")
        return True

    @staticmethod
    def _names(folder: Path) -> list[str]:
        try:
            with os.scandir(folder) as found:
                return [item.name for item in found if _is_file(item)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise explain(error, folder, "read") from error


def _is_file(item: "os.DirEntry[str]") -> bool:
    """Whether it can be read as a file; a link that leads to itself is none, and hides no other."""
    try:
        return item.is_file()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return False
        raise
