"""The database backend that ONECLAW_DATABASE_URL chooses: Django's own, with vectors by pgvector."""

import os
from typing import Any

from django.db import connections
from django.db.backends.postgresql import base as postgresql


class DatabaseWrapper(postgresql.DatabaseWrapper):
    """PostgreSQL. The start refuses a server without pgvector, so vectors can always be searched."""

    has_vectors = True

    def _configure_connection(self, connection: Any) -> bool:
        """PostgreSQL's own settings are for long questions on spinning disks, and these take milliseconds."""
        super()._configure_connection(connection)  # type: ignore[misc]
        connection.execute("SET random_page_cost = 1.1; SET jit = off")
        return True


# What a forked process has of its parent's: kept, for ending it would say farewell on the parent's sockets.
_parents: list[object] = []


def begin_anew() -> None:
    """A forked process opens its own connections: those in its pool are its parent's."""
    for connection in connections.all(initialized_only=True):
        if isinstance(connection, DatabaseWrapper):
            _parents.append(connection.connection)
            connection.connection = None
    pools: dict[str, object] = getattr(DatabaseWrapper, "_connection_pools", {})
    _parents.extend(pools.values())
    pools.clear()


os.register_at_fork(after_in_child=begin_anew)
