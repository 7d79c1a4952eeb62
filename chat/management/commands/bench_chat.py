"""`manage.py bench_chat`: how fast the chat is, with a real web process in a temporary folder."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from chat import bench


class Command(BaseCommand):
    help = "Measure what OneClaw adds to a model's first word, a hundred replies at once, and long chats."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--rounds", type=int, default=15, help="Messages to time (%(default)s)")
        parser.add_argument("--chunks", type=int, default=0, help="Chunks of memory to index first")

    def handle(self, *args: Any, rounds: int, chunks: int, **options: Any) -> None:
        for name, value in bench.run(rounds, chunks).items():
            self.stdout.write(f"{name:24} {value}")
