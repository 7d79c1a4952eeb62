"""One zip file with the database of one moment, the key, all memory, and a checksum of each file."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone

from oneclaw import __version__, datafolder, wiring
from oneclaw.moving.move import file_address
from oneclaw.postgres import is_postgres
from oneclaw.server import database
from oneclaw.sqlite import driver

MANIFEST = "manifest.json"
FORMAT = 1
PIECE = 2**20
# A zip file knows no earlier year.
EARLIEST = (1980, 1, 1, 0, 0, 0)


class BackupFailed(Exception):
    """No backup was made, and nothing was left behind; the message says why."""


@dataclass(slots=True)
class SavedBackup:
    """A finished backup: what is in it by name and checksum, and what could not be."""

    file: Path
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def save(target: Path) -> SavedBackup:
    """A new file with everything in it, readable by its owner alone; whole, or not there at all."""
    if os.path.lexists(target):
        raise BackupFailed(f"{target} already exists. Choose a new file name.")
    saved = SavedBackup(target)
    try:
        with part_of(target) as part:
            with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
                fill(archive, target.parent, saved)
            part.flush()
            os.fsync(part.fileno())
    except FileExistsError:
        raise BackupFailed(f"{target} already exists. Choose a new file name.") from None
    except OSError as error:
        about = f" ({error.filename})" if error.filename else ""
        raise BackupFailed(f"{target} can't be written: {error.strerror}{about}.") from None
    except (DatabaseError, driver.choose().Error) as error:
        raise BackupFailed(f"The database could not be copied: {error}.") from None
    return saved


@contextmanager
def part_of(target: Path) -> Iterator[BinaryIO]:
    """A file under another name until it is whole; it never replaces one that came meanwhile."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as part:
            yield part
        try:
            os.link(name, target)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            if os.path.lexists(target):
                raise FileExistsError(target) from None
            os.rename(name, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)
    with suppress(OSError):
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def fill(archive: zipfile.ZipFile, workplace: Path, saved: SavedBackup) -> None:
    # The copy is made where the backup goes: the disk with the data may be the full one.
    with tempfile.TemporaryDirectory(prefix=".oneclaw-", dir=workplace) as folder:
        copy = Path(folder) / datafolder.DATABASE
        left_out = copy_database(copy)
        add(archive, datafolder.DATABASE, copy, saved)
    for found in datafolder.kept_files(Path(settings.DATA_DIR)):
        if found.name in left_out:
            continue
        if found.problem:
            saved.left_out.append(f"{found.path} {found.problem}.")
            continue
        # Removed between the listing and now: it was not to be kept.
        with suppress(FileNotFoundError):
            add(archive, found.name, found.path, saved)
    made = timezone.now().isoformat(timespec="seconds")
    manifest = {"format": FORMAT, "oneclaw": __version__, "made_at": made, "files": saved.files}
    archive.writestr(entry(MANIFEST, time.time()), json.dumps(manifest, indent=1))


def entry(name: str, changed: float) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, max(time.localtime(changed)[:6], EARLIEST))
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o600 << 16
    return info


def add(archive: zipfile.ZipFile, name: str, path: Path, saved: SavedBackup) -> None:
    """A file of any size, in pieces; the checksum is of the very bytes that went in."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise BackupFailed(f"{os.fsencode(path)!r} has a name that is not valid text. Rename it.") from None
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as source:
        info = entry(name, os.fstat(source.fileno()).st_mtime)
        with archive.open(info, "w", force_zip64=True) as out:
            while piece := source.read(PIECE):
                digest.update(piece)
                size += len(piece)
                out.write(piece)
    saved.files[name] = {"size": size, "sha256": digest.hexdigest()}


def copy_database(target: Path) -> set[str]:
    """A copy of one moment, whatever is being written meanwhile; a damaged database is not passed on.

    Returns the files that belong to what is not to be kept.
    """
    has_file = is_postgres()
    if has_file:
        copy_from_postgres(target)
    else:
        source = Path(connection.settings_dict["NAME"])
        if not source.exists():  # opening it would make one
            raise BackupFailed(nothing_to_save())
        has_file = bool(os.statvfs(source.parent).f_flag & os.ST_RDONLY)
        if has_file:
            copy_files(source, target)
        else:
            connection.ensure_connection()
    copy = driver.choose().connect(target)
    try:
        if has_file:
            copy.execute("PRAGMA journal_mode = DELETE")  # takes what is in the log into the copy
        else:
            connection.connection.backup(copy)
        if faults := damage(copy):
            raise BackupFailed(
                f"The database is damaged: {faults}. Keep older backups, and copy the data folder as it is."
            )
        if not is_installation(copy):
            raise BackupFailed(nothing_to_save())
        left_out = wiring.take_out_of_backup(copy)
        copy.commit()
    finally:
        copy.close()
    return left_out


def is_installation(copy: Any) -> bool:
    """Whether a start of OneClaw has ever made this database; a restore refuses one without."""
    known = copy.execute("SELECT 1 FROM sqlite_master WHERE name = 'django_migrations'").fetchone()
    return bool(known and copy.execute("SELECT 1 FROM django_migrations LIMIT 1").fetchone())


def nothing_to_save() -> str:
    return (
        f"There is no OneClaw in the database {database.name()}, so there is nothing to save. Give this "
        "command the settings that OneClaw runs with: ONECLAW_DATA_DIR and, on PostgreSQL, "
        "ONECLAW_DATABASE_URL (docs/deploy.md has the commands)."
    )


def copy_from_postgres(target: Path) -> None:
    """A SQLite file of this moment's rows, made by a process of its own: it turns to another database."""
    command = (sys.executable, str(settings.BASE_DIR / "manage.py"), "move-to", "--while-running")
    done = subprocess.run(  # noqa: S603  (our own command)
        [*command, file_address(target)], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        raise BackupFailed(f"The database could not be copied: {said}")


def copy_files(source: Path, target: Path) -> None:
    """From a disk that went read-only, where SQLite can't open it and nobody can change it meanwhile."""
    for suffix in ("", "-wal"):
        with suppress(FileNotFoundError):
            shutil.copyfile(f"{source}{suffix}", f"{target}{suffix}")


def damage(copy: Any) -> str:
    """What SQLite finds wrong; the full-text tables can be made again and don't count."""
    rows = [str(row[0]) for row in copy.execute("PRAGMA quick_check(20)")]
    return "; ".join(row for row in rows if row != "ok" and "FTS5" not in row)
