"""Whole-file writes that are either there or not, and reading that never loses a byte it can't decode."""

import codecs
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from io import BytesIO
from pathlib import Path

# The start of a file that is read: far more than chats and people write in a day or in MEMORY.md, and little
# enough to be read in a moment. A memory of five megabytes is still read and changed as a whole.
MOST_BYTES = 8_000_000
MOST_LINES = 100_000


# Asked right before a file is replaced, by whoever has a lock that may be lost. Raises StorageError.
before_replacing: ContextVar[Callable[[], None] | None] = ContextVar("before_replacing", default=None)


class StorageError(Exception):
    """A memory file could not be read or written; the message says which and what to do."""


class TooLarge(StorageError):
    """A file of which only the start is read: writing it from what was read would lose the rest."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path.name} was not changed: {MOST_LINES:,} lines and {MOST_BYTES // 1_000_000} MB of a file "
            "are read, and this has more. Make it shorter in a text editor."
        )


def explain(error: OSError, path: Path, doing: str) -> StorageError:
    """A sentence for the person who keeps the machine, in place of an errno."""
    why = error.strerror or str(error)
    return StorageError(f"{path.name} could not be {doing}: {why}. Check the disk and its permissions.")


def read_start(path: Path) -> tuple[bytes, bool] | None:
    """As much of the file as is read, in whole lines, and whether that is all of it."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise explain(error, path, "read") from error
    end = start_of(data)
    return data[:end], end == len(data)


def start_of(data: bytes) -> int:
    """Where what is read of these bytes ends: after a line, or in one that is too long after a character."""
    end = len(data)
    if end > MOST_BYTES:
        end = data.rfind(b"\n", 0, MOST_BYTES) + 1
        if not end:
            end = MOST_BYTES
            # At most three bytes that continue a character that began before the end.
            while end > MOST_BYTES - 3 and data[end] & 0xC0 == 0x80:
                end -= 1
    if data.count(b"\n", 0, end) < MOST_LINES:
        return end
    at = -1
    for _ in range(MOST_LINES):
        at = data.index(b"\n", at + 1)
    return at + 1


def is_too_large(path: Path) -> bool:
    """Whether only a part of the file is read. One with fewer bytes than lines are read is not opened."""
    try:
        size = path.stat().st_size
    except OSError:
        return False
    if MOST_LINES < size <= MOST_BYTES:
        found = read_start(path)
        return found is not None and not found[1]
    return size > MOST_BYTES


def read_bytes(path: Path) -> bytes | None:
    """All of the file, for a change to it."""
    found = read_start(path)
    if found is None:
        return None
    data, whole = found
    if not whole:
        raise TooLarge(path)
    return data


def read_text(path: Path) -> str | None:
    """The file's text with its own line ends; bytes that are not UTF-8 show as U+FFFD.

    Of a file that is too large it is the start. Writing such a file is refused, so the rest is never lost.
    """
    found = read_start(path)
    return None if found is None else found[0].removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")


def write_bytes(path: Path, data: bytes) -> None:
    """Temporary file in the same folder, fsync, rename, fsync of the folder. Hold the user's lock."""
    # A link made by the owner (to a synced folder, say) stays a link.
    path = Path(os.path.realpath(path))
    if start_of(data) < len(data) or is_too_large(path):
        raise TooLarge(path)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_leftovers(path)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    except OSError as error:
        raise explain(error, path, "written") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            shutil.copymode(path, name)
        if check := before_replacing.get():
            check()
        os.replace(name, path)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(name)
        if isinstance(error, OSError):
            raise explain(error, path, "written") from error
        raise
    sync_folder(path.parent)


def remove_leftovers(path: Path) -> None:
    """Temporary files of a writer that was killed: whoever holds the lock now knows them to be dead."""
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        with suppress(OSError):
            leftover.unlink()


def sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where the system lets a folder be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def encode_over(old: bytes | None, text: str) -> tuple[bytes, bool]:
    """The bytes of `text`; its lines that stood in `old` keep their bytes. Also: were bytes given up?

    A line that is not UTF-8 reads with U+FFFD in it. Written back as such it would lose what it was.
    """
    old = old or b""
    mark = codecs.BOM_UTF8 if old.startswith(codecs.BOM_UTF8) else b""
    lines = BytesIO(text.encode("utf-8", "replace")).readlines()
    kept: dict[str, bytes] = {}
    for line in BytesIO(old.removeprefix(mark)):
        shown = line.decode("utf-8", "replace")
        if shown.encode() != line:
            kept[shown.rstrip("\r\n")] = line.rstrip(b"\r\n")
    if not kept:
        return mark + b"".join(lines), False
    used: set[str] = set()
    out = []
    for line in lines:
        body = line.decode().rstrip("\r\n")
        if body in kept:
            used.add(body)
            line = kept[body] + line[len(line.rstrip(b"\r\n")) :]
        out.append(line)
    return mark + b"".join(out), used != set(kept)
