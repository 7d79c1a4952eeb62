"""The indexes that this process keeps in memory: loaded in the background, the least used go first."""

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from time import monotonic

from django.conf import settings
from django.db import connection, connections

from memory.embedding.local import give_back
from memory.index.index import Standing
from memory.index.resident.rows import A_CHUNK, Outdated, ResidentIndex
from memory.models import IndexState

logger = logging.getLogger(__name__)

MEGABYTE = 1_000_000
# After a failure, so many seconds go by before the next try.
RETRY = 10.0
# An index is loaded for who searches a second time: a command that searches once is done sooner without.
SEARCHES = 2
# So many users' indexes are loaded when the server starts, those who came last first.
EARLY = 20
# An index of so many bytes took enough memory to load that the rest of it is returned to the system.
WORTH_GIVING_BACK = 5 * MEGABYTE


class Place(StrEnum):
    """Where a user's searches are answered."""

    MEMORY = "memory"
    LOADING = "loading"
    DATABASE = "database"


@dataclass(frozen=True, slots=True)
class Answering:
    """Where this process answers a user's searches, with the reason where that is the database."""

    place: Place
    reason: str = ""
    megabytes: float = 0.0


class Shelf:
    """Indexes by owner. Whatever goes wrong here, the search asks the database instead."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._held: OrderedDict[int, tuple[ResidentIndex, threading.RLock]] = OrderedDict()
        self._loading: dict[int, threading.Thread] = {}
        self._asked: dict[int, int] = {}
        self._failed: dict[int, tuple[float, str]] = {}

    @contextmanager
    def open(self, index: Standing) -> Iterator[ResidentIndex | None]:
        """The owner's index, as the database has it now and held still; None if there is none."""
        held = self._find(index.owner_id)
        if held is None:
            yield None
            return
        resident, lock = held
        with lock:
            before = resident.stamp
            try:
                resident.follow(index)
            except Outdated as reason:
                self._drop(resident, str(reason), retry=0.0)
                yield None
                return
            except Exception as error:
                logger.exception("The index in memory could not follow the database.")
                self._drop(resident, f"It could not follow the database: {error}")
                yield None
                return
            if resident.stamp != before and not self._still_fits(resident):
                yield None
                return
            yield resident

    def wish_for(self, index: Standing) -> None:
        """A search was answered: load the index in the background if there is none, or make it again."""
        owner = index.owner_id
        with self._lock:
            held = self._held.get(owner)
            self._asked[owner] = self._asked.get(owner, 0) + 1
            if (
                self._asked[owner] < SEARCHES
                or owner in self._loading
                or (held and not held[0].is_worn)
                or monotonic() < self._failed.get(owner, (0.0, ""))[0]
                # What this transaction has written, no other connection sees.
                or connection.in_atomic_block
                or not self._fits(owner, index.chunk_count)
            ):
                return
            thread = threading.Thread(target=self._load, args=(owner,), name=f"index-{owner}", daemon=True)
            self._loading[owner] = thread
        thread.start()

    def load(self, owner_id: int) -> bool:
        """Load an index now; whether that went well."""
        try:
            made = ResidentIndex.load(owner_id)
            if made.nbytes > bound():
                self._refuse(owner_id, made.nbytes)
                return False
        except Exception as error:
            logger.warning("The index could not be loaded into memory: %s", error)
            with self._lock:
                self._failed[owner_id] = monotonic() + RETRY, f"It could not be loaded: {error}"
            return False
        with self._lock:
            self._failed.pop(owner_id, None)
            self._held[owner_id] = made, threading.RLock()
            self._held.move_to_end(owner_id)
            self._make_room()
        return True

    def load_early(self, owners: list[int]) -> None:
        """Load some indexes one after the other, until the room is used up."""
        for owner in owners:
            state = IndexState.objects.filter(owner_id=owner, chunk_count__gt=0).first()
            with self._lock:
                taken = sum(one.nbytes for one, _ in self._held.values())
            if state and taken + state.chunk_count * A_CHUNK <= bound():
                self.load(owner)

    def answering(self, owner_id: int) -> Answering:
        with self._lock:
            if owner_id in self._held:
                return Answering(Place.MEMORY, megabytes=self._held[owner_id][0].nbytes / MEGABYTE)
            if owner_id in self._loading:
                return Answering(Place.LOADING)
            return Answering(Place.DATABASE, self._failed.get(owner_id, (0.0, ""))[1])

    def damaged(self, resident: ResidentIndex, reason: str) -> None:
        """What was found in it can't be right: it is thrown away and made again."""
        logger.warning("The index in memory is made again: %s", reason)
        self._drop(resident, reason, retry=0.0)

    def clear(self) -> None:
        self.__init__()  # type: ignore[misc]

    def wait(self, timeout: float = 60.0) -> None:
        """Until nothing is being loaded any more."""
        with self._lock:
            threads = list(self._loading.values())
        for thread in threads:
            thread.join(timeout)

    def _find(self, owner_id: int) -> tuple[ResidentIndex, threading.RLock] | None:
        with self._lock:
            held = self._held.get(owner_id)
            if held:
                self._held.move_to_end(owner_id)
            return held

    def _drop(self, resident: ResidentIndex, reason: str, retry: float = RETRY) -> None:
        with self._lock:
            held = self._held.get(resident.owner_id)
            if held and held[0] is resident:
                self._held.pop(resident.owner_id)
            self._failed[resident.owner_id] = monotonic() + retry, reason

    def _make_room(self) -> None:
        """Let the least used go, until the rest fits; the last one used stays."""
        while len(self._held) > 1 and sum(one.nbytes for one, _ in self._held.values()) > bound():
            self._held.popitem(last=False)

    def _still_fits(self, resident: ResidentIndex) -> bool:
        """An index grows with its rows: the others make room for it, or it goes itself."""
        if (size := resident.nbytes) > bound():
            self._drop(resident, "")
            self._refuse(resident.owner_id, size)
            return False
        with self._lock:
            self._make_room()
        return True

    def _fits(self, owner_id: int, chunks: int) -> bool:
        if chunks * A_CHUNK <= bound():
            return True
        self._refuse(owner_id, chunks * A_CHUNK)
        return False

    def _refuse(self, owner_id: int, size: int) -> None:
        with self._lock:
            self._failed[owner_id] = (
                monotonic() + RETRY,
                f"It would take {size / MEGABYTE:.0f} MB of memory, more than ONECLAW_RESIDENT_MB allows.",
            )

    def _load(self, owner_id: int) -> None:
        try:
            self.load(owner_id)
        finally:
            with self._lock:
                self._loading.pop(owner_id, None)
                held = self._held.get(owner_id)
            connections.close_all()
            # Reading all rows took more than what is kept of them. A few are not worth looking for: nobody's
            # page goes on meanwhile.
            if held is None or held[0].nbytes > WORTH_GIVING_BACK:
                give_back()


def bound() -> int:
    return int(settings.RESIDENT_MB) * MEGABYTE


shelf = Shelf()
# A forked process has its own memory, and none of its parent's threads.
os.register_at_fork(after_in_child=shelf.clear)


def load_early() -> None:
    """When the server starts: load the indexes of those who came last, without holding it up."""
    from people.models import User

    def load() -> None:
        try:
            users = User.objects.filter(is_active=True, memory_enabled=True).order_by("-last_login", "pk")
            shelf.load_early(list(users.values_list("pk", flat=True)[:EARLY]))
        except Exception:
            logger.exception("No index could be loaded early.")
        finally:
            connections.close_all()
            give_back()

    threading.Thread(target=load, name="indexes", daemon=True).start()
