"""Whole-file writes that are either there or not, and reading that never loses a byte it can't decode."""

import codecs
import os
import shutil
import tempfile
from contextlib import suppress
from io import BytesIO
from pathlib import Path


class StorageError(Exception):
    """A memory file could not be read or written; the message says which and what to do."""


def explain(error: OSError, path: Path, doing: str) -> StorageError:
    """A sentence for the person who keeps the machine, in place of an errno."""
    why = error.strerror or str(error)
    return StorageError(f"{path.name} could not be {doing}: {why}. Check the disk and its permissions.")


def read_bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise explain(error, path, "read") from error


def read_text(path: Path) -> str | None:
    """The file's text with its own line ends; bytes that are not UTF-8 show as U+FFFD."""
    data = read_bytes(path)
    return None if data is None else data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")


def write_bytes(path: Path, data: bytes) -> None:
    """Temporary file in the same folder, fsync, rename, fsync of the folder. Hold the user's lock."""
    # A link made by the owner (to a synced folder, say) stays a link.
    path = Path(os.path.realpath(path))
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
