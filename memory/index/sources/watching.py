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

    def _watch(self, folder: Path) -> None:
        if self._ear < 0 or len(self._watches) >= MOST_FOLDERS:
            self._begin()
        watch = self._libc.inotify_add_watch(self._ear, os.fsencode(folder), TOUCHED)
        if watch >= 0:
            self._watches[folder] = watch
            self._touched[watch] = next(self._numbers)

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
                self._note(watch, what)

    def _note(self, watch: int, what: int) -> None:
        if what & OVERFLOW:
            self._touched = {known: next(self._numbers) for known in self._touched}
        elif what & (IGNORED | MOVED_ITSELF):
            # Gone or elsewhere: the same name may be another folder by now.
            self._libc.inotify_rm_watch(self._ear, watch)
            self._touched.pop(watch, None)
            self._watches = {folder: other for folder, other in self._watches.items() if other != watch}
        elif watch in self._touched:
            self._touched[watch] = next(self._numbers)


_watcher = Watcher()


def watcher() -> Watcher:
    """This process's own watcher: two processes sharing one after a fork would each miss events."""
    global _watcher
    if _watcher.process != os.getpid():
        _watcher = Watcher()
    return _watcher
