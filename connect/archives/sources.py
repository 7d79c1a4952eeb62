"""Where an archive's files are: a ZIP, a folder or a single file. Nothing is ever unpacked to disk."""

import base64
import binascii
import os
import re
import stat
import struct
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from connect.archives.documents import READ_ERRORS, Damaged
from connect.archives.values import Skipped, title_of

MOST_FILES = 50_000
MOST_DIRECTORY = 32 * 2**20  # bytes of a ZIP's list of its files
MOST_READ = 8 * 2**30  # bytes unpacked in one reading
# Text rarely packs to less than a hundredth; what does, and is large, is made to fill a disk.
MOST_RATIO, RATIO_FROM, RATIO_OF_ALL_FROM = 200, 16 * 2**20, 64 * 2**20
END = b"PK\x05\x06"
END_64, LOCATOR_64 = b"PK\x06\x06", b"PK\x06\x07"
# A file that stands in a message itself.
EMBEDDED = re.compile(r"data:[\w.+-]{1,60}/[\w.+-]{1,60}(?:;[\w=-]{1,60}){0,3};base64,")
# Left by programs that pack, and of no interest.
JUNK = ("__MACOSX/", ".git/", ".obsidian/", ".trash/")


class Refused(Exception):
    """The archive can't be taken in; the message says why."""


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    size: int


class Counted:
    """A file that is read up to a bound, however large it says it is."""

    def __init__(self, stream: BinaryIO, source: "Zip") -> None:
        self.stream, self.source = stream, source

    def read(self, size: int = -1) -> bytes:
        try:
            data = self.stream.read(size if 0 <= size <= 2**20 else 2**20)
        except READ_ERRORS as error:
            raise Damaged(f"It can't be unpacked: {error or 'it ends early'}") from None
        self.source.read += len(data)
        if self.source.read > MOST_READ:
            raise Damaged("The archive unpacks to more than can be read.")
        return data


class Embedded:
    """A file within a message, decoded as it is read."""

    def __init__(self, address: str) -> None:
        head = EMBEDDED.match(address)
        if head is None:
            raise Damaged("It can't be read: it is not written as files in messages are.")
        self.address, self.at = address, head.end()

    def read(self, size: int = -1) -> bytes:
        letters = 4 * max(size // 3, 1) if 0 <= size <= 2**20 else 2**20
        piece = self.address[self.at : self.at + letters]
        self.at += letters
        try:
            return base64.b64decode(piece, validate=True)
        except (binascii.Error, ValueError):
            raise Damaged("It can't be read: it is damaged.") from None


def embedded(text: str) -> str:
    """A text as a file within a message."""
    return f"data:text/plain;base64,{base64.b64encode(text.encode('utf-8', 'replace')).decode()}"


class Source:
    """Files by their names, and those that messages hold by what stands there."""

    entries: list[Entry]
    skipped: list[Skipped]

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        if name.startswith("data:"):
            yield cast(BinaryIO, Embedded(name))
        else:
            with self.stored(name) as stream:
                yield stream

    def stored(self, name: str) -> AbstractContextManager[BinaryIO]:
        raise NotImplementedError


class Zip(Source):
    """A ZIP, of which only names and sizes are known until a file in it is read."""

    def __init__(self, path: Path) -> None:
        check_directory(path)
        self.read = 0
        try:
            self.zip = zipfile.ZipFile(path)
        except (*READ_ERRORS, ValueError) as error:
            raise Refused(f"This ZIP is damaged: {error}") from None
        self.entries, self.skipped = list[Entry](), list[Skipped]()
        self.infos = dict[str, zipfile.ZipInfo]()
        for info in self.zip.infolist():
            self._take(info)
        size = sum(info.file_size for info in self.infos.values())
        packed = sum(info.compress_size for info in self.infos.values())
        if size > RATIO_OF_ALL_FROM and size > MOST_RATIO * max(packed, 1):
            raise Refused("This ZIP unpacks to far more than any text does.")

    def _take(self, info: zipfile.ZipInfo) -> None:
        name = info.filename
        if info.is_dir() or is_junk(name):
            return
        if problem := unsafe(info):
            self.skipped.append(Skipped(title_of(name) or "A file without a name", problem))
        elif name not in self.infos:
            self.infos[name] = info
            self.entries.append(Entry(name, info.file_size))

    @contextmanager
    def stored(self, name: str) -> Iterator[BinaryIO]:
        try:
            stream = self.zip.open(self.infos[name])
        except (*READ_ERRORS, KeyError) as error:
            raise Damaged(f"It can't be unpacked: {error}") from None
        with stream:
            yield cast(BinaryIO, Counted(cast(BinaryIO, stream), self))


def unsafe(info: zipfile.ZipInfo) -> str:
    """Why a file of a ZIP is left alone; empty if it may be read."""
    name = info.filename
    if is_outside(name):
        return "Its name points outside the archive."
    if stat.S_ISLNK(info.external_attr >> 16):
        return "It is a link, not a file."
    if info.flag_bits & 0x1:
        return "It is encrypted."
    if info.file_size > RATIO_FROM and info.file_size > MOST_RATIO * max(info.compress_size, 1):
        return "It unpacks to far more than any text does."
    return ""


def is_outside(name: str) -> bool:
    plain = name.replace("\\", "/")
    return plain.startswith("/") or ".." in plain.split("/") or plain[1:2] == ":" or "\0" in name


def is_junk(name: str) -> bool:
    plain = f"/{name}"
    return any(f"/{junk}" in plain for junk in JUNK) or PurePosixPath(name).name in (".DS_Store", "Thumbs.db")


def check_directory(path: Path) -> None:
    """Refuse a list of files that is too long before anything reads it whole."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - 66_000))
        tail = file.read(66_000)
        at = tail.rfind(END)
        if at < 0 or len(tail) < at + 22:
            raise Refused("This ZIP is damaged: its list of files is missing. Was the download complete?")
        count, directory = struct.unpack("<HL", tail[at + 10 : at + 16])
        locator = tail.rfind(LOCATOR_64, 0, at)
        if locator >= 0 and len(tail) >= locator + 16:
            (start,) = struct.unpack("<Q", tail[locator + 8 : locator + 16])
            if start < size:
                file.seek(start)
                record = file.read(56)
                if record.startswith(END_64) and len(record) == 56:
                    count, directory = struct.unpack("<QQ", record[32:48])
    if count > MOST_FILES or directory > MOST_DIRECTORY:
        raise Refused(f"This ZIP lists more than {MOST_FILES:,} files.")


class Folder(Source):
    """A folder on this machine; links in it are not followed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.entries, self.skipped = list[Entry](), list[Skipped]()
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                self._take(Path(folder) / name)
            if len(self.entries) > MOST_FILES:
                raise Refused(f"This folder holds more than {MOST_FILES:,} files.")

    def _take(self, path: Path) -> None:
        name = path.relative_to(self.root).as_posix()
        if path.name.startswith("."):
            return
        if path.is_symlink() or not path.is_file():
            self.skipped.append(Skipped(title_of(name), "It is a link, not a file."))
        else:
            self.entries.append(Entry(name, path.stat().st_size))

    @contextmanager
    def stored(self, name: str) -> Iterator[BinaryIO]:
        try:
            # Not through a link that took the file's place meanwhile.
            number = os.open(self.root / name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except OSError as error:
            raise Damaged(f"It can't be read: {error.strerror}") from None
        with os.fdopen(number, "rb") as file:
            yield file


class Single(Source):
    """One file by itself."""

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.entries, self.skipped = [Entry(name, path.stat().st_size)], list[Skipped]()

    @contextmanager
    def stored(self, name: str) -> Iterator[BinaryIO]:
        with self.path.open("rb") as file:
            yield file


def source_of(path: Path, name: str = "") -> Zip | Folder | Single:
    """What an archive's files are in, by its first bytes and not by its name."""
    if path.is_dir():
        return Folder(path)
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise Refused(f"The file can't be read: {error.strerror}.") from None
    if not start:
        raise Refused("The file is empty.")
    return Zip(path) if start.startswith((b"PK\x03\x04", END)) else Single(path, name or path.name)
