"""`manage.py move-to URL`: carry this installation to another database; the source stays as it is."""

import sys
from argparse import ArgumentParser
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from oneclaw import datafolder
from oneclaw.management.commands.up import only_one
from oneclaw.moving import move
from oneclaw.moving.places import MoveFailed


class Command(BaseCommand):
    help = (
        "Copy everything in this installation's database to another one: postgres://… or "
        "sqlite:///folder/file. OneClaw must be stopped. Broken off, it goes on when run again."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("url", help="the empty database to fill")
        parser.add_argument(
            "--while-running",
            action="store_true",
            help="copy the state of this moment though OneClaw is running: to keep, not to go on with",
        )

    def handle(self, *args: Any, url: str, while_running: bool, **options: Any) -> None:
        self.shown = ""
        folder = Path(settings.DATA_DIR)
        try:
            with nullcontext() if while_running else only_one(folder):
                moved = move.move(url, self.tell, while_running=while_running)
        except MoveFailed as error:
            raise CommandError(f"{error} The source was not changed.") from None
        before = f", {moved.rows - moved.written:,} of them already there" if moved.resumed else ""
        self.stdout.write(
            f"{moved.rows:,} rows in {moved.tables} tables{before}: every count and checksum agrees."
        )
        self.stdout.write(f"Files stay in {folder}. {self.next_step(url)}")

    def next_step(self, url: str) -> str:
        if not url.startswith("sqlite:"):
            return "Start OneClaw with ONECLAW_DATABASE_URL set to this address."
        usual = Path(settings.DATA_DIR) / datafolder.DATABASE
        if url == move.file_address(usual):
            return "Start OneClaw without ONECLAW_DATABASE_URL."
        return f"To use it, move the file to {usual} and start OneClaw without ONECLAW_DATABASE_URL."

    def tell(self, table: str, done: int, total: int) -> None:
        """A line for each table, which grows on a terminal."""
        is_terminal = sys.stderr.isatty()
        if done < total and not is_terminal and done % 50_000:
            return
        start = "\r" if is_terminal and table == self.shown else ""
        end = "\n" if done >= total or not is_terminal else ""
        self.stderr.write(f"{start}{table}: {done:,} of {total:,}{end}", ending="")
        self.stderr.flush()
        self.shown = table
