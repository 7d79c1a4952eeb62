"""kill -9 in the middle of `manage.py restore`: the folder holds the old data or the backup, no mixture."""

import json
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from oneclaw import datafolder
from tests.faults.kills import CHAIN, Killer, killer, seeds

# Puts SQLite's file back. On PostgreSQL the rows then go into a new database: tests/oneclaw/moving.
pytestmark = pytest.mark.sqlite
ROUNDS, SHARE = 10, 5


@pytest.fixture(scope="module")
def hand() -> Iterator[Killer]:
    with killer() as made:
        yield made


def state(home: Path) -> str:
    """Everything that people wrote: messages, history and files."""
    with closing(sqlite3.connect(home / "db.sqlite3")) as database:
        said = database.execute("SELECT id, content FROM chat_message ORDER BY id").fetchall()
        history = database.execute("SELECT id, after_digest FROM memory_revision ORDER BY id").fetchall()
    files = {
        str(path.relative_to(home)): path.read_text()
        for path in sorted((home / "memory").rglob("*.md"))
        if not path.name.startswith(".")
    }
    return json.dumps([said, history, files])


def put_back(home: Path, newer: str) -> None:
    """What was there before a restore stands aside, whole; it goes back for the next one."""
    for aside in home.glob("before-restore-*"):
        assert state(aside) == newer
        for name in (*datafolder.KEPT, *datafolder.SIDECARS):
            if (home / name).is_dir():
                shutil.rmtree(home / name)
            (home / name).unlink(missing_ok=True)
            if (aside / name).exists():
                (aside / name).rename(home / name)
        shutil.rmtree(aside)
    assert state(home) == newer


@pytest.mark.parametrize("seed", seeds(ROUNDS, share=SHARE))
def test_a_restore_that_is_killed_is_done_or_not_begun(hand: Killer, seed: int) -> None:
    dice, backup = random.Random(seed), hand.folder / f"backup-{seed}.zip"
    with hand.installation(f"restore-{seed}") as home:

        def manage(*command: str, lines: int = 0) -> dict[str, int]:
            return hand.ask(do="manage", folder=str(home), command=command, lines=lines)

        hand.live(home, f"{seed}.0", lines=8_000)
        assert not hand.inspect(home)
        assert manage("backup", str(backup))["status"] == 0
        saved = state(home)
        hand.live(home, f"{seed}.1", lines=4_000)
        assert not hand.inspect(home)
        newer = state(home)
        whole = manage("restore", str(backup))
        assert whole["status"] == 0, hand.log
        assert state(home) == saved
        put_back(home, newer)
        for number in range(CHAIN):
            # The exchange is among the last lines; unpacking and checking is most of it.
            least = whole["lines"] - 40 if number % 2 else 1
            lines = dice.randint(least, whole["lines"])
            told = f"FAULTS_SEED={seed}, restore {number} killed after {lines} of {whole['lines']} lines"
            status = manage("restore", str(backup), lines=lines)["status"]
            assert status in (0, -9), f"{told}: {status}\n{hand.log}"
            if (home / "restore.journal").exists():
                assert manage("restore", "--finish")["status"] == 0, f"{told}\n{hand.log}"
                status = 0
            # Whoever is killed before the journal has changed nothing, and after it only what it says.
            assert state(home) in ({newer, saved} if status else {saved}), told
            put_back(home, newer)
    backup.unlink()
