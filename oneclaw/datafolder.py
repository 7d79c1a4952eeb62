"""The data folder: what in it must never be lost, what is made anew, and that only its owner reads it."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

DATABASE = "db.sqlite3"
# SQLite's own files beside the database; a copy of one moment has none, and a stale one would spoil another.
SIDECARS = (f"{DATABASE}-wal", f"{DATABASE}-shm", f"{DATABASE}-journal")
KEY = "secret.key"
# What a backup holds. A room that keeps something new in the data folder names it here or below.
KEPT = (DATABASE, KEY, "files", "memory", "model.asked")
# Held by `up` while it runs, and there until it has ended in good order.
UP_LOCK, UP_RUNNING = "up.lock", "up.running"
# Which model file the web process wants served: `up` reads it there.
MODEL_WANTED = "modelserver.wanted"
# A small file that is written and removed again; the disk has room for little more when it is low.
PROBE = "disk.probe"
LOW = 100 * 2**20
# What the next start makes again, and model files, which their owner has from elsewhere and which are huge.
MADE_ANEW = (
    *SIDECARS,
    "backup.lock",
    PROBE,
    "models",
    "modelserver.json",
    MODEL_WANTED,
    "pictures",
    "setup.code",
    "static",
    UP_LOCK,
    UP_RUNNING,
    "worker.beat",
)
# What OneClaw writes beside a file while it works on it, at any depth.
LOCK, UNFINISHED = ".lock", ".tmp"
# What may be wrong with the disk, in a word and in a sentence.
DISK_TROUBLES = {
    "full": "The disk is full, so nothing can be saved. Free up some space.",
    "low": "The disk is nearly full. Free up some space soon.",
    "not writable": "The data folder can't be written to, so nothing can be saved.",
    "gone": "The data folder is not there, so memory can't be read or saved. Mount its volume again.",
}


def disk(folder: Path) -> str:
    """Whether something can be written to the folder, found out by writing."""
    try:
        room = os.statvfs(folder)
        try:
            (folder / PROBE).write_bytes(bytes(4096))
        finally:
            (folder / PROBE).unlink(missing_ok=True)
    except OSError as error:
        if not folder.is_dir():
            return "gone"
        if error.errno == errno.ESTALE:
            # Another machine that shares the volume has just removed the very same file.
            return "ok"
        return "full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "not writable"
    return "low" if room.f_bavail * room.f_frsize < LOW else "ok"


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file of the data folder, or the reason why something there is none."""

    name: str
    path: Path
    problem: str = ""


def kept_files(folder: Path) -> Iterator[KeptFile]:
    """Every file that must not be lost but the database, whole; links are followed, never in a circle."""
    for name in KEPT:
        if name != DATABASE and os.path.lexists(folder / name):
            yield from _files(folder / name, name, ())


def _files(path: Path, name: str, above: tuple[tuple[int, int], ...]) -> Iterator[KeptFile]:
    try:
        facts = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            yield KeptFile(name, path, "is a broken link")
        return  # or was removed just now
    except OSError as error:  # a link to itself, a folder that can't be entered
        yield KeptFile(name, path, f"can't be read ({error.strerror})")
        return
    if stat.S_ISREG(facts.st_mode):
        yield KeptFile(name, path)
    elif not stat.S_ISDIR(facts.st_mode):
        yield KeptFile(name, path, "is not a regular file")
    elif (here := (facts.st_dev, facts.st_ino)) in above:
        yield KeptFile(name, path, "is a link to a folder that contains it")
    else:
        for inner in sorted(_names(path)):
            yield from _files(path / inner, f"{name}/{inner}", (*above, here))


def _names(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if not _is_passing(name)]


def _is_passing(name: str) -> bool:
    return name == LOCK or (name.startswith(".") and name.endswith(UNFINISHED))


def close_to_others(folder: Path) -> tuple[int, list[Path]]:
    """Take away everybody else's rights to what is in the folder; how many had some, and what resisted.

    A linked folder is its owner's own arrangement and stays as it is.
    """
    mended, resisting = 0, list[Path]()
    for path in (folder, *_own(folder)):
        try:
            mode = stat.S_IMODE(path.lstat().st_mode)
            if mode & 0o077 and not path.is_symlink():
                path.chmod(mode & 0o700)
                mended += 1
        except FileNotFoundError:
            continue
        except OSError:
            resisting.append(path)
    return mended, resisting


def open_to_others(folder: Path) -> list[Path]:
    """What of OneClaw's in the folder others on the machine may read."""
    found = list[Path]()
    for path in (folder, *_own(folder)):
        with suppress(OSError):
            if stat.S_IMODE(path.lstat().st_mode) & 0o077 and not path.is_symlink():
                found.append(path)
    return found


def _own(folder: Path) -> Iterator[Path]:
    """What OneClaw keeps in the folder; whatever else lies there is none of its business."""
    for name in (*KEPT, *MADE_ANEW):
        path = folder / name
        yield path
        if path.is_dir() and not path.is_symlink() and name not in ("static", "models"):
            for inside, folders, files in os.walk(path):
                yield from (Path(inside) / each for each in (*folders, *files))
