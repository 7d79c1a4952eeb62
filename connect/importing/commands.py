"""An import from the command line: the same work as the page's, in this process and without an upload."""

from pathlib import Path

from connect.importing import work
from connect.models import Import
from people.models import User

Status = Import.Status


def from_disk(
    user: User, path: Path, *, dry_run: bool = False, progress: work.Progress | None = None
) -> Import:
    """Look at an archive on this machine and, unless it is only to be looked at, take it in."""
    import_ = Import.objects.create(owner=user, file_name=path.name[:200], status=Status.CHECKING)
    work.look(import_, path, progress)
    if import_.status == Status.READY and not dry_run:
        Import.objects.filter(pk=import_.pk).update(status=Status.RUNNING)
        while not work.take_in(import_, path, progress=progress):
            continue
    import_.refresh_from_db()
    if dry_run or (import_.status == Status.FAILED and not import_.things.exists()):
        Import.objects.filter(pk=import_.pk).delete()
    return import_
