"""Advisory locks of PostgreSQL, which hold across processes and machines and end with their connection."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError, connections
from django.db.backends.utils import CursorWrapper

# What is locked; the second number of a lock says whose.
INDEX, FILES, BACKUP, START, SETUP = 7101, 7102, 7103, 7104, 7105


def until_commit(kind: int, number: int) -> None:
    """Hold a lock until the transaction that is going on ends; waits as long as it takes."""
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [kind, number])


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock that is held by a connection of its own, and lost with it."""

    cursor: CursorWrapper

    def is_held(self) -> bool:
        try:
            self.cursor.execute("SELECT 1")
        except (DatabaseError, InterfaceError):
            return False
        return True


@contextmanager
def held(kind: int, number: int, wait: float) -> Iterator[Lock | None]:
    """Hold a lock for a while, over as many transactions as one likes; None when it was not to be had.

    It has a connection of its own: the thread's may be closed and opened again meanwhile.
    """
    connection = connections.create_connection("default")
    until = time.monotonic() + wait
    taken = False
    try:
        with connection.cursor() as cursor:
            while True:
                cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [kind, number])
                taken = bool(cursor.fetchone()[0])
                if taken or time.monotonic() >= until:
                    break
                time.sleep(0.02)
            lock = Lock(cursor) if taken else None
            yield lock
            # One that was cut off has lost its lock, which is for whoever writes to find out.
            if lock and lock.is_held():
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [kind, number])
                taken = False
    finally:
        if taken and connection.connection is not None:
            # Whoever gets this connection from the pool next must not hold the lock.
            connection.connection.close()
        connection.close()
