"""Chains of lives ended by kill -9, each decided by its seed: the side that the test sees."""

import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import running
from tests.faults import world
from tests.limits import Mortal, line_of
from tests.modelserver import ModelServer, Script
from tests.running import ROOT, environment

CHAIN = 5  # rounds in one installation
# Every life is ended by the process that forked it; that one, too, must answer.
PATIENCE = 120.0
LEAST_LINES, MOST_LINES, MOST_SECONDS = 5, 20_000, 1.5


class Killer:
    """Prepares installations, lets lives run in them, ends them, and has what they left inspected."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = ModelServer()
        self.model.default = Script(function=world.answer)
        # A folder of its own for what settings make at once, and quiet: what goes wrong is found by looking.
        settings = {"DJANGO_SETTINGS_MODULE": "oneclaw.settings", "ONECLAW_LOG_LEVEL": "ERROR"}
        (folder / "own" / "static").mkdir(parents=True)
        with self.log_file.open("wb") as said:
            self.process = Mortal[bytes](
                [sys.executable, "-m", "tests.faults.lives"],
                cwd=ROOT,
                env=environment(folder / "own", **settings),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
            )
        made = self.ask(do="prepare", folder=str(folder / "template"), model_url=self.model.base_url())
        assert made["status"] == 0, self.log

    def close(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(20)
            raise
        finally:
            self.process.stdout.close()
            self.model.close()

    def ask(self, **command: Any) -> dict[str, Any]:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()
        try:
            line = line_of(self.process, PATIENCE)
        except AssertionError as error:
            raise AssertionError(f"No answer to {command}: {error}\n{self.log}") from None
        answer: dict[str, Any] = json.loads(line)
        return answer

    @property
    def log_file(self) -> Path:
        return self.folder / "lives.log"

    @property
    def log(self) -> str:
        return self.log_file.read_text(errors="replace")[-4000:]

    @contextmanager
    def installation(self, name: str) -> Iterator[Path]:
        home = self.folder / name
        running.copy(self.folder / "template", home)
        yield home
        running.remove(home)

    def live(self, home: Path, seed: str, **how: float) -> bool:
        """One life; whether it was killed rather than came to its end."""
        status = self.ask(do="live", folder=str(home), seed=seed, **how)["status"]
        assert status in (0, -9), f"The life {seed} ended with {status}.\n{self.log}"
        return bool(status)

    def inspect(self, home: Path) -> list[str]:
        """What is not as it must be, after recovery."""
        problems: list[str] = self.ask(do="inspect", folder=str(home))["problems"]
        return problems

    def chain(self, seed: int) -> int:
        """Lives one after the other in a new installation, all decided by the seed; how many were killed."""
        dice, killed = random.Random(seed), 0
        with self.installation(f"seed-{seed}") as home:
            for number in range(CHAIN):
                how = moment(dice)
                killed += self.live(home, f"{seed}.{number}", **how)
                problems = self.inspect(home)
                told = f"FAULTS_SEED={seed}, round {number}, killed after {how}"
                assert not problems, f"{told}:\n" + "\n".join(problems)
        return killed


def moment(dice: random.Random) -> dict[str, float]:
    """When to kill: at a line of code, which a replay meets again, or after a time, be it inside a call."""
    if dice.random() < 0.75:
        return {"lines": int(math.exp(dice.uniform(math.log(LEAST_LINES), math.log(MOST_LINES))))}
    return {"seconds": round(dice.uniform(0.01, MOST_SECONDS), 3)}


def seeds(rounds: int, share: int = 1) -> list[int]:
    """One a chain. FAULTS_SEED replays a single one; SOAK_ROUNDS asks for more, or a share of so many."""
    if replayed := os.environ.get("FAULTS_SEED"):
        return [int(replayed)]
    wanted = int(os.environ.get("SOAK_ROUNDS") or 0) // share
    first = int(os.environ.get("SOAK_SEED") or 1)
    return list(range(first, first - (-max(rounds, wanted) // CHAIN)))


@contextmanager
def killer() -> Iterator[Killer]:
    """In memory where that can be had: a kill is no power cut, so what a disk would do tells nothing."""
    fast = Path("/dev/shm")
    where = fast if os.access(fast, os.W_OK) and shutil.disk_usage(fast).free > 2**30 else None
    with tempfile.TemporaryDirectory(prefix="oneclaw-kills-", dir=where) as folder:
        made = Killer(Path(folder))
        try:
            yield made
        finally:
            made.close()
