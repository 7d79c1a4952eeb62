"""Bytes of attachments on disk: once by content under their owner, and smaller pictures made when wanted."""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path

from django.conf import settings

# Seconds: a file without a row may be one whose row is being written.
SETTLED = 60 * 60
PIECE = 2**20
PICTURE_FORMATS = ("PNG", "JPEG")


def files(owner_id: int) -> Path:
    return Path(settings.DATA_DIR) / "files" / str(owner_id)


def made(owner_id: int) -> Path:
    """Where smaller pictures are kept; they can always be made again."""
    return Path(settings.DATA_DIR) / "pictures" / str(owner_id)


@contextmanager
def scratch(owner_id: int) -> Iterator[Path]:
    """A folder to work in, on the disk where the result stays."""
    files(owner_id).mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = tempfile.mkdtemp(prefix=".", suffix=".tmp", dir=files(owner_id))
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def keep(owner_id: int, path: Path) -> str:
    """Move a finished file to its place; its content is its name, so a second copy takes no room."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
        os.fsync(file.fileno())
    target = files(owner_id) / digest.hexdigest()
    path.chmod(0o600)
    # Also where it is there already: it is as new as this one, so nobody tidies it away meanwhile.
    os.replace(path, target)
    return target.name


def read(owner_id: int, sha256: str) -> bytes | None:
    """The bytes; None where somebody took them away."""
    try:
        return (files(owner_id) / sha256).read_bytes()
    except OSError:
        return None


def smaller(owner_id: int, sha256: str, side: int) -> bytes | None:
    """A picture with no side longer than this, made once; as it is where it is small enough."""
    place = made(owner_id) / f"{sha256}-{side}"
    with suppress(OSError):
        return place.read_bytes()
    data = read(owner_id, sha256)
    if data is None:
        return None
    shrunk = shrink(data, side)
    with suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=place.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(shrunk)
        os.replace(name, place)
    return shrunk


def shrink(data: bytes, side: int) -> bytes:
    """In the format it has. These are pictures that the reader made anew, not a stranger's bytes."""
    from PIL import Image

    with Image.open(BytesIO(data), formats=PICTURE_FORMATS) as picture:
        if max(picture.size) <= side:
            return data
        kind = picture.format
        picture.draft(picture.mode, (side, side))
        picture.thumbnail((side, side), Image.Resampling.LANCZOS)
        out = BytesIO()
        picture.save(out, kind, quality=85, optimize=kind == "PNG")
    return out.getvalue()


def media_type_of(data: bytes) -> str:
    return "image/png" if data.startswith(b"\x89PNG") else "image/jpeg"


def remove(owner_id: int, sha256: str) -> None:
    (files(owner_id) / sha256).unlink(missing_ok=True)
    for path in made(owner_id).glob(f"{sha256}-*"):
        path.unlink(missing_ok=True)


def owners() -> set[int]:
    """Whose files there are."""
    folders = (Path(settings.DATA_DIR) / name for name in ("files", "pictures"))
    found = (each.name for folder in folders if folder.is_dir() for each in folder.iterdir())
    return {int(name) for name in found if name.isdecimal()}


def sweep(owner_id: int, wanted: Collection[str]) -> int:
    """Remove what no row names any more, and what a crash left behind; how many went."""
    count, before = 0, time.time() - SETTLED
    for folder in (files(owner_id), made(owner_id)):
        for path in folder.iterdir() if folder.is_dir() else ():
            if path.name.partition("-")[0] in wanted or path.stat().st_mtime > before:
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            count += 1
        if not wanted:
            with suppress(OSError):
                folder.rmdir()
    return count
