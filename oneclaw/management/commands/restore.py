"""`manage.py restore FILE.zip`: make the data folder what a backup says; what was there is kept aside."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection, connections

from oneclaw import datafolder
from oneclaw.backup import restore
from oneclaw.management.commands.up import only_one
from oneclaw.moving.places import MoveFailed, check_unused
from oneclaw.postgres import is_postgres, readiness


class Command(BaseCommand):
    help = "Check a backup and restore it. OneClaw must be stopped."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, nargs="?")
        parser.add_argument("--finish", action="store_true", help="finish a restore that was interrupted")

    def handle(self, *args: Any, file: Path | None, finish: bool, **options: Any) -> None:
        folder = Path(settings.DATA_DIR)
        if (file is None) != finish:
            raise CommandError("Give a backup to restore, or --finish an interrupted restore.")
        with only_one(folder):
            self.check_unused()
            connections.close_all()
            if file is None:
                self.stdout.write(finished(folder))
                return
            try:
                restored = restore.restore(file, folder)
            except restore.RestoreFailed as error:
                raise CommandError(f"{error} Nothing was changed.") from None
        if not restored.had_checksums:
            self.stderr.write(
                "This backup is from a version that stored no checksums; only zip's own were checked."
            )
        self.stdout.write(f"Restored {restored.files} files from {file}.")
        if is_postgres():
            self.stdout.write(
                f"Its database is in {folder / datafolder.DATABASE}. To go on with it on PostgreSQL, fill "
                "an empty database: ONECLAW_DATABASE_URL= manage.py move-to postgres://…"
            )
        if restored.aside:
            self.stdout.write(f"The previous data is in {restored.aside}: delete it once everything works.")

    def check_unused(self) -> None:
        """Other machines share the folder, and up.lock tells only of this one: the database knows them."""
        if not is_postgres():
            return
        if fault := readiness.unreachable():
            # It may be what was lost, and then a backup is all there is.
            self.stderr.write(f"{fault}\nSo nobody could ask whether OneClaw runs on another machine.")
            return
        # This process's own are no sign of anybody else.
        connection.close()
        connection.close_pool()  # type: ignore[attr-defined]
        try:
            check_unused(connection)
        except MoveFailed as error:
            raise CommandError(f"{error} Nothing was changed.") from None


def finished(folder: Path) -> str:
    if not restore.interrupted(folder):
        raise CommandError("No restore was interrupted.")
    restore.finish(folder)
    return "The restore is finished."
