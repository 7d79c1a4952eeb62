"""The work on an export: in the background, to a file that is there for a day."""

import logging
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone
from django_q.tasks import async_task

from connect.exporting import archive
from connect.models import Export
from memory.jobs import claims, progress
from people.models import User

log = logging.getLogger(__name__)

KEPT = timedelta(days=1)
Status = Export.Status


def ask(user: User) -> Export:
    """Have an archive made; the one that is being made, if there is one."""
    prune(user)
    running = Export.objects.filter(owner=user, status=Status.RUNNING).first()
    if running:
        return running
    for old in Export.objects.filter(owner=user):
        discard(old)
    export = Export.objects.create(owner=user)
    async_task("connect.tasks.export", str(export.pk))
    return export


def make(export: Export) -> None:
    """Write the archive. Killed and begun again, it is written anew."""
    with claims.holding(f"export:{export.pk}") as held:
        if held is None or not Export.objects.filter(pk=export.pk, status=Status.RUNNING).exists():
            return
        unfinished = export.path.with_suffix(".part")

        # Nothing is noted on the way: this connection sees one moment, and must not write in it.
        with progress.shown(export.owner, "export", "Making your archive", page="settings:data"):
            try:
                counts = archive.write(export.owner, unfinished)
                unfinished.replace(export.path)
            except Exception:
                log.exception("An archive could not be made")
                unfinished.unlink(missing_ok=True)
                _end(export, Status.FAILED, error="The archive could not be made. The log says more.")
            else:
                _end(export, Status.DONE, size=export.path.stat().st_size, chats=counts["chats"])


def _end(export: Export, status: str, **values: object) -> None:
    Export.objects.filter(pk=export.pk).update(status=status, finished_at=timezone.now(), **values)
    export.refresh_from_db()


def discard(export: Export) -> None:
    export.path.unlink(missing_ok=True)
    export.path.with_suffix(".part").unlink(missing_ok=True)
    export.delete()


def prune(user: User | None = None) -> int:
    """Delete archives that were there for a day; how many there were."""
    old = Export.objects.filter(created_at__lt=timezone.now() - KEPT)
    old = old.filter(owner=user) if user else old
    for export in old:
        discard(export)
    return len(old) + (0 if user else _sweep())


def _sweep() -> int:
    """Files of archives that no row knows: those of an account that was deleted, or left by a crash."""
    kept = {str(id) for id in Export.objects.values_list("id", flat=True)}
    before, count = (timezone.now() - KEPT).timestamp(), 0
    for path in (Path(settings.DATA_DIR) / "exports").glob("*"):
        if path.stem not in kept and path.stat().st_mtime < before:
            path.unlink(missing_ok=True)
            count += 1
    return count
