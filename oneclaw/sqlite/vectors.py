"""Whether this connection can search vectors by itself."""

from typing import cast

from django.db import connection


def has_vectors() -> bool:
    connection.ensure_connection()
    return cast(bool, getattr(connection, "has_vectors", False))
