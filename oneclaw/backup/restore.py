"""Putting a backup back: unpacked and checked beside the present data first, then exchanged by renaming."""

import hashlib
import json
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from django.utils import timezone

from oneclaw import datafolder
from oneclaw.backup.archive import FORMAT, MANIFEST, PIECE, damage
from oneclaw.server.database import unknown_among
from oneclaw.sqlite import driver

STAGED = ".restoring-"
ASIDE = "before-restore-"
# Written before the first rename, so that an interrupted exchange can be finished.
JOURNAL = "restore.journal"
LONGEST_MANIFEST = 2**28
# Room to work in, beyond what is unpacked.
SPARE = 2**26


class RestoreFailed(Exception):
    """Nothing of the present data was touched; the message says why."""


@dataclass(frozen=True, slots=True)
class Restored:
    files: int
    # Where the data that was there before is now; None where there was none.
    aside: Path | None
    # False for a backup of an older version, which holds no checksums but those of the zip format.
    had_checksums: bool


def restore(file: Path, folder: Path) -> Restored:
    """Make the data folder what the backup says. Nothing may use the folder meanwhile."""
    if (folder / JOURNAL).exists():
        raise RestoreFailed("An earlier restore was interrupted: run `manage.py restore --finish` first.")
    remove_leftovers(folder)
    staged = Path(tempfile.mkdtemp(prefix=STAGED, dir=folder))
    try:
        with opened(file) as archive:
            manifest = checksums(archive)
            members = safe_members(archive, manifest)
            enough_room(members, folder)
            for member in members:
                unpack(archive, member, staged, manifest)
        check_database(staged / datafolder.DATABASE)
    except OSError as error:
        shutil.rmtree(staged, ignore_errors=True)
        raise RestoreFailed(f"{file} could not be unpacked: {error.strerror or error}.") from None
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    aside = note_exchange(folder, staged)
    finish(folder)
    return Restored(len(members), aside, manifest is not None)


def remove_leftovers(folder: Path) -> None:
    """What a restore that was killed had unpacked."""
    for leftover in folder.glob(f"{STAGED}*"):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink()


@contextmanager
def opened(file: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except FileNotFoundError:
        raise RestoreFailed(f"There is no file {file}.") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise RestoreFailed(f"{file} is damaged or not a backup: {error}.") from None


def checksums(archive: zipfile.ZipFile) -> dict[str, str] | None:
    """The checksum of each file by name; None in a backup that was made before there were any."""
    try:
        info = archive.getinfo(MANIFEST)
    except KeyError:
        return None
    if info.file_size > LONGEST_MANIFEST:
        raise RestoreFailed("The backup's list of files is damaged.")
    try:
        manifest = json.loads(archive.read(info))
        made_by = manifest["format"]
        found = {str(name): str(facts["sha256"]) for name, facts in manifest["files"].items()}
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise RestoreFailed("The backup's list of files is damaged.") from None
    if made_by != FORMAT:
        raise RestoreFailed("This backup was made by a newer OneClaw. Update the code first.")
    return found


def safe_members(archive: zipfile.ZipFile, manifest: dict[str, str] | None) -> list[zipfile.ZipInfo]:
    """The files in it, each named once, at a place that a backup has, and all that are listed."""
    members = [info for info in archive.infolist() if not info.is_dir() and info.filename != MANIFEST]
    names = [info.filename for info in members]
    for info in members:
        path = PurePosixPath(info.filename)
        inside = str(path) == info.filename and not path.is_absolute() and ".." not in path.parts
        if not inside or "\\" in info.filename or "\0" in info.orig_filename:
            raise RestoreFailed(f"The backup contains a file with a forbidden name: {info.orig_filename!r}.")
        if path.parts[0] not in datafolder.KEPT:
            raise RestoreFailed(f"The backup contains {info.filename!r}, which this version does not know.")
        if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            raise RestoreFailed(f"{info.filename!r} in the backup is not a regular file.")
    if len(set(names)) != len(names) or (manifest is not None and set(names) != set(manifest)):
        raise RestoreFailed("The files in the backup do not match its list.")
    for needed in (datafolder.DATABASE, datafolder.KEY):
        if needed not in names:
            raise RestoreFailed(f"This is not a OneClaw backup: it contains no {needed}.")
    return members


def enough_room(members: list[zipfile.ZipInfo], folder: Path) -> None:
    wanted, free = sum(info.file_size for info in members) + SPARE, shutil.disk_usage(folder).free
    if wanted > free:
        raise RestoreFailed(f"Not enough disk space: unpacking needs {wanted:,} bytes, {free:,} are free.")


def unpack(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, staged: Path, manifest: dict[str, str] | None
) -> None:
    """One file in pieces, private from its first byte; reading to its end checks zip's own checksum, too."""
    target = staged / member.filename
    for folder in reversed(PurePosixPath(member.filename).parents):
        (staged / folder).mkdir(mode=0o700, exist_ok=True)
    digest, left = hashlib.sha256(), member.file_size
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as out, archive.open(member) as source:
        while piece := source.read(PIECE):
            left -= len(piece)
            if left < 0:
                raise RestoreFailed(f"{member.filename} is longer than the backup says.")
            digest.update(piece)
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    if manifest is not None and digest.hexdigest() != manifest[member.filename]:
        raise RestoreFailed(f"{member.filename} in the backup is not what was saved: its checksum is wrong.")


def check_database(file: Path) -> None:
    """Whole, and not from a newer version of the code."""
    library = driver.choose()
    try:
        with closing(library.connect(file)) as database:
            faults = damage(database)
            applied = database.execute("SELECT app, name FROM django_migrations").fetchall()
    except library.Error as error:
        raise RestoreFailed(f"The database in the backup can't be read: {error}.") from None
    if faults:
        raise RestoreFailed(f"The database in the backup is damaged: {faults}.")
    if unknown := unknown_among(applied):
        raise RestoreFailed(
            f"The backup is from a newer OneClaw (its database has {unknown[-1]}). Update the code first."
        )


def note_exchange(folder: Path, staged: Path) -> Path | None:
    """Write down what goes where, before anything does."""
    present = [name for name in (*datafolder.KEPT, *datafolder.SIDECARS) if os.path.lexists(folder / name)]
    aside = free_name(folder) if present else ""
    note = {"staged": staged.name, "aside": aside, "present": present}
    handle, name = tempfile.mkstemp(prefix=STAGED, dir=folder)
    with os.fdopen(handle, "w") as file:
        json.dump(note, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(name, folder / JOURNAL)
    return folder / aside if aside else None


def free_name(folder: Path) -> str:
    name = f"{ASIDE}{timezone.localtime():%Y-%m-%d_%H-%M-%S}"
    taken = {path.name for path in folder.glob(f"{ASIDE}*")}
    return next(each for each in (name, *(f"{name}_{n}" for n in range(2, 1000))) if each not in taken)


def interrupted(folder: Path) -> bool:
    return (folder / JOURNAL).exists()


def finish(folder: Path) -> None:
    """Exchange what is there for what was unpacked; may be run again after any interruption."""
    note: dict[str, Any] = json.loads((folder / JOURNAL).read_text())
    staged = folder / note["staged"]
    if note["aside"]:
        aside = folder / note["aside"]
        aside.mkdir(mode=0o700, exist_ok=True)
        for name in note["present"]:
            # What stands aside already was moved before the interruption: the place has its successor now.
            if os.path.lexists(folder / name) and not os.path.lexists(aside / name):
                os.rename(folder / name, aside / name)
    if staged.exists():
        for name in sorted(os.listdir(staged)):
            # A start in between has made a key of its own, which nothing was ever sealed with.
            os.replace(staged / name, folder / name)
        staged.rmdir()
    (folder / JOURNAL).unlink()
