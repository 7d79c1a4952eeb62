"""The work on an import: looking at it, taking it in, undoing it. It may be killed at any point and go on."""

import logging
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from connect.archives.reading import Archive
from connect.archives.sources import Refused
from connect.archives.values import (
    ForeignAgent,
    ForeignChat,
    ForeignMemory,
    ForeignNote,
    ForgottenTraces,
    MemoryFile,
    PastChange,
    Skipped,
)
from connect.importing import agents, chats, files, history, logs, memories, pastlogs, undated, undoing
from connect.importing.origins import Origins
from connect.importing.preview import Plan, Preview
from connect.models import Import
from memory.dailylog.forgotten import Register
from memory.jobs import claims
from memory.jobs import progress as shown
from memory.manager import MemoryManager
from memory.storage.atomic import StorageError

log = logging.getLogger(__name__)

SLICE = 300.0  # seconds of one task; the worker's own limit is higher
BATCH = 25  # chats between two looks at the clock, the disk and Stop
LEAST_FREE = 256 * 2**20  # bytes that stay free on the disk
Progress = Callable[[int, int], None]
Status = Import.Status
NOT_HERE = "It was cut off, and its file is no longer here. Import it again: what came does not come twice."
COUNTED = (
    *("chats", "messages", "more", "undated", "silent", "memories", "days"),
    *("forgotten", "attachments", "changes", "agents"),
)


class NoRoom(Exception):
    """The disk is nearly full; the message says so."""


class Stopped(Exception):
    """Its owner said stop."""


class Gone(Exception):
    """Its file is not here: it was read from elsewhere by a command that was killed."""


class Later(Exception):
    """The time of this slice is up; the rest follows."""


def key(import_: Import) -> str:
    return f"import:{import_.id}"


def check_room(needed: int = 0) -> None:
    """Refuse to fill the disk that the database is on."""
    folder = Path(settings.DATA_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(folder).free < needed + LEAST_FREE:
        raise NoRoom("There is too little room on the disk. Make some and try again.")


@contextmanager
def holding(import_: Import) -> Iterator[claims.Held | None]:
    with claims.holding(key(import_)) as held:
        yield held


def look(import_: Import, path: Path | None = None, progress: Progress | None = None) -> bool:
    """Read the archive and say what would come; False if another worker is at it."""
    with holding(import_) as held:
        import_.refresh_from_db()
        if held is None or import_.status != Status.CHECKING:
            return False
        try:
            plan = _looked(import_, path or _kept_file(import_), held, progress)
        except Gone:
            _end(import_, Status.STOPPED, error=NOT_HERE, stop_requested=False)
        except Stopped:
            remove_file(import_)
            _end(import_, Status.STOPPED)
        except Refused as error:
            remove_file(import_)
            _end(import_, Status.FAILED, error=str(error))
        except Exception:
            log.exception("An archive could not be read")
            remove_file(import_)
            _end(import_, Status.FAILED, error="The archive could not be read. The log says more.")
        else:
            _end(import_, Status.READY, label=plan.label, plan=plan.as_json(), total=plan.items, position=0)
        return True


def _looked(import_: Import, path: Path, held: claims.Held, progress: Progress | None) -> Plan:
    archive = Archive(path, import_.file_name)
    preview = Preview(import_.owner, archive, import_, undated.made_at(archive, path))
    for number, item in enumerate(preview.archive.items(), start=1):
        preview.take(item)
        if number % BATCH == 0:
            _moved(import_, held, position=number)
            # As often as when it is taken in: one compares so many meanings only.
            preview.forgotten = Register(import_.owner)
            if progress:
                progress(number, 0)
    return preview.ended()


def _kept_file(import_: Import) -> Path:
    if not import_.path.exists():
        raise Gone
    return import_.path


def take_in(
    import_: Import, path: Path | None = None, seconds: float = SLICE, progress: Progress | None = None
) -> bool:
    """Take an archive in for as long as the time lasts; True when there is nothing more to do."""
    with holding(import_) as held:
        import_.refresh_from_db()
        if held is None or import_.status != Status.RUNNING:
            return True
        try:
            slice_ = Slice(import_, path or _kept_file(import_), held, seconds, progress)
        except Gone:
            _end(import_, Status.STOPPED, error=NOT_HERE, stop_requested=False)
            return True
        try:
            with shown.shown(import_.owner, "import", "Importing chats", page="settings:data") as slice_.note:
                slice_.run()
        except Later:
            return False
        except Stopped:
            slice_.save()
            _end(import_, Status.STOPPED, stop_requested=False)
        except (NoRoom, Refused, StorageError) as error:
            slice_.save()
            _end(import_, Status.FAILED, error=str(error))
        except Exception:
            log.exception("An import failed")
            slice_.save()
            _end(import_, Status.FAILED, error="The import failed half-way. Start it again to go on.")
        else:
            remove_file(import_)
            _end(import_, Status.DONE, finished_at=timezone.now())
        return True


class Slice:
    """A stretch of an import: chats as they come, then memories at once."""

    def __init__(
        self, import_: Import, path: Path, held: claims.Held, seconds: float, progress: Progress | None
    ) -> None:
        self.import_, self.path, self.held, self.progress = import_, path, held, progress
        self.user = import_.owner
        self.manager = MemoryManager(self.user)
        self.until = time.monotonic() + seconds
        self.memories, self.history = memories.Memories(), history.History()
        self.forgotten = Register(self.user)
        self.counts = {name: int(import_.added.get(name, 0)) for name in COUNTED}
        self.plan = Plan(
            redated=list(import_.added.get("redated", ())),
            redated_count=int(import_.added.get("redated_count", 0)),
        )
        self.number = 0
        self.note: shown.Note | None = None

    def run(self) -> None:
        start, unsaved = self.import_.position, 0
        check_room()
        self.archive = Archive(self.path, self.import_.file_name)
        self.origins = Origins(self.archive)
        self.made_at = undated.made_at(self.archive, self.path)
        for number, item in enumerate(self.archive.items(), start=1):
            if isinstance(item, ForeignMemory | MemoryFile):
                self.memories.add(item)
            if isinstance(item, PastChange):
                self.history.add(item)
            if isinstance(item, Skipped):
                self.plan.skip(item)
            if number <= start:
                continue
            self.number = number
            if isinstance(item, ForeignChat):
                self._chat(item)
                unsaved += 1
            elif isinstance(item, ForeignNote):
                self.counts["days"] += logs.bring(self.user, item, self.import_)
                unsaved += 1
            elif isinstance(item, ForeignAgent):
                self.counts["agents"] += agents.bring(self.user, item, self.import_)
            elif isinstance(item, ForgottenTraces):
                self.counts["forgotten"] += memories.keep_forgotten(self.user, self.import_, item)
            if unsaved >= BATCH:
                unsaved = 0
                self._pause()
        self.counts["memories"] += self.memories.write(self.user, self.import_, self.manager)
        changes, left_out = self.history.bring(self.user, self.import_)
        self.counts["changes"] += changes
        self.plan.skip(*self.memories.skipped, *left_out)
        self.plan.redate(self.memories.redated)
        self.manager.index_words()
        self.manager.embed_later()
        self.save()

    def _chat(self, chat: ForeignChat) -> None:
        has_no_date = undated.is_undated(chat)
        redated = list(undated.redated(chat, self.user.local_date(self.made_at)))
        chat = undated.dated(chat, self.made_at)
        origin = self.origins.of(chat)
        chat = chats.resolved(self.user, chat, origin)
        found = chats.bring(self.user, chat, self.import_, self.forgotten, origin)
        self.counts["silent"] += found.silent
        came, left_out = files.bring(self.user, chat, self.archive)
        self.counts["attachments"] += came
        self.plan.skip(*left_out)
        if found.new:
            self.counts["chats"] += 1
            self.counts["undated"] += has_no_date
            self.counts["messages"] += found.messages
        elif found.messages:
            self.counts["more"] += found.messages
            assert found.session_id
            self.manager.look_again(found.session_id)
        if found.new or (found.messages and not has_no_date):
            self.plan.redate(redated)
        if found.why:
            self.plan.skip(Skipped(chat.title or chat.id, found.why))

    def _pause(self) -> None:
        """Between batches: searchable at once, saved, and a look at the clock, the disk and Stop."""
        self.manager.index_words()
        self.save()
        # Its owner may have something forgotten meanwhile.
        self.forgotten = Register(self.user)
        for tell in filter(None, (self.progress, self.note)):
            tell(self.number, self.import_.total)
        check_room()
        if time.monotonic() > self.until:
            raise Later

    def save(self) -> None:
        added: dict[str, Any] = {**self.counts, "skipped": self.plan.skipped}
        added["skipped_count"] = self.plan.skipped_count
        added |= {"redated": self.plan.redated, "redated_count": self.plan.redated_count}
        self.import_.added = added
        _moved(self.import_, self.held, position=max(self.number, self.import_.position), added=added)


def _moved(import_: Import, held: claims.Held, **values: object) -> None:
    """Store how far the work is, renew the right to it, and hear whether it is to stop."""
    import_.position = int(str(values.get("position", import_.position)))
    Import.objects.filter(pk=import_.pk).update(moved_at=timezone.now(), **values)
    if not held.renew():
        raise Later
    if Import.objects.filter(pk=import_.pk, stop_requested=True).exists():
        Import.objects.filter(pk=import_.pk).update(stop_requested=False)
        raise Stopped


def _end(import_: Import, status: str, **values: object) -> None:
    Import.objects.filter(pk=import_.pk).update(status=status, moved_at=timezone.now(), **values)
    import_.refresh_from_db()


def undo(import_: Import) -> bool:
    """Take back all that an import brought; what was gone on with stays, and it is said."""
    with holding(import_) as held:
        import_.refresh_from_db()
        if held is None or import_.status != Status.UNDOING:
            return False
        user = import_.owner
        kept = list[str]()
        try:
            history.take_back(user, import_)
            kept += pastlogs.take_back(user, import_)
            taken = undoing.take_back(import_, held.renew)
            kept += taken.sentences()
            removed = logs.take_back(user, import_)
            kept += agents.take_back(user, import_)
            kept += memories.take_back(user, import_)
            MemoryManager(user).drop_gone_chats()
        except Exception:
            log.exception("An import could not be undone")
            _end(import_, Status.DONE, error="It could not be undone. Try again; the log says more.")
            return True
        remove_file(import_)
        _end(
            import_,
            Status.UNDONE,
            kept=kept,
            error="",
            finished_at=timezone.now(),
            added={"chats": len(taken.chats), "more": taken.messages, "days": removed},
        )
        return True


def remove_file(import_: Import) -> None:
    """The upload is not kept once it is of no more use."""
    import_.path.unlink(missing_ok=True)
