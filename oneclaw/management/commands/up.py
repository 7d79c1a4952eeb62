"""`manage.py up`: the one command. It prepares everything and keeps the web server and the worker running."""

import os
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from filelock import FileLock, Timeout

from oneclaw import checks, datafolder
from oneclaw.backup import restore
from oneclaw.server import assets, database, heartbeat, lan
from oneclaw.server.listen import listen
from oneclaw.server.processes import children
from oneclaw.server.supervisor import Supervisor
from people import setup

# How long a killed `up` may need to let go of the port.
PATIENCE = 8.0


class Command(BaseCommand):
    help = "Start OneClaw: the web server and its worker, until Ctrl-C."
    requires_system_checks = [checks.ONECLAW]

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=settings.HOST, help="address to listen on (ONECLAW_HOST)")
        parser.add_argument("--port", type=int, default=settings.PORT, help="port (ONECLAW_PORT)")

    def handle(self, *args: Any, host: str, port: int, **options: Any) -> None:
        folder = Path(settings.DATA_DIR)
        with only_one(folder) as was_killed:
            held = lock_file(folder).stat()
            if restore.interrupted(folder):
                raise CommandError("A restore was interrupted. Finish it first: manage.py restore --finish")
            self.close_to_others()
            sockets = listen(host, port, patience=PATIENCE if was_killed else 0.0)
            database.prepare()
            call_command("providers", "sync", stdout=self.stdout)
            assets.prepare()
            heartbeat.file().unlink(missing_ok=True)
            port = sockets[0].getsockname()[1]
            # The children read the same settings.
            os.environ |= {"ONECLAW_HOST": host, "ONECLAW_PORT": str(port)}
            self.say(greeting(host, port))
            connections.close_all()
            Supervisor(children(sockets), self.say, lambda: taken_away(folder, held)).run()
            self.say("OneClaw has stopped.")

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
            self.stdout.write(line)
            self.stdout.flush()


@contextmanager
def only_one(folder: Path) -> Iterator[bool]:
    """Hold the data folder; True when the last to hold it was killed."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / ".writable").touch()
        (folder / ".writable").unlink()
        lock = FileLock(lock_file(folder), timeout=0)
        lock.acquire()
    except Timeout:
        raise CommandError(
            f"OneClaw is already running with the data folder {folder}. Stop it, or set ONECLAW_DATA_DIR."
        ) from None
    except OSError as error:
        raise CommandError(f"The data folder {folder} can't be written to: {error.strerror}.") from None
    running = folder / "up.running"
    was_killed = running.exists()
    try:
        running.touch()
        yield was_killed
    finally:
        running.unlink(missing_ok=True)
        lock.release()


def lock_file(folder: Path) -> Path:
    return folder / "up.lock"


def taken_away(folder: Path, held: os.stat_result) -> str:
    """Why OneClaw must stop: what it would write now, nobody would find again; nothing while all is well."""
    try:
        if os.path.samestat(lock_file(folder).stat(), held):
            return ""
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError:  # a disk that does not answer just now
        return ""
    return f"The data folder {folder}, or up.lock in it, was removed or replaced. OneClaw stops."


def greeting(host: str, port: int) -> str:
    """Where OneClaw is, and what a person on another device needs to know."""
    if alone := lan.is_loopback(host):
        lines = [f"OneClaw is running at http://{lan.in_url(host)}:{port} (Ctrl-C to stop)."]
    else:
        lines = ["OneClaw is running on your network (Ctrl-C to stop):"]
        names = ["127.0.0.1", *lan.addresses(host)] if host in lan.ANY else [host]
        lines += [f"  http://{lan.in_url(name)}:{port}" for name in names]
    # Behind a proxy every visitor seems to come from this machine: there all are asked.
    if setup.is_needed() and (settings.HTTPS or not alone):
        asked = "on every device" if settings.HTTPS else "on other devices"
        lines.append(f"Set-up code, needed {asked}: {setup.code()}")
    return "\n".join(lines)
