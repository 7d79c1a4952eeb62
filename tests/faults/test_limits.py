"""A hang is a failure with a stack, soon; and nothing that tests start outlives them."""

import ast
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.limits import Mortal, line_of
from tests.running import ROOT, alive, environment, oneclaw

HANGS = """
import threading, time

def test_waits_for_nobody():
    threading.Event().wait()

def test_swallows_what_would_end_it():
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass

def test_comes_after():
    pass
"""
LINGERS = """
import threading

def test_leaves_a_thread_behind():
    threading.Thread(target=threading.Event().wait).start()
"""


def started(folder: Path, text: str, *options: str) -> Mortal[str]:
    """Tests of their own, run as ours are."""
    file = folder / "test_these.py"
    file.write_text(text)
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT)]
    # A hang is never long here: half a second, and half a second more for who does not listen.
    short = ["-o", "timeout=0.5", "-o", "grace=0.5", "-p", "no:cacheprovider", "-p", "no:django"]
    return Mortal[str](
        [*command, *short, *options, str(file)],
        cwd=ROOT,
        env=environment(folder) | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_a_hang_of_any_kind_fails_and_the_others_run(tmp_path: Path) -> None:
    run = started(tmp_path, HANGS, "-n", "1")
    said = run.communicate(timeout=120)[0]
    assert run.returncode == 1, said
    assert "2 failed, 1 passed" in said
    assert "Timeout (>0.5s) from pytest-timeout" in said
    assert "threading.Event().wait()" in said
    # The one that could only be ended shows where it was.
    assert "in test_swallows_what_would_end_it" in said
    assert "crashed while running" in said


def test_a_run_that_can_not_end_is_ended(tmp_path: Path) -> None:
    run = started(tmp_path, LINGERS, "-o", "longest_end=10")
    said = run.communicate(timeout=120)[0]
    assert run.returncode == 1
    assert "1 passed" in said
    assert "Timeout (0:00:10)!" in said


LEAVES = """
import time
from pathlib import Path
from tests.running import launch

def test_starts(tmp_path):
    running = launch(Path({folder!r}))
    running.wait_until(lambda: running.find("manage.py worker"))
    print("pids", running.process.pid, *running.processes(), flush=True)
    time.sleep(100)
"""


def test_a_killed_run_leaves_no_oneclaw_behind(tmp_path: Path) -> None:
    run = started(tmp_path, LEAVES.format(folder=str(tmp_path / "data")), "-s", "-o", "timeout=200")
    line = ""
    while "pids " not in line:
        line = line_of(run, 60)
    pids = [int(pid) for pid in line.split("pids ")[1].split()]
    assert alive(pids) == pids
    run.kill()
    run.wait(20)
    until_gone(pids)


def until_gone(pids: list[int]) -> None:
    ends = time.monotonic() + 60
    while alive(pids):
        assert time.monotonic() < ends, "What was started goes on."
        time.sleep(0.1)


def test_oneclaw_ends_when_its_data_folder_goes(tmp_path: Path) -> None:
    with oneclaw(tmp_path / "data") as running:
        family = list(running.processes())
        log = (running.data_dir / "up.log").open()
        (tmp_path / "data").rename(tmp_path / "elsewhere")
        assert running.process.wait(60) == 0
        with log:
            assert "was removed or replaced. OneClaw stops" in log.read()
        until_gone(family)


def calls(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node, node.func.attr


def unlimited(tree: ast.AST) -> Iterator[int]:
    """Lines that wait for another process or thread for as long as it likes."""
    for call, name in calls(tree):
        bare = not call.args and not call.keywords
        if name in ("wait", "join", "communicate", "result", "readline") and bare:
            yield call.lineno
        runs = ast.unparse(call.func) in (
            "subprocess.run",
            "subprocess.check_call",
            "subprocess.check_output",
        )
        named = {keyword.arg for keyword in call.keywords}
        # Python code between fork and exec meets locks that a thread held; its parent waits for it for ever.
        if (runs and "timeout" not in named) or "preexec_fn" in named:
            yield call.lineno


def test_every_wait_in_the_tests_has_a_limit() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for line in unlimited(ast.parse(path.read_text()))
    ]
    assert not found


def test_a_wait_without_a_limit_is_found() -> None:
    text = """process.wait()
thread.join()
subprocess.run(["true"])
subprocess.run(["true"], timeout=1, preexec_fn=print)
thread.join(5)
", ".join(names)
"""
    assert list(unlimited(ast.parse(text))) == [1, 2, 3, 4]


def test_a_process_of_the_tests_is_let_go_when_it_has_ended() -> None:
    process = Mortal[bytes]([sys.executable, "-c", ""])
    assert process.wait(60) == 0
    assert process.released
    sleeper = Mortal[bytes]([sys.executable, "-c", "import time; time.sleep(100)"])
    os.kill(sleeper.pid, signal.SIGKILL)
    assert sleeper.wait(60) == -signal.SIGKILL


def test_silence_and_an_end_are_told_apart() -> None:
    silent = Mortal[str](
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with pytest.raises(AssertionError, match="said nothing"):
        line_of(silent, 0.2)
    silent.communicate("\n", timeout=60)
    ended = Mortal[str]([sys.executable, "-c", ""], stdout=subprocess.PIPE, text=True)
    with pytest.raises(AssertionError, match="is gone"):
        line_of(ended, 60)
    ended.communicate(timeout=60)
