"""The database backend named in settings: Django's own, on a driver that can load sqlite-vec."""

import logging
from typing import Any

from oneclaw.sqlite import driver

logger = logging.getLogger(__name__)

with driver.imported_as_sqlite3(driver.choose()):
    from django.db.backends.sqlite3 import base as sqlite


class DatabaseWrapper(sqlite.DatabaseWrapper):
    """SQLite with vec0 when the driver can load it; `has_vectors` says whether it did."""

    has_vectors = False

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection = super().get_new_connection(conn_params)
        self.has_vectors = load_vectors(connection)
        return connection


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
