"""What a PostgreSQL server must have before OneClaw starts on it; a lack is told with what to do."""

from django.db import DatabaseError, connection, transaction

OLDEST = 14
OLDEST_VECTOR = (0, 7)  # the first with distances between bits


def lacking() -> str:
    """What is missing for OneClaw; nothing when all is there. It makes the extension where it may."""
    connection.ensure_connection()
    version = connection.connection.info.server_version // 10_000 if connection.connection else 0
    if version < OLDEST:
        return f"PostgreSQL {version} is too old: OneClaw needs {OLDEST} or newer."
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_encoding")
        encoding = cursor.fetchone()[0]
        if encoding != "UTF8":
            return (
                f"The database is encoded as {encoding}. Create it with: CREATE DATABASE … ENCODING 'UTF8'."
            )
        try:
            with transaction.atomic():
                cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except DatabaseError as error:
            return (
                "The extension pgvector is missing and can't be added "
                f"({str(error).strip().splitlines()[0]}). Install it on the server (Debian: "
                f"postgresql-{version}-pgvector), then run as its admin: CREATE EXTENSION vector."
            )
        cursor.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        found = cursor.fetchone()[0]
        if tuple(int(part) for part in found.split(".")[:2]) < OLDEST_VECTOR:
            return f"pgvector {found} is too old: OneClaw needs {'.'.join(map(str, OLDEST_VECTOR))} or newer."
    return ""
