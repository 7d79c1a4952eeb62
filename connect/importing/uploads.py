"""Uploads: an archive comes in pieces, each straight to its file on disk, within a limit of its own."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from django.conf import settings
from django.utils import timezone
from django_q.tasks import async_task

from connect.archives.values import title_of
from connect.importing import work
from connect.models import Import
from memory.jobs import claims
from people.models import User

Status = Import.Status
PIECE = 2**20
# A person brings one archive after the other; unfinished ones are dropped for a new one.
MOST_OPEN = 5
KEPT = timedelta(days=1)
# What can be stopped, and the task that does it.
STOPPING = {Status.CHECKING: "connect.tasks.look", Status.RUNNING: "connect.tasks.take_in"}


class Readable(Protocol):
    """A file, or a request whose body is one."""

    def read(self, size: int, /) -> bytes: ...


class UploadRefused(Exception):
    """The upload can't go on; the message says why."""


def begin(user: User, name: str, size: int) -> Import:
    """Make room for an archive of so many bytes."""
    if size <= 0:
        raise UploadRefused("The file is empty.")
    if size > settings.IMPORT_MB * 2**20:
        raise UploadRefused(
            f"The file is larger than {settings.IMPORT_MB:,} MB. ONECLAW_IMPORT_MB sets the limit."
        )
    try:
        work.check_room(2 * size)
    except work.NoRoom as error:
        raise UploadRefused(str(error)) from None
    _drop_unfinished(user)
    import_ = Import.objects.create(owner=user, file_name=title_of(name) or "archive", size=size)
    import_.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    import_.path.touch(mode=0o600)
    return import_


def add(import_: Import, offset: int, stream: Readable) -> Import:
    """Append a piece at its place. One that came before changes nothing; a gap is refused."""
    if import_.status != Status.UPLOADING:
        raise UploadRefused("This upload is over.")
    if offset != import_.received:
        raise UploadRefused(f"The upload goes on at {import_.received}.")
    with import_.path.open("r+b") as file:
        file.seek(offset)
        at = offset
        while data := stream.read(PIECE):
            at += len(data)
            if at > import_.size:
                raise UploadRefused("The file is larger than was announced.")
            file.write(data)
        file.truncate()
    # Only one of two that write the same piece moves the mark.
    Import.objects.filter(pk=import_.pk, received=offset, status=Status.UPLOADING).update(
        received=at, moved_at=timezone.now()
    )
    import_.refresh_from_db()
    if import_.received == import_.size:
        finish(import_)
    return import_


def finish(import_: Import) -> None:
    """The file is whole: have it looked at."""
    uploaded = Import.objects.filter(pk=import_.pk, status=Status.UPLOADING)
    if uploaded.update(status=Status.CHECKING, moved_at=timezone.now()):
        import_.refresh_from_db()
        async_task("connect.tasks.look", str(import_.pk))


def _drop_unfinished(user: User) -> None:
    waiting = (Status.UPLOADING, Status.READY)
    for old in Import.objects.filter(owner=user, status__in=waiting)[MOST_OPEN - 1 :]:
        discard(old)


def discard(import_: Import) -> None:
    """An archive that its owner does not want after all."""
    work.remove_file(import_)
    import_.delete()


def start(import_: Import) -> bool:
    """Begin, or go on after Stop or a failure."""
    if not import_.path.exists():
        return False
    ready = (Status.READY, Status.STOPPED, Status.FAILED)
    begun = Import.objects.filter(pk=import_.pk, status__in=ready).update(
        status=Status.RUNNING, stop_requested=False, error="", moved_at=timezone.now()
    )
    if begun:
        async_task("connect.tasks.take_in", str(import_.pk))
    return bool(begun)


def stop(import_: Import) -> None:
    """Ask whoever is at it to stop after the chat it is at; if that process is gone, have it ended."""
    at_work = Import.objects.filter(pk=import_.pk, status__in=list(STOPPING))
    if at_work.update(stop_requested=True) and claims.is_orphaned(work.key(import_)):
        import_.refresh_from_db()
        if task := STOPPING.get(Status(import_.status)):
            async_task(task, str(import_.pk))


def undo(import_: Import) -> bool:
    over = (Status.DONE, Status.STOPPED, Status.FAILED)
    begun = Import.objects.filter(pk=import_.pk, status__in=over).update(
        status=Status.UNDOING, error="", moved_at=timezone.now()
    )
    if begun:
        async_task("connect.tasks.undo", str(import_.pk))
    return bool(begun)


def prune() -> int:
    """Drop uploads that stood still for a day, and files that belong to no import; how many there were."""
    old = timezone.now() - KEPT
    unfinished = list(Import.objects.filter(status=Status.UPLOADING, moved_at__lt=old))
    for import_ in unfinished:
        discard(import_)
    return len(unfinished) + _sweep(old)


def _sweep(old: datetime) -> int:
    """A crash between a row and its file, or an account that was deleted, leaves files behind."""
    kept = {str(id) for id in Import.objects.values_list("id", flat=True)}
    folder = Path(settings.DATA_DIR) / "imports"
    count = 0
    for path in folder.glob("*.part"):
        if path.stem not in kept and path.stat().st_mtime < old.timestamp():
            path.unlink(missing_ok=True)
            count += 1
    return count
