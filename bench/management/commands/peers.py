"""`manage.py peers`: OneClaw beside other stores, and the table in docs/retrieval.md."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from bench.peers import page, side_by_side
from bench.scratch import scratch


class Command(BaseCommand):
    help = "Compare search with other stores on the same chunks, vectors and questions."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--locomo", type=Path, metavar="FILE", required=True)
        parser.add_argument("--conversations", type=int, default=10, help="So many of the file (%(default)s)")
        parser.add_argument("--write", type=Path, metavar="PAGE", help="Put table and plot into this page")

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["locomo"]
        if not file.is_file():
            raise CommandError(f"{file} is not there.")
        told = json.loads(file.read_text())[: options["conversations"]]
        questions = sum(len(one["questions"]) for one in told)
        with scratch():
            rows = side_by_side.measure(file, options["conversations"])
        self.stdout.write(page.table(rows, questions))
        if options["write"]:
            page.write(options["write"], rows, questions)
