"""Backups by themselves, to a folder of the owner's choice: one when it is due, the newest few kept."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone
from filelock import FileLock, Timeout

from oneclaw.backup.archive import BackupFailed, save
from oneclaw.postgres import is_postgres, locks

STAMP = "%Y-%m-%d_%H-%M-%S"
# Only what has such a name is ever deleted; times are UTC, so that names sort by age.
NAME = re.compile(r"oneclaw-(\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d)\.zip")
UNFINISHED = re.compile(r"\.oneclaw-.*\.part|\.oneclaw-[^.]*")
# The worker asks every hour: one made just after its time is no reason to call the next one late.
SLACK = timedelta(hours=3)


def run() -> str:
    """Make a backup if one is due; called by the worker every hour."""
    if settings.BACKUP_DIR is None:
        return "No backup folder is set."
    folder = Path(settings.BACKUP_DIR)
    with only_backup() as mine:
        if not mine:
            return "Another backup is running."
        return make(folder) if is_due(folder) else "Not due yet."


@contextmanager
def only_backup() -> Iterator[bool]:
    """Whether no other is being made, on any machine that shares the database."""
    if is_postgres():
        with locks.held(locks.BACKUP, 0, wait=0.0) as lock:
            yield lock is not None
        return
    lock_file = FileLock(Path(settings.DATA_DIR) / "backup.lock", timeout=0, mode=0o600)
    try:
        lock_file.acquire()
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock_file.release()


def make(folder: Path) -> str:
    try:
        # Only the last folder of the path: a whole path made anew is that of a disk which is not there.
        folder.mkdir(mode=0o700, exist_ok=True)
        remove_unfinished(folder)
    except OSError as error:
        raise BackupFailed(f"{folder} can't be used: {error.strerror}.") from None
    saved = save(folder / f"oneclaw-{timezone.now():{STAMP}}.zip")
    for old in sorted(backups(folder), reverse=True)[settings.BACKUP_KEEP :]:
        (folder / old).unlink(missing_ok=True)
    problems = "".join(f" Not in it: {problem}" for problem in saved.left_out)
    return f"Saved {len(saved.files)} files to {saved.file}.{problems}"


def backups(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir() if NAME.fullmatch(path.name)]
    except OSError:
        return []


def newest(folder: Path) -> datetime | None:
    """When the newest backup was made; one from the future is of a wrong clock and does not count."""
    stamps = [match[1] for name in backups(folder) if (match := NAME.fullmatch(name))]
    times = []
    for stamp in stamps:
        try:
            times.append(datetime.strptime(stamp, STAMP).replace(tzinfo=UTC))
        except ValueError:
            continue
    return max((at for at in times if at < timezone.now() + SLACK), default=None)


def is_due(folder: Path) -> bool:
    last = newest(folder)
    # A few minutes early rather than an hour late.
    return last is None or timezone.now() - last > timedelta(hours=settings.BACKUP_HOURS, minutes=-5)


def is_late() -> bool:
    """Whether a folder is set and its newest backup is older than it should be."""
    if settings.BACKUP_DIR is None:
        return False
    last = newest(Path(settings.BACKUP_DIR))
    return last is None or timezone.now() - last > timedelta(hours=settings.BACKUP_HOURS) + SLACK


def remove_unfinished(folder: Path) -> None:
    """What a backup that was killed had begun: whoever holds the lock knows it to be dead."""
    for path in folder.iterdir():
        if not UNFINISHED.fullmatch(path.name):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
