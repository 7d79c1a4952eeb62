"""What the worker does for archives. Tasks take ids, and may run twice or be killed."""

from datetime import datetime, timedelta

from django.utils import timezone
from django_q.tasks import async_task

from connect import erasing
from connect.exporting import work as exporting
from connect.importing import pastlogs, uploads, work
from connect.models import Erasure, Export, Import, LogWriting, Tally
from memory.jobs import claims
from people.models import User


def look(import_id: str) -> str:
    """Say what an archive would bring."""
    import_ = _found(import_id)
    if import_:
        work.look(import_)
    return import_.status if import_ else ""


def take_in(import_id: str) -> str:
    """Take an archive in, a slice at a time."""
    import_ = _found(import_id)
    if import_ and not work.take_in(import_):
        async_task("connect.tasks.take_in", import_id)
    return import_.status if import_ else ""


def undo(import_id: str) -> str:
    import_ = _found(import_id)
    if import_:
        work.undo(import_)
    return import_.status if import_ else ""


def export(export_id: str) -> str:
    """Make the archive of a person's things."""
    found = Export.objects.filter(pk=export_id, owner__is_active=True).select_related("owner").first()
    if found:
        exporting.make(found)
    return found.status if found else ""


def erase(user_id: int) -> str:
    """Delete everything of a person."""
    user = User.objects.filter(pk=user_id).first()
    if user is None or not Erasure.objects.filter(owner=user, finished_at=None).exists():
        return "nothing"
    erasing.erase(user)
    return "failed" if Erasure.objects.filter(owner=user, finished_at=None).exists() else "done"


def write_logs(writing_id: int) -> str:
    """Write the daily logs of imported chats, a slice at a time."""
    writing = (
        LogWriting.objects.filter(pk=writing_id).select_related("owner", "by", "model__provider").first()
    )
    if writing and not pastlogs.write(writing):
        async_task("connect.tasks.write_logs", writing_id)
    return writing.status if writing else ""


def prune() -> str:
    """Delete archives that nobody fetched, uploads that were never finished, counts of yesterday.

    What could not be deleted for somebody who wanted it so is tried again.
    """
    for user_id in Erasure.objects.filter(finished_at=None).values_list("owner_id", flat=True):
        async_task("connect.tasks.erase", user_id)
    Tally.objects.filter(began_at__lt=timezone.now() - timedelta(days=1)).delete()
    return f"{exporting.prune()} archives, {uploads.prune()} uploads"


TASKS = {**uploads.STOPPING, Import.Status.UNDOING: "connect.tasks.undo"}
# So long it may wait for its turn, though the process that had it is gone.
QUIET = timedelta(minutes=2)


def resume() -> int:
    """Queue again what was cut off when the last worker ended; how many there were."""
    waiting = Import.objects.filter(status__in=list(TASKS)).values_list("id", "status")
    for import_id, status in waiting:
        async_task(TASKS[Import.Status(status)], str(import_id))
    exports = Export.objects.filter(status=Export.Status.RUNNING).values_list("id", flat=True)
    for export_id in exports:
        async_task("connect.tasks.export", str(export_id))
    erasures = Erasure.objects.filter(finished_at=None).values_list("owner_id", flat=True)
    for user_id in erasures:
        async_task("connect.tasks.erase", user_id)
    writings = LogWriting.objects.filter(status=LogWriting.Status.RUNNING).values_list("pk", flat=True)
    for writing_id in writings:
        async_task("connect.tasks.write_logs", writing_id)
    return len(waiting) + len(exports) + len(erasures) + len(writings)


def go_on() -> int:
    """Queue again, by the clock, what its process left when it was killed; how many there were.

    A command is nobody's to start again: its import is ended, so that it can be undone or brought again.
    """
    now, count = timezone.now(), 0
    imports = Import.objects.filter(status__in=list(TASKS), moved_at__lte=now - QUIET, owner__is_active=True)
    for import_ in imports.only("id", "status", "moved_at"):
        if _is_left(work.key(import_), import_.moved_at):
            imports.filter(pk=import_.pk).update(moved_at=now)
            async_task(TASKS[Import.Status(import_.status)], str(import_.pk))
            count += 1
    writings = LogWriting.objects.filter(status=LogWriting.Status.RUNNING, moved_at__lte=now - QUIET)
    for writing in writings.only("moved_at"):
        if _is_left(pastlogs.key(writing), writing.moved_at):
            writings.filter(pk=writing.pk).update(moved_at=now)
            async_task("connect.tasks.write_logs", writing.pk)
            count += 1
    return count


def _is_left(key: str, moved_at: datetime) -> bool:
    return claims.is_orphaned(key) or moved_at <= timezone.now() - claims.STALE


def _found(import_id: str) -> Import | None:
    return Import.objects.filter(pk=import_id, owner__is_active=True).select_related("owner").first()
