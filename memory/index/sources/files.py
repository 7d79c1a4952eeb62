"""Files as a source of the index: which there are, which of them changed, and the rows they make."""

import errno
import hashlib
import logging
import os
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time
from functools import cached_property, lru_cache
from pathlib import Path
from stat import S_ISREG
from time import monotonic
from typing import NamedTuple

from django.db import transaction
from django.db.models import QuerySet

from memory import embedding
from memory.index import writer
from memory.index.chunks import file_chunks
from memory.index.portions import Portion
from memory.index.sources.watching import MOST_FOLDERS, watcher
from memory.index.writer import ChunkDraft
from memory.models import IndexedSource, IndexState, MemoryIndex, Source
from memory.storage.atomic import StorageError, explain
from memory.storage.files import DAY, MEMORY_FILE, MemoryFileStorage
from oneclaw.masking import mask
from oneclaw.postgres import is_postgres
from people.models import User

logger = logging.getLogger(__name__)

# Part of every fingerprint: with other rules for chunks, all files are read again.
RULES = "2"
# So many changed files are indexed without comparing all others.
FEW_FILES = 8
# The kernel says when a file in a folder is touched, and then there is another look at once. It knows nothing
# of what another machine does to a shared folder: that is seen after so many seconds.
TRUST = 2.0
# Sums of marks have 48 hexadecimal digits.
SUMS = 1 << 192
GONE = {errno.ENOENT, errno.ELOOP, errno.ENOTDIR}

# A file's name, time, size and inode: another time, size or inode means that its content is likely another.
Seen = tuple[str, int, int, int]


class Present(tuple[Seen, ...]):
    """The files of one look. The same look as a moment ago is not added up again."""

    @cached_property
    def digest(self) -> str:
        """One text for all files and how they are: a sum, for which their order is all the same."""
        return f"{RULES}:{sum(map(mark_of, self)) % SUMS:048x}"

    @cached_property
    def files(self) -> frozenset[Seen]:
        return frozenset(self)


@lru_cache(maxsize=10_000)
def mark_of(file: Seen) -> int:
    """A number for a file as it is. Of many files nearly all were marked before."""
    return int.from_bytes(hashlib.sha256(repr(file).encode()).digest()[:24])


class Look(NamedTuple):
    """What was seen, when, and the last touch of each folder that was known before."""

    touched: tuple[int | None, ...]
    at: float
    present: Present


_looks: dict[Path, Look] = {}
# What this process last brought the index up to, by folder.
_indexed: dict[Path, Present] = {}
# A forked process counts touches anew: what its parent saw under the same number is another thing.
os.register_at_fork(after_in_child=_looks.clear)


class FileSource:
    """MEMORY.md and the daily logs of one user. Files are named as in the user's folder."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.storage = MemoryFileStorage(user)

    def present(self) -> Present:
        """Every file to index, as it is now."""
        return present(self.storage.root, self.storage.daily_folder)

    def sync(self, state: IndexState, present: Present, portion: Portion) -> None:
        """Read the files that changed, as far as the portion goes, and forget those that are gone."""
        if state.files_seen == present.digest:
            return
        # Another machine may have changed and indexed something since that look.
        present = look_again(self.storage.root, self.storage.daily_folder)
        if state.files_seen == present.digest or self._follow(state, present, portion):
            return
        known = dict(self._known().values_list("source_key", "fingerprint"))
        changed = [file for file in present if known.get(file[0]) != fingerprint(*file[1:])]
        self._read([name for name, _, size, _ in changed if portion.takes(size)], present)

    def _follow(self, state: IndexState, present: Present, portion: Portion) -> bool:
        """Read the few files that changed since this process last did so; False where all must be compared.

        With ten years of logs, comparing all takes longer than indexing one.
        """
        last = _indexed.get(self.storage.root)
        if last is None or last.digest != state.files_seen:
            return False
        changed = sorted(present.files - last.files)
        names = [name for name, *_ in changed]
        gone = {name for name, *_ in last.files - present.files} - set(names)
        size = sum(size for _, _, size, _ in changed)
        if gone or len(names) > FEW_FILES or not portion.holds(size):
            return False
        portion.takes(size)
        for name in names:
            try:
                self.index(name)
            except StorageError:
                return False
        wanted = {name: fingerprint(*marks) for name, *marks in changed}
        with transaction.atomic():
            stand = dict(self._known().filter(source_key__in=names).values_list("source_key", "fingerprint"))
            # Whoever else has indexed meanwhile has noted another look.
            mine = IndexState.objects.filter(owner=self.user, files_seen=last.digest)
            noted = stand == wanted and mine.update(files_seen=present.digest)
        if noted:
            self._remember(present)
        return bool(noted)

    def _remember(self, present: Present) -> None:
        if len(_indexed) >= MOST_FOLDERS:
            _indexed.clear()
        _indexed[self.storage.root] = present

    def read_all(self) -> None:
        present = self.present()
        self._read([name for name, *_ in present], present)

    def index(self, name: str) -> None:
        """Index one file as it is now; one that is gone is taken out."""
        path = self.storage.root / name
        try:
            found = path.stat()
            seen = fingerprint(found.st_mtime_ns, found.st_size, found.st_ino)
        except OSError:
            seen = ""
        text = self._text(name) if seen else None
        if text is None:
            self._drop(name)
            return
        stored = MemoryIndex.objects.filter(owner=self.user, source_key=name)
        drafts = list(self._drafts(name, path, text))

        def note() -> None:
            sources = IndexedSource.objects.filter(owner=self.user, source_key=name)
            if not sources.update(fingerprint=seen):
                IndexedSource.objects.create(owner=self.user, source_key=name, fingerprint=seen)

        # Together, so that of two at once the later one's rows stand under its own fingerprint.
        writer.replace(self.user.pk, stored, drafts, together=note)

    def _read(self, names: list[str], present: Present) -> None:
        """Index these files; one that can't be read keeps what the index has of it and is tried again."""
        seen = present.digest
        for name in names:
            try:
                self.index(name)
            except StorageError as error:
                logger.warning("%s of %s is not indexed: %s", name, self.user, error)
                seen = ""
        wanted = {name: fingerprint(*marks) for name, *marks in present}
        for name in set(self._known().values_list("source_key", flat=True)) - set(wanted):
            # Written by another machine a moment ago, it may not be in this one's list yet.
            if not (self.storage.root / name).is_file():
                self._drop(name)
        with transaction.atomic():
            if dict(self._known().values_list("source_key", "fingerprint")) != wanted:
                # A file changed meanwhile, or another sync put in what it had read before: look again.
                seen = ""
            IndexState.objects.filter(owner=self.user).update(files_seen=seen)
        if seen:
            self._remember(present)

    def _known(self) -> QuerySet[IndexedSource]:
        return IndexedSource.objects.filter(owner=self.user).exclude(source_key__startswith="chat:")

    def _text(self, name: str) -> str | None:
        if name == MEMORY_FILE:
            return self.storage.read_memory_file()
        return self.storage.read_daily_log(day_of(name))

    def _drafts(self, name: str, path: Path, text: str) -> Iterator[ChunkDraft]:
        if name == MEMORY_FILE:
            source, day = Source.LONG_TERM, None
            # Long-term memory does not age; this is only shown. A rebuild must not change it.
            made = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        else:
            source, day = Source.DAILY_LOG, date.fromisoformat(day_of(name))
            made = datetime.combine(day, time.min, self.user.zone)
        for position, chunk in enumerate(
            file_chunks(mask(text, keep_lines=True), embedding.engine().count_tokens)
        ):
            yield ChunkDraft(source, name, day, made, position, chunk)

    def _drop(self, name: str) -> None:
        stored = MemoryIndex.objects.filter(owner=self.user, source_key=name)
        writer.delete(self.user.pk, list(stored.values_list("id", flat=True)))
        IndexedSource.objects.filter(owner=self.user, source_key=name).delete()


def look_again(root: Path, daily: Path) -> Present:
    """As `present`, whatever was seen a moment ago; another look only where several machines may write."""
    if is_postgres():
        _looks.pop(root, None)
    return present(root, daily)


def present(root: Path, daily: Path) -> Present:
    """MEMORY.md and the logs, named as in the user's folder."""
    now = monotonic()
    # Asked before the look: what is touched during it is looked at again.
    touched = tuple(watcher().last_touch(folder) for folder in (root, daily))
    last = _looks.get(root)
    if last and None not in touched and None not in last.touched and now - last.at < TRUST:
        if last.touched == touched:
            return last.present
        if (seen := touched_again(last, root, daily)) is not None:
            _looks[root] = Look(touched, last.at, seen)
            return seen
    memory, linked = look(root, lambda name: name == MEMORY_FILE)
    logs, linked_logs = look(daily, is_log, "daily/")
    found = Present((*memory, *logs))
    if len(_looks) >= MOST_FOLDERS:
        _looks.clear()
    # What a link leads to may be touched without a word in this folder.
    _looks[root] = Look((None,) if linked or linked_logs else touched, now, found)
    return found


def touched_again(last: Look, root: Path, daily: Path) -> Present | None:
    """The last look with the files that were touched since seen anew; None where all must be.

    Asking for ten years of logs takes longer than indexing one of them.
    """
    found = {file[0]: file for file in last.present}
    for folder, number, prefix in ((root, last.touched[0], ""), (daily, last.touched[1], "daily/")):
        names = watcher().touched_since(folder, number)
        if names is None:
            return None
        for name in names:
            if not (is_log(name) if prefix else name == MEMORY_FILE):
                continue
            try:
                seen = (folder / name).lstat()
            except FileNotFoundError:
                found.pop(prefix + name, None)
                continue
            except OSError:
                return None
            # What a link leads to may be touched without a word in this folder.
            if not S_ISREG(seen.st_mode):
                return None
            found[prefix + name] = (prefix + name, seen.st_mtime_ns, seen.st_size, seen.st_ino)
    return Present(found.values())


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
