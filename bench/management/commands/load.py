"""`manage.py load`: many people at once on a OneClaw of their own; a list, then one line of JSON."""

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from bench import load


class Command(BaseCommand):
    help = "Let many people chat at once, and tell of errors, memory and how pages answer meanwhile."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--people", type=int, default=100, help="How many at once (%(default)s)")
        parser.add_argument("--minutes", type=float, default=5.0, help="For how long (%(default)s)")
        parser.add_argument(
            "--webs",
            type=int,
            default=1,
            help="Web processes; with more than one on PostgreSQL (%(default)s)",
        )
        parser.add_argument(
            "--pause",
            type=float,
            nargs=2,
            default=load.PAUSE,
            metavar=("LEAST", "MOST"),
            help="Seconds that a person looks at a reply (%(default)s)",
        )

    def handle(
        self, *args: Any, people: int, minutes: float, webs: int, pause: Sequence[float], **options: Any
    ) -> None:
        least, most = pause
        if webs < 1 or not 0 <= least <= most:
            raise CommandError("--webs is at least 1, and --pause a shorter time and a longer one.")
        found = load.run(people, 60 * minutes, webs, (least, most))
        for name, value in found.items():
            self.stdout.write(f"{name:<24} {value}")
        self.stdout.write(json.dumps(found))
        if found["errors"] or found["lost_or_doubled"]:
            raise CommandError(f"{found['errors']} errors, {found['lost_or_doubled']} words lost or doubled.")
