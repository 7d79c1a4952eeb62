"""Which files a memory has and how they are, told before each search, be it a thousand of them."""

import errno
import hashlib
import os
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from time import monotonic
from typing import NamedTuple

from memory.disk import explain
from memory.storage import DAY, MEMORY_FILE
from memory.watching import MOST_FOLDERS, watcher

# Part of every fingerprint: with other rules for chunks, all files are read again.
RULES = "1"
# The kernel says when a file in a folder is touched, and then there is another look at once. It knows nothing
# of what another machine does to a shared folder: that is seen after so many seconds.
TRUST = 2.0
GONE = {errno.ENOENT, errno.ELOOP, errno.ENOTDIR}

# A file's name, time, size and inode: another time, size or inode means that its content is likely another.
Seen = tuple[str, int, int, int]
Present = tuple[Seen, ...]


class Look(NamedTuple):
    """What was seen, when, and the last touch of each folder that was known before."""

    touched: tuple[int | None, ...]
    at: float
    present: Present


_looks: dict[Path, Look] = {}
# A forked process counts touches anew: what its parent saw under the same number is another thing.
os.register_at_fork(after_in_child=_looks.clear)


def files(root: Path, daily: Path) -> Present:
    """MEMORY.md and the logs, named as in the user's folder."""
    now = monotonic()
    # Asked before the look: what is touched during it is looked at again.
    touched = tuple(watcher().last_touch(folder) for folder in (root, daily))
    last = _looks.get(root)
    if last and last.touched == touched and None not in touched and now - last.at < TRUST:
        return last.present
    memory, linked = look(root, lambda name: name == MEMORY_FILE)
    logs, linked_logs = look(daily, is_log, "daily/")
    present = (*memory, *logs)
    if len(_looks) >= MOST_FOLDERS:
        _looks.clear()
    # What a link leads to may be touched without a word in this folder.
    _looks[root] = Look((None,) if linked or linked_logs else touched, now, present)
    return present


def look(folder: Path, wanted: Callable[[str], bool], prefix: str = "") -> tuple[list[Seen], bool]:
    """The folder's files with a wanted name, and whether one is a link.

    A link to nowhere or in a circle is as good as no file. A folder that is there and can't be read raises:
    its files must not be taken for gone.
    """
    seen, linked = list[Seen](), False
    try:
        here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        return seen, linked
    except OSError as error:
        raise explain(error, folder, "read") from error
    try:
        with os.scandir(here) as entries:
            for entry in entries:
                if not wanted(entry.name):
                    continue
                linked = linked or entry.is_symlink()
                try:
                    found = entry.stat()
                except OSError as error:
                    if error.errno in GONE:
                        continue
                    raise explain(error, folder / entry.name, "read") from error
                if S_ISREG(found.st_mode):
                    seen.append((prefix + entry.name, found.st_mtime_ns, found.st_size, found.st_ino))
    finally:
        os.close(here)
    return seen, linked


@lru_cache(maxsize=10_000)
def is_log(name: str) -> bool:
    """Only a real date names a log."""
    if not DAY.fullmatch(day_of(name)) or not name.endswith(".md"):
        return False
    try:
        return bool(date.fromisoformat(day_of(name)))
    except ValueError:
        return False


def day_of(name: str) -> str:
    return name.removeprefix("daily/").removesuffix(".md")


def fingerprint(written: int, size: int, inode: int) -> str:
    return f"{RULES}:{written}:{size}:{inode}"


# The same files as a moment ago are not written down and hashed again.
@lru_cache(maxsize=100)
def digest(present: Present) -> str:
    """One text for all files and how they are."""
    return hashlib.sha256(repr((RULES, sorted(present))).encode()).hexdigest()
