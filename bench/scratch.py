"""A place to measure in: an own database and an own memory folder, gone afterwards."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import call_command
from django.db import connections
from django.test.utils import override_settings


@contextmanager
def scratch() -> Iterator[Path]:
    """Within it, nothing of the installation's own data is read or written."""
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
            connection.close()
            connection.settings_dict["NAME"] = own
