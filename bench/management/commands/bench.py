"""`manage.py bench`: every measure, apart from the installation's data; tables, then one line of JSON."""

import json
from argparse import ArgumentParser
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from bench import (
    browsing,
    chatting,
    exam,
    firstday,
    hostile,
    importing,
    mcp,
    scale,
    writing,
)
from bench.exam.marking import summed
from bench.retrieval import judgement, languages, recall, speed
from bench.scratch import scratch
from memory.embedding import engine

PARTS = (
    "speed",
    "writing",
    "exam",
    "recall",
    "languages",
    "chat",
    "browser",
    "first-day",
    "hostile",
    "mcp",
    "import",
)
# Asked for by name: it takes long, and PostgreSQL from the development tools.
LARGE = ("scale",)


class Command(BaseCommand):
    help = "Measure recall, speed compared with the bare model, the first day, and what attackers cost."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--locomo", type=Path, metavar="FILE", help="Conversations with known evidence")
        parser.add_argument(
            "--sizes", default="1000,10000,100000", metavar="LIST", help="Chunks in the index (%(default)s)"
        )
        parser.add_argument("--quick", action="store_true", help="Up to 10,000 chunks and fewer rounds")
        parser.add_argument(
            "--only", choices=(*PARTS, *LARGE), nargs="+", default=PARTS, help="Only some of the measurements"
        )
        parser.add_argument(
            "--ask", default="", metavar="URL", help="Who answers what the exam in writing has no answer to"
        )
        parser.add_argument(
            "--others", type=int, default=1_000_000, help="Other people's chunks in `scale` (%(default)s)"
        )
        parser.add_argument(
            "--crowds", default="10,1000,100000", metavar="LIST", help="People in `scale` (%(default)s)"
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
            if "mcp" in wanted:
                found["mcp"] = mcp.measure(options["chunks"], 30 if options["quick"] else 200)
                self._list("search_memory over MCP, against the search itself", found["mcp"])
        if "chat" in wanted:
            found["chat"] = chatting.run(5 if options["quick"] else 15, options["chunks"])
            self._list(f"The chat, with {options['chunks']} chunks of memory", found["chat"])
        if "browser" in wanted and not find_spec("playwright"):
            self.stdout.write("\nThe browser is left out: `make install-dev` brings what it takes.")
        elif "browser" in wanted:
            found["browser"] = browsing.run(5 if options["quick"] else 15)
            self._list("The chat in a browser, with a model that answers at once", found["browser"])
        if "first-day" in wanted:
            found["first_day"] = firstday.run()
            self._list("The first day without a key", found["first_day"])
        if "import" in wanted:
            found["import"] = importing.run(500 if options["quick"] else importing.CHATS)
            self._list("A ChatGPT archive taken in, without vectors", found["import"])
        if "scale" in wanted:
            self._scale(found, options)
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

    def _scale(self, found: dict[str, Any], options: dict[str, Any]) -> None:
        crowds = [int(size) for size in options["crowds"].split(",") if size]
        measured = found["scale"] = scale.run(max(options["others"] // 10, 100), options["others"], crowds)
        self._table(
            "Search: SQLite with the owner's chunks alone, PostgreSQL among others", measured["search"]
        )
        self._list("Compared", {name: value for name, value in measured.items() if isinstance(value, float)})
        self._list(
            "Sign bits of the owner read through, against an index of neighbours", measured["neighbours"]
        )
        if crowds:
            self._table("A message among so many people", measured["people"])

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
