"""PostgreSQL, for installations that outgrow one machine: Django's backend with a pool, address, locks.

Where the two databases differ, one seam in each app asks which of them is in use, and nobody else does.
"""

from django.db import connection


def is_postgres() -> bool:
    return connection.vendor == "postgresql"
