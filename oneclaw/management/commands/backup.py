"""`manage.py backup FILE.zip`: the database, the secret key and memory in one file, while OneClaw runs."""

import os
import tempfile
import zipfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from oneclaw.sqlite import driver


class Command(BaseCommand):
    help = "Save the database, the secret key and all memory to a new zip file."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            # It holds the key to everything: for its owner alone.
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise CommandError(f"{file} is there already. Name a new file.") from None
        except OSError as error:
            raise CommandError(f"{file} can't be written: {error.strerror}.") from None
        with (
            os.fdopen(descriptor, "wb") as opened,
            zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            write(archive)
        self.stdout.write(f"Saved to {file}. Keep it where only you can read it.")


def write(archive: zipfile.ZipFile) -> None:
    with tempfile.TemporaryDirectory(prefix=".backup-", dir=settings.DATA_DIR) as folder:
        copy = Path(folder) / "db.sqlite3"
        copy_database(copy)
        archive.write(copy, "db.sqlite3")
    archive.write(settings.DATA_DIR / "secret.key", "secret.key")
    memory = Path(settings.MEMORY_DIR)
    for path in sorted(memory.rglob("*")):
        if path.is_file() and not path.name.startswith(".") and path.suffix != ".lock":
            archive.write(path, Path("memory") / path.relative_to(memory))


def copy_database(target: Path) -> None:
    """A copy of one moment, whatever is being written meanwhile."""
    connection.ensure_connection()
    copy = driver.choose().connect(target)
    try:
        connection.connection.backup(copy)
    finally:
        copy.close()
