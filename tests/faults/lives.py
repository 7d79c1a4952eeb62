"""A process with Django set up that forks at command: a fork lives, or looks at what a killed one left.

Run as `python -m tests.faults.lives`: it reads a JSON command a line and answers each with a line. A fork
costs hundredths of a second where a new interpreter costs seconds: a thousand lives end within minutes.
"""

import asyncio
import json
import os
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import django
from django.conf import settings

from tests import running

ROOT = Path(__file__).resolve().parents[2]
OURS = tuple(f"{ROOT / room}/" for room in ("chat", "connect", "memory", "oneclaw", "people"))
LONGEST_LIFE = 90.0


def main() -> None:
    settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
    django.setup()
    warm_up()

    for line in sys.stdin:
        command = json.loads(line)
        answer = COMMANDS[command.pop("do")](**command)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def warm_up() -> None:
    """Import and parse once what every fork would have to."""
    from django.template import engines
    from django.urls import get_resolver

    from tests.faults import inspection, work  # noqa: F401

    assert get_resolver().url_patterns
    for template in ("chat/session.html", "memory/_forgotten.html"):
        engines["django"].get_template(template)


def at_home(folder: str) -> Path:
    """Make this process, which has no connection yet, one of the installation in the folder."""
    from django.db import connections

    home = Path(folder)
    settings.DATA_DIR, settings.MEMORY_DIR = home, home / "memory"
    own = running.database_of(home)
    name = running.database_name(home) if own else home / "db.sqlite3"
    settings.DATABASES["default"]["NAME"] = name
    connections["default"].settings_dict["NAME"] = name
    os.environ.update(own)
    # Words alone are searched: loading the model takes longer than most lives last.
    settings.EMBEDDING_MODEL = home / "no-model"
    return home


def prepare(folder: str, model_url: str) -> dict[str, Any]:
    """A new installation with a person and a model, to be copied for each chain of lives."""

    def make() -> None:
        home = at_home(folder)
        home.mkdir(parents=True)
        (home / "secret.key").write_text(settings.SECRET_KEY)
        from django.core.management import call_command

        from chat.models import AiModel, Provider
        from people.models import User

        call_command("migrate", verbosity=0)
        User.objects.create_superuser("ada", password="correct horse battery")
        provider = Provider.objects.create(name="Scripted", kind="openai", base_url=model_url)
        AiModel.objects.create(provider=provider, name="scripted", is_default=True, supports_tools=False)

    return {"status": ended(fork(make))}


def live(folder: str, seed: str, lines: int = 0, seconds: float = 0.0) -> dict[str, Any]:
    """Let a fork work until so many lines of OneClaw's code have run, or so many seconds have passed."""

    def work() -> None:
        from tests.faults.work import Life

        home = at_home(folder)
        life = Life(home, random.Random(seed))
        if lines:
            die_after(lines)
        life.run()

    pid = fork(work)
    return {"status": ended(pid, seconds or LONGEST_LIFE)}


def manage(folder: str, command: list[str], lines: int = 0) -> dict[str, Any]:
    """A command of `manage.py`, killed after so many lines of OneClaw's code; or how many it took."""

    def work() -> None:
        from django.core.management import call_command

        call_command(*command)

    return counted(folder, work, lines)


def take_in(folder: str, seed: str, chats: int, lines: int = 0) -> dict[str, Any]:
    """An archive uploaded and taken in by a worker, killed after so many lines; or how many it took."""

    def work() -> None:
        from tests.faults.work import Life

        Life(Path(folder), random.Random(seed)).take_in(chats)

    return counted(folder, work, lines)


def counted(folder: str, work: Callable[[], None], lines: int) -> dict[str, Any]:
    """Work in a fork of its own, killed after so many lines of OneClaw's code; or how many it took."""
    found = Path(folder) / "lines.txt"

    def count() -> None:
        at_home(folder)
        left = die_after(lines or sys.maxsize)
        work()
        found.write_text(str((lines or sys.maxsize) - left()))

    status = ended(fork(count))
    return {"status": status, "lines": 0 if status else int(found.read_text())}


def inspect(folder: str) -> dict[str, Any]:
    """Start again as the real processes do, finish what is due, and say what is not as it must be."""

    def look() -> Any:
        from tests.faults.inspection import Inspection

        return Inspection(at_home(folder)).run()

    return {"problems": told_by(look, Path(folder))}


def states(folder: str) -> dict[str, Any]:
    """Every state of the migrations that somebody may be upgrading from."""

    def tell() -> Any:
        from tests.faults import upgrades

        at_home(folder).mkdir(parents=True)
        return upgrades.states()

    return {"states": told_by(tell, Path(folder))}


def build(folder: str, targets: list[list[str]], empty: bool = False) -> dict[str, Any]:
    """An installation as a version with these migrations left it, or one that nobody has used yet."""

    def make() -> None:
        from tests.faults import upgrades

        home = at_home(folder)
        home.mkdir(parents=True, exist_ok=True)
        (home / "secret.key").write_text(settings.SECRET_KEY)
        upgrades.build([(app, name) for app, name in targets], empty)
        (home / "counts.json").write_text(json.dumps(upgrades.counts()))

    return {"status": ended(fork(make))}


def upgrade(folder: str) -> dict[str, Any]:
    """Start the present version on it; what is not as it must be."""

    def look() -> Any:
        from oneclaw.server import database
        from tests.faults import upgrades

        home = at_home(folder)
        database.prepare()
        return upgrades.problems(json.loads((home / "counts.json").read_text()))

    return {"problems": told_by(look, Path(folder))}


def told_by(work: Callable[[], Any], folder: Path) -> Any:
    """What a fork has to say; how it ended, if it could say nothing."""
    found = folder / "found.json"
    found.unlink(missing_ok=True)

    def tell() -> None:
        found.write_text(json.dumps(work()))

    status = ended(fork(tell))
    return json.loads(found.read_text()) if found.exists() else [f"It ended with {status}."]


def fork(work: Callable[[], None]) -> int:
    """Before any connection or thread of ours: neither could be shared."""
    assert threading.active_count() == 1
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        # What it prints is for people, the answers on standard output are not.
        os.dup2(2, 1)
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def ended(pid: int, seconds: float = LONGEST_LIFE) -> int:
    """How the process ended; it is killed when its time is up."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def die_after(lines: int) -> Callable[[], int]:
    """Kill this process at the so many-th line of OneClaw's own code, in any thread; tells what is left."""
    left = lines

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if event == "line":
            left -= 1
            if left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return count

    def enter(frame: FrameType, event: str, _: Any) -> Any:
        return count if frame.f_code.co_filename.startswith(OURS) else None

    threading.settrace(enter)
    sys.settrace(enter)
    return lambda: left


async def started() -> None:
    """What the web process does before it serves."""
    from oneclaw.asgi import application

    messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

    async def receive() -> dict[str, str]:
        return next(messages)

    async def send(message: Mapping[str, Any]) -> None:
        assert message["type"].endswith(".complete"), message

    await application({"type": "lifespan"}, receive, send)


def start_web() -> None:
    asyncio.run(started())


COMMANDS: dict[str, Callable[..., dict[str, Any]]] = {
    "prepare": prepare,
    "live": live,
    "manage": manage,
    "take_in": take_in,
    "inspect": inspect,
    "states": states,
    "build": build,
    "upgrade": upgrade,
}

if __name__ == "__main__":
    main()
