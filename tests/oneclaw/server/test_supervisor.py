"""Children are kept running, shown, and never left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from oneclaw.server import supervisor, warden
from oneclaw.server.supervisor import Child, Supervisor, describe
from tests.running import ROOT, alive

SLEEP = "import time; time.sleep(60)"
# Starts a child of its own, says both ids, and waits.
PARENT = (
    "import os, subprocess, sys, time; "
    f"below = subprocess.Popen([sys.executable, '-c', {SLEEP!r}]); "
    "print(os.getpid(), below.pid, flush=True); time.sleep(60)"
)
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {PARENT}"


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


class Listener:
    """Hears what a supervisor says, and stops it when it has heard enough."""

    def __init__(self, *children: Child, enough: Callable[[list[str]], bool]) -> None:
        self.said: list[str] = []
        self.enough = enough
        self.supervisor = Supervisor(children, self.hear)
        self.supervisor.run()

    def hear(self, line: str) -> None:
        self.said.append(line)
        if self.enough(self.said):
            self.supervisor.stopping.set()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "FIRST_WAIT", 0.01)


def wait_for(holds: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_lines_carry_the_name_of_their_child() -> None:
    children = [
        Child("web", python(f"print('one'); {SLEEP}")),
        Child("worker", python(f"import sys; print('two', file=sys.stderr); {SLEEP}")),
    ]
    heard = Listener(*children, enough=lambda said: len(said) == 2)
    assert sorted(heard.said) == ["web    | one", "worker | two"]


def test_a_child_that_dies_is_started_again_and_that_is_said() -> None:
    heard = Listener(
        Child("web", python("print('here'); raise SystemExit(3)")), enough=lambda said: len(said) == 5
    )
    assert heard.said[0] == heard.said[2] == heard.said[4] == "web | here"
    assert heard.said[1] == "The web stopped (exit code 3). It restarts in 0 s."


def test_the_wait_grows_with_each_early_death(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "LONGEST_WAIT", 0.04)
    waits: list[float] = []

    async def remember(self: Supervisor, child: Child, wanted: str) -> str:
        waits.append(time.monotonic())
        if len(waits) == 5:
            self.stopping.set()
        return "gone"

    monkeypatch.setattr(Supervisor, "run_once", remember)
    Supervisor([Child("web", ())], lambda line: None).run()
    gaps = [after - before for before, after in pairwise(waits)]
    assert gaps[0] >= 0.01
    assert gaps[1] >= 0.02
    assert gaps[2] >= 0.04
    assert gaps[3] >= 0.04


def test_a_command_that_is_not_there_is_said() -> None:
    heard = Listener(Child("web", ("/no/such/program",)), enough=lambda said: len(said) == 1)
    assert "No such file" in heard.said[0]


@pytest.mark.parametrize("code", [PARENT, STUBBORN], ids=["willing", "stubborn"])
def test_stopping_leaves_neither_children_nor_theirs(code: str) -> None:
    heard = Listener(Child("web", python(code), stop_within=0.5), enough=lambda said: bool(said))
    pids = [int(pid) for pid in heard.said[0].split()[-2:]]
    # Killed is not yet gone: that takes the kernel a moment.
    wait_for(lambda: not alive(pids))


def test_what_a_dead_child_had_started_dies_before_it_starts_again() -> None:
    def kill(said: list[str]) -> bool:
        if len(said) == 1:
            os.kill(int(said[0].split()[-2]), signal.SIGKILL)
        return len(said) == 3

    heard = Listener(Child("worker", python(PARENT)), enough=kill)
    assert "killed by SIGKILL" in heard.said[1]
    wait_for(lambda: not alive([int(heard.said[0].split()[-1])]))


def test_a_line_without_end_stops_nothing() -> None:
    endless = f"print('x' * {supervisor.LONGEST_LINE + 5}); print('after', flush=True); {SLEEP}"
    heard = Listener(Child("web", python(endless)), enough=lambda said: said[-1] == "web | after")
    assert heard.said[-1] == "web | after"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_however_the_supervisor_ends_its_children_end_with_it(number: signal.Signals, tmp_path: Path) -> None:
    script = (
        "from oneclaw.server.supervisor import *\n"
        f"Supervisor([Child('web', (sys.executable, '-c', {STUBBORN!r}), stop_within=0.5)], print).run()"
    )
    said = tmp_path / "said"
    with said.open("w") as output:
        process = subprocess.Popen([sys.executable, "-u", "-c", script], cwd=ROOT, stdout=output)
    wait_for(said.read_text)
    pids = [int(pid) for pid in said.read_text().split()[-2:]]
    assert alive(pids) == pids
    process.send_signal(number)
    process.wait(60)
    wait_for(lambda: not alive(pids))


def test_the_warden_forgets_children_that_ended() -> None:
    warden.end(set())
    assert not warden.send(2**22 + 1, 0)


def test_an_end_is_described_for_people() -> None:
    assert describe(1) == "exit code 1"
    assert describe(-9) == "killed by SIGKILL"
