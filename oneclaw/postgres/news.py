"""News between processes by PostgreSQL's LISTEN and NOTIFY. A lost word costs only a second."""

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.db import connections

from oneclaw.postgres import is_postgres

if TYPE_CHECKING:
    from psycopg import Connection

logger = logging.getLogger(__name__)

CHANNEL = "oneclaw"
# After a connection was cut, so many seconds until the next try.
RETRY = 1.0
# A machine that vanished sends no farewell: its silence ends the connection.
ATTENTIVE = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


def tell(*words: str) -> None:
    """Tell every process; they hear it when the transaction that is going on is committed."""
    if words and is_postgres():
        with connections["default"].cursor() as cursor:
            cursor.execute(
                "SELECT pg_notify(%s, word) FROM unnest(%s::text[]) AS word", [CHANNEL, list(words)]
            )


class Ear:
    """A thread with a connection of its own beside the pool, so that it never waits for one.

    Between two words, and at least every so many seconds, it calls `beat` with a way to run statements.
    """

    def __init__(
        self, hear: Callable[[str], None], beat: Callable[[Callable[[str, Any], object]], None], every: float
    ) -> None:
        self.hear = hear
        self.beat = beat
        self.every = every
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="news", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join(self.every + RETRY)

    def _run(self) -> None:
        failing = False
        while not self._over.is_set():
            try:
                with connect() as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    while not self._over.is_set():
                        self.beat(connection.execute)
                        failing = False
                        for word in connection.notifies(timeout=self.every):
                            self._heard(word.payload)
            except Exception as error:
                if not failing:
                    logger.warning(
                        "The database can't be reached (%s); it is tried again.", first_line(error)
                    )
                failing = True
                self._over.wait(RETRY)

    def _heard(self, word: str) -> None:
        try:
            self.hear(word)
        except Exception:
            logger.exception("What another process told could not be followed")


def connect(**more: str) -> "Connection[Any]":
    """A connection that is nobody else's and not the pool's."""
    import psycopg

    beside = connections.create_connection("default")
    values = {**ATTENTIVE, **beside.get_connection_params(), "connect_timeout": "5", **more}
    return psycopg.connect(**values, autocommit=True)


def first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
