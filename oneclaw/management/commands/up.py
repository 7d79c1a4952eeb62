"""`manage.py up`: the one command. It prepares everything and keeps the web server and the worker running."""

import fcntl
import os
import secrets
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from oneclaw import checks, datafolder, wiring
from oneclaw.backup import restore
from oneclaw.postgres import is_postgres
from oneclaw.server import assets, database, heartbeat, lan, supervisor
from oneclaw.server.listen import listen
from oneclaw.server.logs import json_line
from oneclaw.server.processes import children
from oneclaw.server.supervisor import Task
from people import setup

ALONE = ("web", "worker")
# How long a killed `up` may need to let go of the port.
PATIENCE = 8.0


class Command(BaseCommand):
    help = "Start OneClaw: the web server and its worker, until Ctrl-C."
    requires_system_checks = [checks.ONECLAW]

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=settings.HOST, help="address to listen on (ONECLAW_HOST)")
        parser.add_argument("--port", type=int, default=settings.PORT, help="port (ONECLAW_PORT)")
        parser.add_argument(
            "--only", choices=ALONE, default=settings.ONLY, help="start one of the two (ONECLAW_ONLY)"
        )
        parser.add_argument(
            "--new-key", action="store_true", help="accept another secret.key than the database knows"
        )

    def handle(self, *args: Any, host: str, port: int, only: str, new_key: bool, **options: Any) -> None:
        folder = Path(settings.DATA_DIR)
        if only and not is_postgres():
            raise CommandError(
                "--only is for several machines, which need PostgreSQL: set ONECLAW_DATABASE_URL. "
                "With SQLite one `up` runs both."
            )
        with one_of_several(folder) if is_postgres() else only_one(folder) as held:
            if restore.interrupted(folder):
                raise CommandError("A restore was interrupted. Finish it first: manage.py restore --finish")
            self.close_to_others()
            patience = PATIENCE if held.was_killed else 0.0
            sockets = [] if only == "worker" else listen(host, port, patience=patience)
            with database.reached(), database.one_at_a_time():
                database.prepare(new_key=new_key)
                told = StringIO()
                call_command("providers", "sync", stdout=told)
                if told.getvalue():
                    self.say(told.getvalue().rstrip())
                if sockets:
                    assets.prepare()
            if not is_postgres():
                heartbeat.file().unlink(missing_ok=True)
            if sockets:
                port = sockets[0].getsockname()[1]
                # The children read the same settings.
                os.environ |= {"ONECLAW_HOST": host, "ONECLAW_PORT": str(port)}
            os.environ["ONECLAW_ONLY"] = only
            if not only:
                wiring.note_local_model()
            self.say(greeting(host, port) if sockets else "OneClaw's worker is running (Ctrl-C to stop).")
            connections.close_all()
            # This process becomes the one that keeps the others: nobody pays for what only the start needed.
            supervisor.become(
                Task(str(folder), held.descriptor, children(sockets, only), settings.LOG_FORMAT)
            )

    def close_to_others(self) -> None:
        """Close the data folder to others: a copy or an unpacked backup may be open to everybody."""
        mended, resisting = datafolder.close_to_others(settings.DATA_DIR)
        if mended:
            self.say(f"{mended} files and folders could be read by others on this machine; now they can't.")
        if resisting:
            self.say(f"Others on this machine can read {resisting[0]}, and OneClaw can't change that.")

    def say(self, line: str) -> None:
        # Whoever read this may be gone; OneClaw goes on.
        with suppress(BrokenPipeError):
            self.stdout.write(json_line(line, "up") if settings.LOG_FORMAT == "json" else line)
            self.stdout.flush()


@dataclass(frozen=True, slots=True)
class Held:
    """The data folder is ours: the open lock, and whether the last to hold it was killed."""

    descriptor: int
    was_killed: bool


@contextmanager
def one_of_several(folder: Path) -> Iterator[Held]:
    """Use the data folder together with others; who was here before may still let go of the port."""
    try:
        descriptor = opened(folder)
    except OSError as error:
        raise CommandError(f"The data folder {folder} can't be written to: {error.strerror}.") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommandError(
                f"The data folder {folder} is being restored or moved. Wait until that has ended."
            ) from None
        except OSError:
            pass  # a volume that can't be locked does without
        yield Held(descriptor, was_killed=True)
    finally:
        os.close(descriptor)


def opened(folder: Path) -> int:
    """The data folder's lock, open; the folder is made where it is missing, and written to."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A name of its own: another machine may be trying the same.
    probe = folder / f".writable-{secrets.token_hex(4)}"
    probe.touch()
    probe.unlink()
    return os.open(folder / datafolder.UP_LOCK, os.O_RDWR | os.O_CREAT, 0o600)


@contextmanager
def only_one(folder: Path) -> Iterator[Held]:
    """Hold the data folder, so that nobody else works on it."""
    try:
        descriptor = opened(folder)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise CommandError(
            f"OneClaw is already running with the data folder {folder}. Stop it, or set ONECLAW_DATA_DIR."
        ) from None
    except OSError as error:
        raise CommandError(f"The data folder {folder} can't be written to: {error.strerror}.") from None
    running = folder / datafolder.UP_RUNNING
    was_killed = running.exists()
    try:
        running.touch()
        yield Held(descriptor, was_killed)
    finally:
        running.unlink(missing_ok=True)
        os.close(descriptor)


def greeting(host: str, port: int) -> str:
    """Where OneClaw is, and what a person on another device needs to know."""
    if alone := lan.is_loopback(host):
        lines = [f"OneClaw is running at http://{lan.in_url(host)}:{port} (Ctrl-C to stop)."]
    else:
        lines = ["OneClaw is running on your network (Ctrl-C to stop):"]
        names = ["127.0.0.1", *lan.addresses(host)] if host in lan.ANY else [host]
        lines += [f"  http://{lan.in_url(name)}:{port}" for name in names]
    if setup.is_needed():
        lines.append(f"Set-up code, {code_asked(alone=alone)}: {setup.code()}")
    return "\n".join(lines)


def code_asked(*, alone: bool) -> str:
    """When the page wants the code. Behind a proxy every visitor seems to come from this machine."""
    if settings.HTTPS:
        return "needed on every device"
    return "if the page asks for it" if alone else "needed on other devices"
