"""`manage.py load`: many people at once on a OneClaw of their own; a list, then one line of JSON."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from bench import load


class Command(BaseCommand):
    help = "Let many people chat at once, and tell of errors, memory and how pages answer meanwhile."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--people", type=int, default=100, help="How many at once (%(default)s)")
        parser.add_argument("--minutes", type=float, default=5.0, help="For how long (%(default)s)")

    def handle(self, *args: Any, people: int, minutes: float, **options: Any) -> None:
        found = load.run(people, 60 * minutes)
        for name, value in found.items():
            self.stdout.write(f"{name:<24} {value}")
        self.stdout.write(json.dumps(found))
        if found["errors"]:
            raise CommandError(f"{found['errors']} errors.")
