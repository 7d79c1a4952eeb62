"""Watches folders through inotify: whether anything in one was touched since the last look."""

import ctypes
import os
import struct
import sys
import threading
from itertools import count
from pathlib import Path
from typing import Any

# Bits of inotify(7): written, attributes, closed after writing, moved away and here, made, deleted; and the
# folder itself deleted or moved.
TOUCHED = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
MOVED_ITSELF, IGNORED, OVERFLOW = 0x800, 0x8000, 0x4000
EVENT = struct.Struct("iIII")
MOST_FOLDERS = 500
# So many names are remembered of a folder; with more, all are forgotten.
MOST_NAMES = 50


class Watcher:
    """Remembers when something last happened in a folder, in numbers that only grow."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._libc: Any = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._ear = -1
        self._watches: dict[Path, int] = {}
        self._touched: dict[int, int] = {}
        # When each name in a folder was last touched, and the number since which all such names are known.
        self._names: dict[int, dict[str, int]] = {}
        self._known_since: dict[int, int] = {}

    def last_touch(self, folder: Path) -> int | None:
        """Another number than before means another look is due; None where the kernel can't tell."""
        if self._libc is None:
            return None
        with self._lock:
            if self._ear >= 0:
                self._hear()
            if folder not in self._watches:
                self._watch(folder)
            return self._touched.get(self._watches.get(folder, -1))

    def touched_since(self, folder: Path, number: int | None) -> set[str] | None:
        """The names that were touched after this number was told; None where the kernel can't tell."""
        with self._lock:
            watch = self._watches.get(folder, -1)
            if number is None or watch not in self._touched or number < self._known_since[watch]:
                return None
            return {name for name, touch in self._names[watch].items() if touch > number}

    def _watch(self, folder: Path) -> None:
        if self._ear < 0 or len(self._watches) >= MOST_FOLDERS:
            self._begin()
        watch = self._libc.inotify_add_watch(self._ear, os.fsencode(folder), TOUCHED)
        if watch >= 0:
            self._watches[folder] = watch
            self._forget_names(watch)

    def _begin(self) -> None:
        if self._ear >= 0:
            os.close(self._ear)
        self._ear = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._watches, self._touched = {}, {}

    def _hear(self) -> None:
        while True:
            try:
                heard = os.read(self._ear, 65536)
            except BlockingIOError:
                return
            at = 0
            while at < len(heard):
                watch, what, _, length = EVENT.unpack_from(heard, at)
                at += EVENT.size + length
                self._note(watch, what, os.fsdecode(heard[at - length : at].rstrip(b"\0")))

    def _note(self, watch: int, what: int, name: str) -> None:
        if what & OVERFLOW:
            for known in self._touched:
                self._forget_names(known)
        elif what & (IGNORED | MOVED_ITSELF):
            # Gone or elsewhere: the same name may be another folder by now.
            self._libc.inotify_rm_watch(self._ear, watch)
            self._touched.pop(watch, None)
            self._watches = {folder: other for folder, other in self._watches.items() if other != watch}
        elif watch in self._touched:
            if not name or len(self._names[watch]) >= MOST_NAMES:
                # Something that has no name is the folder itself.
                self._forget_names(watch)
            else:
                self._touched[watch] = self._names[watch][name] = next(self._numbers)

    def _forget_names(self, watch: int) -> None:
        """Whoever looked at the folder before now has to look at all of it."""
        self._touched[watch] = self._known_since[watch] = next(self._numbers)
        self._names[watch] = {}


_watcher = Watcher()


def watcher() -> Watcher:
    """This process's own watcher: two processes sharing one after a fork would each miss events."""
    global _watcher
    if _watcher.process != os.getpid():
        _watcher = Watcher()
    return _watcher
