"""`manage.py memory …`: a user's memory from the command line; with --json, for programs."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from chat.models import Session
from connect.exporting import archive
from connect.importing import commands as importing
from connect.models import Import
from memory import embedding
from memory.jobs.ledger import Outcome, Trigger
from memory.longterm import revisions
from memory.manager import MemoryManager
from memory.models import Source
from memory.search.results import MemorySearchResult
from memory.storage.atomic import StorageError
from memory.tasks import flush_chats
from people.models import User

# Actions whose names are Python's own words.
ACTIONS = {"import": "bring"}
BAR_WIDTH = 30  # characters


class Command(BaseCommand):
    help = "Inspect, search and maintain a user's memory."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

        def action(name: str, help: str) -> ArgumentParser:
            sub = actions.add_parser(name, help=help, description=help)
            sub.add_argument("--user", metavar="NAME", help="Whose memory; not needed when there is one user")
            sub.add_argument("--json", action="store_true", help="Print one JSON object per line")
            return sub

        action("status", "Show files, index and embedding model")
        search = action("search", "Find the best memories for a question")
        search.add_argument("query", help="The question; - reads one per line from standard input")
        search.add_argument("--top-k", type=int, default=5, metavar="N", help="How many results (5)")
        search.add_argument("--source", default="", metavar="LIST", help=f"From {', '.join(Source.values)}")
        search.add_argument("--all", action="store_true", help="The nearest, even if none of them fits")
        inject = action("inject", "Show the memory that would be sent with a message")
        inject.add_argument("query", help="The message; - reads one per line from standard input")
        inject.add_argument("--budget", type=int, metavar="TOKENS", help="Instead of ONECLAW_MEMORY_TOKENS")
        inject.add_argument("--receipt", action="store_true", help="With --json or -, add the receipt")
        action("rebuild", "Rebuild the whole index from files and chats")
        flush = action("flush", "Add what is new in chats to the daily log now")
        flush.add_argument("--session", type=UUID, metavar="ID", help="Only this chat")
        compact = action("compact", "Compact MEMORY.md with the model, whatever its size")
        compact.add_argument("--dry-run", action="store_true", help="Print the diff and write nothing")
        compact.add_argument(
            "--even-in-doubt", action="store_true", help="Write also what would be refused as doubtful"
        )
        entries = action("entries", "List the entries of MEMORY.md with the day each was last said")
        entries.add_argument(
            "--load", type=Path, metavar="FILE", help="Take the days from such a list, made with --json"
        )
        action("backups", "List backups of MEMORY.md, newest first")
        restore = action("restore", "Restore MEMORY.md from a backup")
        restore.add_argument("name", help="A name listed by `backups`")
        bring = action("import", "Take in an export of another chat, an archive of OneClaw, or notes")
        bring.add_argument("file", type=Path, help="A ZIP, a JSON or Markdown file, or a folder of notes")
        export = action("export", "Write everything of a user's to a ZIP: memory, chats, history")
        export.add_argument("file", type=Path, help="Where to; a file that is there is not overwritten")
        bring.add_argument("--dry-run", action="store_true", help="Say what would come and write nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        manager = MemoryManager(chosen_user(options["user"]))
        run: Callable[[MemoryManager, dict[str, Any]], None] = getattr(
            self, ACTIONS.get(options["action"], options["action"])
        )
        try:
            run(manager, options)
        except StorageError as error:
            raise CommandError(str(error)) from None

    def say(self, options: dict[str, Any], values: dict[str, Any], text: str) -> None:
        """Print a result for a program or for a person."""
        self.stdout.write(json.dumps(values, ensure_ascii=False) if options["json"] else text)
        self.stdout.flush()

    def status(self, manager: MemoryManager, options: dict[str, Any]) -> None:
        stats = manager.get_stats()
        engine = embedding.engine()
        values = {
            "user": manager.user.get_username(),
            **asdict(stats),
            "search": "hybrid" if stats.embedding_model_loaded else "keyword-only",
            "embedding_model": engine.name,
            "embedding_problem": engine.reason,
            "long_term_characters": len(manager.read_long_term_memory()),
            "backup_count": len(manager.files.list_backups()),
            "revision_count": revisions.history(manager.user).count(),
            "memory_enabled": manager.user.memory_enabled,
            "folder": str(manager.files.root),
        }
        self.say(options, values, "\n".join(f"{name.replace('_', ' '):24} {values[name]}" for name in values))

    def search(self, manager: MemoryManager, options: dict[str, Any]) -> None:
        if options["top_k"] < 1:
            raise CommandError("--top-k must be at least 1.")
        wanted = [name.strip() for name in options["source"].split(",") if name.strip()]
        if unknown := set(wanted) - set(Source.values):
            raise CommandError(
                f"--source takes {', '.join(Source.values)}, not {', '.join(sorted(unknown))}."
            )
        for query in queries(options):
            results = manager.search_memory(
                query, options["top_k"], sources=wanted or None, judged=not options["all"]
            )
            values = {"query": query, "results": [result.as_json() for result in results]}
            self.say(options, values, "\n".join(map(shown, results)) or "Nothing in memory matches.")

    def inject(self, manager: MemoryManager, options: dict[str, Any]) -> None:
        for query in queries(options):
            injection = manager.inject(query, options["budget"])
            values: dict[str, Any] = {"query": query, "content": injection.text}
            if options["receipt"]:
                values["receipt"] = injection.receipt
            self.say(options, values, injection.text)

    def rebuild(self, manager: MemoryManager, options: dict[str, Any]) -> None:
        bar = Bar("Indexing")
        manager.rebuild_index(progress=bar)
        bar.close()
        count = manager.get_stats().indexed_chunk_count
        self.say(options, {"indexed_chunk_count": count}, f"{count} chunks indexed.")

    def flush(self, manager: MemoryManager, options: dict[str, Any]) -> None:
        session = options["session"]
        if session and not Session.objects.filter(pk=session, owner=manager.user).exists():
            raise CommandError(f"{manager.user} has no chat {session}.")
        flushes = flush_chats(manager, Trigger.MANUAL, [session] if session else None)
        failed = [flush.detail for flush in flushes if flush.outcome == Outcome.FAILED]
        values = {
            "flushed": [
                {"outcome": str(flush.outcome), "detail": flush.detail, "messages": flush.messages}
                for flush in flushes
            ]
        }
        written = sum(flush.outcome == Outcome.WRITTEN for flush in flushes)
        self.say(options, values, f"Logged {written} of {len(flushes)} chats with something new.")
        if failed:
            raise CommandError("; ".join(failed))

    def compact(self, manager: MemoryManager, options: dict[str, Any]) -> None:
        if options["dry_run"]:
            result = manager.preview_compaction()
        else:
            result = manager.run_compaction(even_in_doubt=options["even_in_doubt"])
        doubt = f"In doubt: {result.doubt}" if result.doubt else ""
        values = {
            "compacted": result.outcome == Outcome.WRITTEN,
            "outcome": str(result.outcome),
            "detail": result.detail,
            "doubt": result.doubt,
            "diff": result.diff,
        }
        told = filter(None, [result.diff, doubt, result.detail])
        self.say(options, values, "\n".join(told) or "Nothing to do.")
        if result.outcome in (Outcome.FAILED, Outcome.REFUSED):
            raise CommandError(result.detail)

    def entries(self, manager: MemoryManager, options: dict[str, Any]) -> None:
        if file := options["load"]:
            try:
                count = manager.load_dates(json.loads(file.read_text(encoding="utf-8"))["entries"])
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise CommandError(f"{file} is not such a list: {error}") from error
            self.say(options, {"loaded": count}, f"Loaded the days of {count} entries.")
            return
        rows = manager.dated_entries()
        lines = (f"{row['last_said'] or 'unknown   '}  {row['entry']}" for row in rows)
        self.say(options, {"entries": rows}, "\n".join(lines) or "MEMORY.md has no entries.")

    def bring(self, manager: MemoryManager, options: dict[str, Any]) -> None:
        path: Path = options["file"]
        if not path.exists():
            raise CommandError(f"{path} is not there.")
        bar = Bar("Importing")
        import_ = importing.from_disk(manager.user, path, dry_run=options["dry_run"], progress=bar)
        bar.close()
        values = {
            "kind": import_.label,
            "status": import_.status,
            "plan": import_.plan,
            "added": import_.added,
            "import": None if options["dry_run"] else str(import_.pk),
        }
        if import_.status == Import.Status.FAILED:
            raise CommandError(import_.error)
        self.say(options, values, "\n".join(told(import_)))

    def export(self, manager: MemoryManager, options: dict[str, Any]) -> None:
        path: Path = options["file"]
        if path.exists():
            raise CommandError(f"{path} is there already.")
        bar = Bar("Exporting")
        try:
            counts = archive.write(manager.user, path, bar)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise CommandError(f"{path} can't be written: {error.strerror}.") from None
        bar.close()
        size = path.stat().st_size
        values = {"file": str(path), "size": size, **counts}
        self.say(options, values, f"{counts['chats']} chats and {counts['days']} daily logs in {path}.")

    def backups(self, manager: MemoryManager, options: dict[str, Any]) -> None:
        names = manager.files.list_backups()
        self.say(options, {"backups": names}, "\n".join(names) or "There are no backups.")

    def restore(self, manager: MemoryManager, options: dict[str, Any]) -> None:
        name = options["name"]
        if not manager.restore_backup(name):
            raise CommandError(f"{name} is not a backup that can be restored. `memory backups` lists them.")
        self.say(
            options,
            {"restored": name},
            f"MEMORY.md was restored from {name}. The previous text is in its history.",
        )


def told(import_: Import) -> Iterator[str]:
    """What an import would bring or has brought, in lines."""
    plan, done = import_.plan, import_.status == Import.Status.DONE
    counts = import_.added if done else plan
    yield f"{import_.label}, {plan['first']} to {plan['last']}" if plan["first"] else import_.label
    for name in ("chats", "messages", "more", "memories", "days", "forgotten"):
        label = {"more": "messages of known chats"}.get(name, name)
        yield f"{'Imported' if done else 'Would import'} {counts.get(name, 0)} {label}"
    yield f"{plan['known']} chats are here already"
    if undated := counts.get("undated"):
        yield f"Chats without a usable date, which get that of the export ({plan['undated_as']}): {undated}"
    if silent := counts.get("silent"):
        yield f"Messages off the record, as asked there or forgotten here: {silent}"
    for each in counts.get("redated", ()):
        yield f"{each['what']}: {each['why']}"
    for why, count in plan["reasons"].items():
        yield f"Skipped {count}: {why}"


def chosen_user(name: str | None) -> User:
    if name:
        try:
            named: User = User.objects.get_by_natural_key(name)
        except User.DoesNotExist:
            raise CommandError(f"There is no user {name}.") from None
        return named
    names = list(User.objects.order_by("username").values_list("username", flat=True)[:11])
    if len(names) == 1:
        return User.objects.get(username=names[0])
    if not names:
        raise CommandError("There are no users yet. Open OneClaw in a browser to create the first.")
    raise CommandError(f"Choose a user with --user NAME: {', '.join(names[:10])}.")


def queries(options: dict[str, Any]) -> Iterator[str]:
    """The query, or one a line of standard input, which are always answered in JSON."""
    if options["query"] != "-":
        yield options["query"]
        return
    options["json"] = True
    for line in sys.stdin:
        yield line.rstrip("\r\n")


def shown(result: MemorySearchResult) -> str:
    day = result.source_date or "-" * 10
    kind = Source(result.source_type).label
    return f"{result.match:.3f}  {day}  {kind:16}  {' '.join(result.chunk_text.split())}"


class Bar:
    """A progress bar on standard error, drawn only where somebody looks: call it with done and total."""

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self.label = label
        self.stream = stream or sys.stderr
        self.shown = ""

    def __call__(self, done: int, total: int) -> None:
        if not self.stream.isatty():
            return
        share = done / total if total else 1.0
        filled = round(BAR_WIDTH * share)
        line = f"\r{self.label} [{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {done}/{total}"
        if line != self.shown:
            self.shown = line
            self.stream.write(line)
            self.stream.flush()

    def close(self) -> None:
        """End the line, if one was begun."""
        if self.shown:
            self.stream.write("\n")
            self.stream.flush()
