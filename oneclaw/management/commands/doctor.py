"""`manage.py doctor`: looks over an installation and says what to fix. It changes nothing."""

import json
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import ERROR, run_checks
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from oneclaw import checks, datafolder, wiring
from oneclaw.postgres import is_postgres, readiness
from oneclaw.server import database
from oneclaw.site import health

OK, WARNING, BROKEN = "ok", "warning", "broken"
MARKS = {OK: "✓", WARNING: "!", BROKEN: "✗"}
# A part whose trouble keeps OneClaw from working; any other only makes it work less well.
ESSENTIAL = ("database", "disk")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `advice` says what to do where all is not well."""

    part: str
    state: str
    advice: str = ""


class Command(BaseCommand):
    help = "Check this installation and say what to fix. Nothing is changed."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")

    def handle(self, *args: Any, **options: Any) -> None:
        found = list(examine())
        if options["json"]:
            self.stdout.write(json.dumps([asdict(finding) for finding in found], indent=1))
        else:
            for finding in found:
                said = f": {finding.advice}" if finding.advice else ""
                self.stdout.write(f"{MARKS[finding.state]} {finding.part}{said}")
        if broken := sum(finding.state == BROKEN for finding in found):
            raise CommandError(f"{broken} of {len(found)} things must be fixed.")


def examine() -> Iterator[Finding]:
    """Everything, the database first; what needs one is left out where there is none."""
    yield from _configuration()
    yield _folder()
    reached = _database()
    yield reached
    if reached.state == BROKEN:
        return
    if reached.state == OK:
        yield _migrations()
        yield from _key()
        yield from _health()
        yield _asked("Providers", _providers)
    yield _asked("Embedding model on this processor", _vectors)


def _configuration() -> Iterator[Finding]:
    """The same checks that `up` makes."""
    said = run_checks(tags=[checks.ONECLAW])
    for message in said:
        state = BROKEN if message.level >= ERROR else WARNING
        yield Finding("Settings", state, " ".join(filter(None, [str(message.msg), str(message.hint or "")])))
    if not said:
        yield Finding("Settings", OK)


def _folder() -> Finding:
    folder = Path(settings.DATA_DIR)
    if not folder.is_dir():
        advice = f"There is no {folder}. The first start makes it; if there was one, mount its volume."
        return Finding("Data folder", WARNING, advice)
    if open_to_others := datafolder.open_to_others(folder):
        advice = f"Others on this machine can read {open_to_others[0]}; the next start closes it."
        return Finding("Data folder", WARNING, advice)
    return Finding("Data folder", OK)


def _database() -> Finding:
    """Whether it is there and fit; one without tables is no fault before the first start."""
    if not is_postgres() and not Path(connection.settings_dict["NAME"]).exists():
        return Finding("Database", WARNING, f"There is no {database.name()} yet; the first start makes it.")
    try:
        lack = readiness.lacking(change=False) if is_postgres() else ""
        is_new = not lack and not MigrationRecorder(connection).applied_migrations()
    except DatabaseError as error:
        lack, is_new = database.trouble(error).strip().splitlines()[0], False
    if is_new:
        advice = f"{database.name()} has no tables yet; the first start makes them."
        return Finding("Database", WARNING, advice)
    return Finding("Database", BROKEN if lack else OK, lack)


def _key() -> Iterator[Finding]:
    """Where the database is elsewhere, the data folder may be another than it was: an unmounted volume."""
    if not is_postgres():
        return
    try:
        fault = database.foreign_key()
    except DatabaseError:
        fault = ""  # an older version's, which had no such row
    yield Finding("Secret key", BROKEN if fault else OK, fault)


def _migrations() -> Finding:
    if unknown := database.unknown_migrations():
        return Finding(
            "Version",
            BROKEN,
            f"The database is a newer OneClaw's (it has {unknown[-1]}). Update the code.",
        )
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return Finding("Version", WARNING, "The database is an older OneClaw's; the next start updates it.")
    return Finding("Version", OK)


def _health() -> Iterator[Finding]:
    """What /healthz reports, in its own words."""
    report = health.report()
    for key, (name, troubles) in health.WORDS.items():
        if key == "database" or key not in report:
            continue
        well = report[key] == "ok"
        bad = BROKEN if key in ESSENTIAL and report[key] != "low" else WARNING
        yield Finding(name, OK if well else bad, "" if well else troubles.get(report[key], report[key]))


def _providers() -> str:
    return "" if wiring.has_provider() else "None is set up, so only the starter model can answer."


def _vectors() -> str:
    return wiring.embedding_disagrees()


def _asked(part: str, ask: Callable[[], str]) -> Finding:
    try:
        advice = ask()
    except Exception as error:
        return Finding(part, WARNING, f"It could not be checked: {error}")
    return Finding(part, WARNING if advice else OK, advice)
