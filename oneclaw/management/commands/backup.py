"""`manage.py backup FILE.zip`: everything that can't be made again in one file, while OneClaw runs or not."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from oneclaw.backup import archive


class Command(BaseCommand):
    help = "Save the database, the secret key and all memory to a new zip file."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            saved = archive.save(file)
        except archive.BackupFailed as error:
            raise CommandError(str(error)) from None
        for problem in saved.left_out:
            self.stderr.write(f"Not in the backup: {problem}")
        self.stdout.write(f"Saved {len(saved.files)} files to {file}. Keep it where only you can read it.")
