"""A real OneClaw for tests: `manage.py up` on a free port, with a data folder of its own."""

import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.limits import Mortal

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")


@dataclass
class Running:
    """A started `up`: where it is, what it said, and hands to poke it with."""

    process: Mortal[bytes]
    data_dir: Path
    env: dict[str, str]
    url: str = ""
    # Several may share a data folder.
    log_name: str = "up.log"

    @property
    def log(self) -> str:
        return (self.data_dir / self.log_name).read_text()

    def manage(self, *command: str, input: str = "") -> str:
        """Run another `manage.py` command on the same data folder."""
        done = subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=self.env,
            input=input,
            text=True,
            capture_output=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def wait_until(self, holds: Callable[[], object], seconds: float = 60.0) -> None:
        """Until something holds; the log is shown when it never does."""
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"it never came true\n{self.log}"
            time.sleep(0.1)

    def health(self) -> dict[str, str]:
        answer: dict[str, str] = httpx.get(f"{self.url}/healthz", timeout=30).json()
        return answer

    def says(self, part: str) -> str:
        """A part of its health; nothing while it does not answer, as on a busy machine at first."""
        try:
            return self.health()[part]
        except httpx.TransportError:
            return ""

    def processes(self) -> dict[int, str]:
        """Everything that this `up` has started, by process id; its own children come first."""
        rows = [[*line.split(None, 2), ""][:3] for line in listed("pid=,ppid=,command=")]
        family = {self.process.pid: "up"}
        for _ in range(4):  # as deep as the cluster's workers are
            family |= {int(pid): command for pid, parent, command in rows if int(parent) in family}
        return {pid: command for pid, command in family.items() if pid != self.process.pid}

    def find(self, words: str) -> list[int]:
        """Its processes with these words in their command; a list without any is asked for again."""
        found = list[int]()

        def look() -> list[int]:
            found[:] = [pid for pid, command in self.processes().items() if words in command]
            return found

        self.wait_until(look)
        return found

    @property
    def model_server(self) -> int | None:
        """The process that serves a local model, by its own word; None when there is none."""
        try:
            pid: int = json.loads((self.data_dir / "modelserver.json").read_text())["pid"]
        except FileNotFoundError:
            return None
        return pid if alive([pid]) else None

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end, and say how it did; one that does not is killed, and its log shown."""
        self.process.send_signal(number)
        try:
            return self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(timeout=20)
            raise AssertionError(f"`up` did not end in a minute.\n{self.log}") from None

    def kill(self) -> None:
        """As the kernel does when memory is short: it can say nothing."""
        self.process.kill()
        self.process.wait(timeout=20)


def listed(columns: str) -> list[str]:
    """Every process of the machine, a line each, however long its command."""
    shown = subprocess.run(["ps", "-axwwo", columns], capture_output=True, text=True, check=True, timeout=60)
    return shown.stdout.splitlines()


def alive(pids: Iterable[int]) -> list[int]:
    """Those of the processes that still run."""
    running = {int(pid) for pid, state in map(str.split, listed("pid=,stat=")) if state[0] != "Z"}
    return [pid for pid in pids if pid in running]


def environment(data_dir: Path, **settings: str) -> dict[str, str]:
    """The variables of a OneClaw that sees nothing of the developer's and starts no local model."""
    own = ("ONECLAW_", "OPENAI_", "ANTHROPIC_", "GEMINI_")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    # On a busy machine memory may take its time; what it says is what tests look at.
    quiet = {"ONECLAW_STARTER": "0", "ONECLAW_DISCOVER": "0", "ONECLAW_MEMORY_SECONDS": "60"}
    return plain | quiet | {"ONECLAW_DATA_DIR": str(data_dir)} | database_of(data_dir) | settings


def database_of(data_dir: Path) -> dict[str, str]:
    """On PostgreSQL, a database of its own for each data folder, as on SQLite; made when first asked for."""
    url = os.environ.get("TEST_DATABASE_URL", "")
    if not url:
        return {}
    import psycopg

    name = database_name(data_dir)
    with psycopg.connect(url, autocommit=True) as connection, suppress(psycopg.errors.DuplicateDatabase):
        connection.execute(f"CREATE DATABASE {name}")
    return {"ONECLAW_DATABASE_URL": url.replace("/oneclaw?", f"/{name}?")}


def database_name(data_dir: Path) -> str:
    return f"oneclaw_{hashlib.sha256(str(data_dir).encode()).hexdigest()[:16]}"


def copy(data_dir: Path, to: Path) -> None:
    """An installation that nobody uses now, as it is: the folder and, on PostgreSQL, its database."""
    shutil.copytree(data_dir, to)
    if not (url := os.environ.get("TEST_DATABASE_URL", "")):
        return
    import psycopg

    here, there = database_name(data_dir), database_name(to)
    with psycopg.connect(url, autocommit=True) as connection:
        # The server may not have noticed yet that somebody is dead.
        leave = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s"
        connection.execute(leave, [here])
        connection.execute(f"CREATE DATABASE {there} TEMPLATE {here}")


def remove(data_dir: Path) -> None:
    shutil.rmtree(data_dir)
    if not (url := os.environ.get("TEST_DATABASE_URL", "")):
        return
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {database_name(data_dir)} WITH (FORCE)")


def rows(data_dir: Path, question: str) -> list[tuple[Any, ...]]:
    """What the database of an installation answers, past OneClaw."""
    if url := database_of(data_dir).get("ONECLAW_DATABASE_URL"):
        import psycopg

        with psycopg.connect(url) as connection:
            return connection.execute(question.encode()).fetchall()
    with closing(sqlite3.connect(data_dir / "db.sqlite3")) as database:
        return database.execute(question).fetchall()


def database_of_tests() -> dict[str, str]:
    """For a process that is to see what a test has committed: the tests' PostgreSQL, if they run on it."""
    url = os.environ.get("TEST_DATABASE_URL", "")
    if not url:
        return {}
    from django.db import connection

    return {"ONECLAW_DATABASE_URL": url.replace("/oneclaw?", f"/{connection.settings_dict['NAME']}?")}


def launch(data_dir: Path, *arguments: str, log_name: str = "up.log", **settings: str) -> Running:
    """Start `up` and do not wait for anything."""
    env = environment(data_dir, **settings)
    data_dir.mkdir(parents=True, exist_ok=True)
    with (data_dir / log_name).open("wb") as log:
        process = Mortal[bytes](
            [sys.executable, "manage.py", "up", "--port", "0", *arguments],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    return Running(process, data_dir, env, log_name=log_name)


@contextmanager
def oneclaw(data_dir: Path, *arguments: str, **settings: str) -> Iterator[Running]:
    """A OneClaw that answers and whose worker beats; stopped at the end."""
    running = launch(data_dir, *arguments, **settings)
    try:
        running.wait_until(lambda: ADDRESS.search(running.log) or running.process.poll() is not None)
        found = ADDRESS.search(running.log)
        assert found, running.log
        running.url = f"http://127.0.0.1:{found[1]}"
        running.wait_until(lambda: running.says("worker") == "ok", 120.0)
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()
