"""`manage.py bench`: every measure, apart from the installation's data; tables, then one line of JSON."""

import json
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from bench import chatting, exam, firstday, hostile, judgement, languages, recall, speed, writing
from bench.exam.marking import summed
from bench.scratch import scratch
from memory.embedding import engine

PARTS = ("speed", "writing", "exam", "recall", "languages", "chat", "first-day", "hostile")


class Command(BaseCommand):
    help = "Measure recall, speed compared with the bare model, the first day, and what attackers cost."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--locomo", type=Path, metavar="FILE", help="Conversations with known evidence")
        parser.add_argument(
            "--sizes", default="1000,10000,100000", metavar="LIST", help="Chunks in the index (%(default)s)"
        )
        parser.add_argument("--quick", action="store_true", help="Up to 10,000 chunks and fewer rounds")
        parser.add_argument(
            "--only", choices=PARTS, nargs="+", default=PARTS, help="Only some of the measurements"
        )
        parser.add_argument(
            "--ask", default="", metavar="URL", help="Who answers what the exam in writing has no answer to"
        )
        parser.add_argument(
            "--chunks", type=int, default=1000, help="Chunks of memory while chatting (%(default)s)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not engine().is_available():
            raise CommandError(f"There is no embedding model to measure: {engine().reason}.")
        file: Path | None = options["locomo"]
        if file and not file.is_file():
            raise CommandError(f"{file} is not there.")
        found: dict[str, Any] = {"model": engine().name}
        wanted = set(options["only"])
        with scratch():
            if "speed" in wanted:
                self._speed(found, sizes(options), quick=options["quick"])
            if "writing" in wanted:
                found["writing"] = writing.measure()
                self._table("Writing memory, beyond the model's own time", [found["writing"]])
            if "exam" in wanted:
                self._exam(found, options["ask"])
            if "recall" in wanted and file:
                self._recall(found, file)
            if "languages" in wanted:
                found["languages"] = languages.measure()
                rows = [{"language": code, **row} for code, row in found["languages"].items()]
                self._table("Paraphrases in other languages, found among the first five", rows)
        if "chat" in wanted:
            found["chat"] = chatting.run(5 if options["quick"] else 15, options["chunks"])
            self._list(f"The chat, with {options['chunks']} chunks of memory", found["chat"])
        if "first-day" in wanted:
            found["first_day"] = firstday.run()
            self._list("The first day without a key", found["first_day"])
        if "hostile" in wanted:
            found["hostile"] = hostile.run()
            self._table("Texts made to be slow: another person's page meanwhile", found["hostile"]["texts"])
            self._table("A hostile provider: the same, and the web process", found["hostile"]["providers"])
            self._list("Whether the goals are met", found["hostile"]["goals"])
        self.stdout.write(json.dumps(found))

    def _recall(self, found: dict[str, Any], file: Path) -> None:
        measured = recall.measure(file)
        found["recall"], found["kinds"] = measured.recall, measured.kinds
        self._table("Recall", [{"source": name, **row} for name, row in measured.recall.items()])
        self._table("By kind of question", [{"kind": name, **row} for name, row in measured.kinds.items()])
        found["judgement"] = judgement.measure(measured.conversations)
        for name, row in found["judgement"].items():
            self._list(f"Judgement: {name}", row)

    def _speed(self, found: dict[str, Any], wanted: list[int], *, quick: bool) -> None:
        found["loading"] = speed.loading()
        self._table("Loading the model in a new process", [found["loading"]])
        # First, because a rebuild begins by checking the whole tables, and these are about to be filled.
        found["throughput"] = speed.throughput(60 if quick else 600)
        self._table("Indexing", [found["throughput"]])
        found["refreshes"] = speed.refreshes((36, 365) if quick else (365, 3650), rounds=5 if quick else 20)
        self._list("Refreshing the index before a search", found["refreshes"])
        found["latency"] = speed.latency(wanted, rounds=10 if quick else 40)
        self._table("Latency: made text, vectors of 200 read texts with noise", found["latency"])

    def _exam(self, found: dict[str, Any], ask: str) -> None:
        papers, unanswered = exam.take(ask=ask)
        found["exam"] = summed([paper.marks for paper in papers], unanswered)
        self._list(f"What gets written: an exam of {len(papers)} conversations", found["exam"])
        for paper in papers:
            for line in paper.marks.faults:
                self.stdout.write(f"  {line}")

    def _list(self, title: str, values: dict[str, Any]) -> None:
        self.stdout.write(f"\n{title}")
        for name, value in values.items():
            self.stdout.write(f"{name:>28}  {value}")

    def _table(self, title: str, rows: Iterable[dict[str, Any]]) -> None:
        lines = [[*map(str, row.values())] for row in rows]
        names = [*next(iter(rows))]
        widths = [max(map(len, column)) for column in zip(names, *lines, strict=True)]
        self.stdout.write(f"\n{title}")
        for line in [names, *lines]:
            self.stdout.write("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))
        self.stdout.flush()


def sizes(options: dict[str, Any]) -> list[int]:
    try:
        wanted = [int(size) for size in options["sizes"].split(",")]
    except ValueError:
        raise CommandError("--sizes is a list of numbers, such as 1000,10000.") from None
    return [size for size in wanted if size <= 10_000] if options["quick"] else wanted
