"""A disk that is full, read-only or spoilt: pages are read, a sentence says why, and nothing is lost."""

import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from oneclaw import datafolder
from oneclaw.postgres import is_postgres
from tests.faults.kills import Killer, killer
from tests.faults.visitor import Refused, Visitor
from tests.running import ROOT, Running, copy, environment, oneclaw

SIZE = 64 * 2**20


@pytest.fixture(scope="module")
def hand() -> Iterator[Killer]:
    with killer() as made:
        yield made


def mount(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], capture_output=True, timeout=60).returncode == 0


class Disk:
    """A small one of its own for root; for others, a limit on what the running processes may write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.is_real = os.geteuid() == 0 and mount("-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder))

    def fill(self, running: Running) -> None:
        if not self.is_real:
            self.limit(running, 0)
            return
        with (self.folder / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
            for size in (2**20, 2**12, 1):
                with suppress(OSError):
                    while ballast.write(bytes(size)):
                        pass

    def free(self, running: Running) -> None:
        if self.is_real:
            (self.folder / "ballast").unlink()
        else:
            self.limit(running, resource.RLIM_INFINITY)

    def limit(self, running: Running, size: int) -> None:
        for pid in running.processes():
            with suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def read_only(self) -> None:
        if self.is_real:
            assert mount("-o", "remount,ro", str(self.folder))
        else:
            self.allow(folders=0o500, files=0o400)

    def allow(self, folders: int, files: int) -> None:
        # From above where rights come, so that what lies below can be reached; from below where they go.
        paths = sorted([self.folder, *self.folder.rglob("*")], reverse=not folders & 0o200)
        for path in paths:
            path.chmod(folders if path.is_dir() else files)

    def close(self) -> None:
        if self.is_real:
            subprocess.run(["umount", "-l", str(self.folder)], check=True, timeout=60)
        else:
            self.allow(folders=0o700, files=0o600)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    made = Disk(tmp_path / "disk")
    yield made
    made.close()


def manage(home: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_full_disk_refuses_with_a_sentence_and_loses_nothing(
    hand: Killer, disk: Disk, tmp_path: Path
) -> None:
    home = disk.folder / "data"
    copy(hand.folder / "template", home)
    with oneclaw(home) as running:
        visitor = Visitor(running, home, random.Random(1))
        visitor.log_in()
        visitor.say()
        visitor.add()
        # While there is room: the journal is on the same disk.
        disk.fill(running)
        refused = []
        for step in (visitor.say, visitor.add, visitor.say, visitor.add):
            with suppress(OSError):  # of the journal
                try:
                    step()
                except Refused as refusal:
                    refused.append(str(refusal))
        assert refused
        for sentence in refused:
            assert "nothing can be saved" in sentence or "could not be written" in sentence, sentence
        health = running.health()
        assert health["status"] == "degraded"
        assert health["disk"] in ("full", "not writable")
        assert "nothing can be saved" in health["reason"]
        for page in ("/", "/memory/", "/memory/logs/", "/settings/profile/"):
            answer = visitor.client.get(page)
            assert answer.status_code == 200, (page, answer.text)
        backup = manage(home, "backup", str(tmp_path / "saved.zip"))
        assert backup.returncode == 0, backup.stderr
        disk.free(running)
        visitor.say()
        visitor.add()
        running.wait_until(lambda: running.health()["disk"] != "full")
        known = {*datafolder.KEPT, *datafolder.MADE_ANEW, "journal.jsonl", "up.log"}
        assert {path.name for path in home.iterdir()} <= known, "not kept, and not made anew"
    problems = hand.inspect(home)
    assert not problems, "\n".join(problems)


# On PostgreSQL, whose rows lie elsewhere: tests/oneclaw/postgres/test_reaching.py and test_faults.py.
@pytest.mark.sqlite
def test_a_disk_that_went_read_only_is_said_and_can_be_backed_up(
    hand: Killer, disk: Disk, tmp_path: Path
) -> None:
    home = disk.folder / "data"
    shutil.copytree(hand.folder / "template", home)
    assert hand.live(home, "7", lines=4000)  # killed, so that SQLite's log is still beside it
    disk.read_only()
    started = manage(home, "up", "--port", "0")
    assert started.returncode != 0
    said = started.stderr
    assert "can't be written to" in said or "can't be used" in said
    assert "Traceback" not in said
    saved = manage(home, "backup", str(tmp_path / "saved.zip"))
    assert saved.returncode == 0, saved.stderr
    again = tmp_path / "again"
    restored = manage(again, "restore", str(tmp_path / "saved.zip"))
    assert restored.returncode == 0, restored.stderr
    shutil.copyfile(home / "journal.jsonl", again / "journal.jsonl")
    problems = hand.inspect(again)
    assert not problems, "\n".join(problems)
    told = manage(home, "memory", "status", "--user", "ada")
    assert "Traceback" not in told.stderr


def spoil(database: Path) -> None:
    """Every page after the first few, as a failing disk may return them."""
    with database.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        for at in range(4 * 4096, size, 4096):
            file.seek(at)
            file.write(b"\xa5" * 2048)


@pytest.mark.sqlite
def test_a_spoilt_database_is_said_and_a_backup_brings_all_back(hand: Killer, tmp_path: Path) -> None:
    with hand.installation("spoilt") as home:
        hand.live(home, "3", lines=8000)
        assert not hand.inspect(home)
        kept = tmp_path / "kept.zip"
        assert manage(home, "backup", str(kept)).returncode == 0
        memory = (home / "memory" / "ada" / "MEMORY.md").read_text()
        for name in datafolder.SIDECARS:
            (home / name).unlink(missing_ok=True)
        spoil(home / "db.sqlite3")
        for command in (["up", "--port", "0"], ["backup", str(tmp_path / "no.zip")]):
            told = manage(home, *command)
            assert told.returncode != 0
            assert "Traceback" not in told.stderr, told.stderr
            assert "malformed" in told.stderr or "damaged" in told.stderr
        assert not (tmp_path / "no.zip").exists()
        assert (home / "memory" / "ada" / "MEMORY.md").read_text() == memory
        restored = manage(home, "restore", str(kept))
        assert restored.returncode == 0, restored.stderr
        problems = hand.inspect(home)
        assert not problems, "\n".join(problems)


def test_without_its_key_everything_but_the_sealed_is_there(hand: Killer) -> None:
    with hand.installation("keyless") as home:
        hand.live(home, "5", lines=8000)
        assert not hand.inspect(home)
        sealed = "from chat.models import Provider; p = Provider.objects.get(); p.set_key('sk-1'); p.save()"
        assert manage(home, "shell", "-c", sealed).returncode == 0
        (home / "secret.key").unlink()
        # A server may be another installation's, and another key a sign of it: there it must be said.
        said = ["--new-key"] if is_postgres() else []
        with oneclaw(home, *said) as running:
            visitor = Visitor(running, home, random.Random(5))
            visitor.log_in()
            assert "f1" in visitor.client.get("/memory/").text or "m1" in visitor.client.get("/").text
            page = visitor.client.get("/settings/providers/").text
            visitor.words = 1000
            visitor.say()
            ends = time.monotonic() + 60
            while "enter it again" not in visitor.client.get(f"/chat/{visitor.chats[-1]}/").text:
                assert time.monotonic() < ends, page
                time.sleep(0.2)
