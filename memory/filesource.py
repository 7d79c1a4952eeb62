"""Files as a source of the index: which of them changed, and the rows they make."""

import logging
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from pathlib import Path

from django.db import transaction
from django.db.models import QuerySet

from memory import embedding, rows
from memory.chunks import file_chunks
from memory.disk import StorageError
from memory.models import IndexedSource, IndexState, MemoryIndex, Source
from memory.present import Present, day_of, digest, files, fingerprint
from memory.rows import Draft
from memory.storage import MEMORY_FILE, MemoryFileStorage
from people.models import User

logger = logging.getLogger(__name__)


class FileSource:
    """MEMORY.md and the daily logs of one user. Files are named as in the user's folder."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.storage = MemoryFileStorage(user)

    def present(self) -> Present:
        """Every file to index, as it is now."""
        return files(self.storage.root, self.storage.daily_folder)

    def sync(self, state: IndexState, present: Present) -> None:
        """Read the files that changed, and forget those that are gone."""
        if state.files_seen == digest(present):
            return
        known = dict(self._known().values_list("source_key", "fingerprint"))
        self._read([file[0] for file in present if known.get(file[0]) != fingerprint(*file[1:])], present)

    def read_all(self) -> None:
        present = self.present()
        self._read([name for name, *_ in present], present)

    def index(self, name: str) -> None:
        """Index one file as it is now; one that is gone is taken out."""
        path = self.storage.root / name
        try:
            found = path.stat()
            seen = fingerprint(found.st_mtime_ns, found.st_size, found.st_ino)
        except OSError:
            seen = ""
        text = self._text(name) if seen else None
        if text is None:
            self._drop(name)
            return
        stored = MemoryIndex.objects.filter(owner=self.user, source_key=name)
        drafts = list(self._drafts(name, path, text))
        # Together, so that of two at once the later one's rows stand under its own fingerprint.
        with transaction.atomic():
            rows.replace(self.user.pk, stored, drafts)
            IndexedSource.objects.update_or_create(
                owner=self.user, source_key=name, defaults={"fingerprint": seen}
            )

    def _read(self, names: list[str], present: Present) -> None:
        """Index these files; one that can't be read keeps what the index has of it and is tried again."""
        seen = digest(present)
        for name in names:
            try:
                self.index(name)
            except StorageError as error:
                logger.warning("%s of %s is not indexed: %s", name, self.user, error)
                seen = ""
        wanted = {name: fingerprint(*marks) for name, *marks in present}
        for name in set(self._known().values_list("source_key", flat=True)) - set(wanted):
            self._drop(name)
        with transaction.atomic():
            if dict(self._known().values_list("source_key", "fingerprint")) != wanted:
                # A file changed meanwhile, or another sync put in what it had read before: look again.
                seen = ""
            IndexState.objects.filter(owner=self.user).update(files_seen=seen)

    def _known(self) -> QuerySet[IndexedSource]:
        return IndexedSource.objects.filter(owner=self.user).exclude(source_key__startswith="chat:")

    def _text(self, name: str) -> str | None:
        if name == MEMORY_FILE:
            return self.storage.read_memory_file()
        return self.storage.read_daily_log(day_of(name))

    def _drafts(self, name: str, path: Path, text: str) -> Iterator[Draft]:
        if name == MEMORY_FILE:
            source, day = Source.LONG_TERM, None
            # Long-term memory does not age; this is only shown. A rebuild must not change it.
            made = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        else:
            source, day = Source.DAILY_LOG, date.fromisoformat(day_of(name))
            made = datetime.combine(day, time.min, self.user.zone)
        for position, chunk in enumerate(file_chunks(text, embedding.engine().count_tokens)):
            yield Draft(source, name, day, made, position, chunk)

    def _drop(self, name: str) -> None:
        stored = MemoryIndex.objects.filter(owner=self.user, source_key=name)
        rows.delete(self.user.pk, list(stored.values_list("id", flat=True)))
        IndexedSource.objects.filter(owner=self.user, source_key=name).delete()
