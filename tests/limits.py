"""No run of the tests goes on for ever, and nothing that a killed one had started outlives it.

A test that hangs is failed by pytest-timeout, with every thread's stack. Where that does not get through (a
call that holds the interpreter, code that swallows the failure) the process is ended a minute later, and
pytest-xdist reports the test and goes on with another. So does a process that can't end when all is done.
"""

import faulthandler
import functools
import os
import subprocess
import sys
import threading
from collections.abc import Generator
from typing import IO, Any, AnyStr

import pytest

from oneclaw.server import warden

# Beyond the limit that pytest-timeout has from its settings.
GRACE, LONGEST_END = "grace", "longest_end"
STDERR = pytest.StashKey[IO[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(GRACE, "seconds after `timeout` until a process that still hangs is ended", default="60")
    parser.addini(LONGEST_END, "seconds that a process may take to end after its last test", default="120")


def pytest_configure(config: pytest.Config) -> None:
    # Of our own: while a test runs, what it writes to standard error is captured.
    config.stash[STDERR] = os.fdopen(os.dup(sys.__stderr__.fileno() if sys.__stderr__ else 2), "w")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    limit = float(item.config.getini("timeout") or 0) + float(item.config.getini(GRACE))
    faulthandler.dump_traceback_later(limit, exit=True, file=item.config.stash[STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A thread that never ends would keep the interpreter for ever."""
    # One of pytest-xdist's waits for the others when it is done, and is ended by the one that started it.
    if not hasattr(session.config, "workerinput"):
        limit = float(session.config.getini(LONGEST_END))
        faulthandler.dump_traceback_later(limit, exit=True, file=session.config.stash[STDERR])


@functools.cache
def _warden() -> "subprocess.Popen[bytes]":
    """The one that `up` has, for the tests: its pipe ends when they do."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", warden.__file__], stdin=subprocess.PIPE, start_new_session=True
    )


def _tell(line: str) -> None:
    pipe = _warden().stdin
    assert pipe
    pipe.write(f"{line}\n".encode())
    pipe.flush()


class Mortal(subprocess.Popen[AnyStr]):
    """A process, with all of its group, that does not outlive the tests, however they end."""

    released = False

    def __init__(self, *arguments: Any, **how: Any) -> None:
        super().__init__(*arguments, **{"start_new_session": True, **how})
        _tell(f"+{self.pid}")

    def poll(self) -> int | None:
        return self._noted(super().poll())

    def wait(self, timeout: float | None = None) -> int:
        code = super().wait(timeout)
        self._noted(code)
        return code

    def _noted(self, code: int | None) -> int | None:
        # Its number may be another's soon.
        if code is not None and not self.released:
            self.released = True
            _tell(f"-{self.pid}")
        return code


def line_of(process: "subprocess.Popen[Any]", seconds: float) -> Any:
    """The next line that a process says; it must come in time, and come at all."""
    assert process.stdout
    came, read = list[Any](), process.stdout.readline
    reader = threading.Thread(target=lambda: came.append(read()), daemon=True)
    reader.start()
    reader.join(seconds)
    assert came, f"The process {process.args!r} said nothing for {seconds:.0f} s."
    assert came[0], f"The process {process.args!r} is gone."
    return came[0]
