"""`manage.py settings`: every ONECLAW_* variable; `--write README.md` renews the table there."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from oneclaw import env

BEGIN, END = "<!-- settings: written by `make format` -->", "<!-- end of settings -->"


class Command(BaseCommand):
    help = "List the settings."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--write", type=Path, metavar="FILE")

    def handle(self, *args: Any, write: Path | None = None, **options: Any) -> None:
        if write is None:
            self.stdout.write(table())
        else:
            write.write_text(renewed(write.read_text()))


def table() -> str:
    rows = [f"| `{known.name}` | {shown(known.default)} | {known.help} |" for known in env.KNOWN.values()]
    return "\n".join(["| Variable | Default | What it does |", "|---|---|---|", *rows])


def shown(default: str) -> str:
    return f"`{default}`" if default else ""


def renewed(text: str) -> str:
    """The text with the table between its marks as the code has it."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}" if begin and end else text
