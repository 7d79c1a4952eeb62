"""The database backend named in settings: Django's own, on a driver that can load sqlite-vec."""

import logging
from collections import deque
from typing import Any, ClassVar, NamedTuple

from oneclaw.sqlite import driver

logger = logging.getLogger(__name__)

with driver.imported_as_sqlite3(driver.choose()):
    from django.db.backends.sqlite3 import base as sqlite


class Kept(NamedTuple):
    """An open connection that nobody uses."""

    name: str
    connection: Any
    has_vectors: bool


class DatabaseWrapper(sqlite.DatabaseWrapper):
    """SQLite with vec0 when the driver can load it; `has_vectors` says whether it did."""

    has_vectors = False
    # How many closed connections are kept for the next who asks. Each page has a thread of its own, and would
    # load functions, extension and schema anew. Only a process that serves pages keeps any.
    most_kept = 0
    _kept: ClassVar[deque[Kept]] = deque()

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        if kept := self._taken(str(conn_params["database"])):
            self.has_vectors = kept.has_vectors
            return kept.connection
        connection = super().get_new_connection(conn_params)
        self.has_vectors = load_vectors(connection)
        return connection

    def _taken(self, name: str) -> Kept | None:
        while self._kept:
            try:
                kept = self._kept.pop()
            except IndexError:  # another thread was quicker
                return None
            if kept.name == name:
                return kept
            kept.connection.close()
        return None

    def _close(self) -> None:
        connection = self.connection
        sound = connection is not None and not (self.errors_occurred or connection.in_transaction)
        if not sound or len(self._kept) >= self.most_kept:
            super()._close()  # type: ignore[misc]
            return
        self._kept.append(Kept(str(self.settings_dict["NAME"]), connection, self.has_vectors))


def load_vectors(connection: Any) -> bool:
    """Load sqlite-vec into a connection; False where that is impossible, and search scans in numpy."""
    if not hasattr(connection, "enable_load_extension"):
        return False
    try:
        import sqlite_vec

        connection.enable_load_extension(True)
        try:
            sqlite_vec.load(connection)
        finally:
            connection.enable_load_extension(False)
    except Exception as error:
        logger.warning("sqlite-vec could not be loaded, so vectors are compared one by one: %s", error)
        return False
    return True
