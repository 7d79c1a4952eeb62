"""Supervisor: starts child processes, shows their output, restarts those that die, and leaves none behind.

It runs for as long as OneClaw does, in a process that knows nothing of Django: that saves 50 MB.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from oneclaw import datafolder
from oneclaw.server import logs, warden

FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
STABLE_AFTER = 60.0
LONGEST_LINE = 2**20
# How often a child that is not always needed is asked about.
ASK_EVERY = 2.0


@dataclass(frozen=True, slots=True)
class Child:
    """A process to keep running: its name in the output, its command, the sockets it is handed."""

    name: str
    command: tuple[str, ...]
    descriptors: tuple[int, ...] = ()
    stop_within: float = 5.0
    # A file that names what the child is to do now; nothing in it means it is not needed, another name means
    # start anew. Without one the child is always needed.
    wanted: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """All that a supervisor is told: the data folder, the open lock on it, and whom to keep running."""

    folder: str
    lock: int
    children: Sequence[Child]
    # "json" where every line of the output is an object, these here too.
    log_format: str = "plain"


class Supervisor:
    """Keeps children running until it is told to stop; each has a process group of its own."""

    def __init__(
        self,
        children: Sequence[Child],
        say: Callable[[str], None],
        trouble: Callable[[], str] = str,
        pass_on: Callable[[str, str], None] | None = None,
    ) -> None:
        self.children = children
        self.say = say
        # Shows a line of a child's, after the child's name.
        self.pass_on = pass_on or Output("plain", say).pass_on
        # Says why nothing may go on, once that is so.
        self.trouble = trouble
        self.width = max((len(child.name) for child in children), default=0)
        self.stopping = asyncio.Event()

    def run(self) -> None:
        self.warden = subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-S", warden.__file__], stdin=subprocess.PIPE, start_new_session=True
        )
        try:
            asyncio.run(self.watch())
        finally:
            assert self.warden.stdin
            self.warden.stdin.close()
            with suppress(subprocess.TimeoutExpired):  # it goes on by itself
                self.warden.wait(2 * warden.PATIENCE)

    async def watch(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.stopping.set)
        await asyncio.gather(self.look_for_trouble(), *(self.keep(child) for child in self.children))

    async def look_for_trouble(self) -> None:
        while not self.stopping.is_set():
            if reason := self.trouble():
                self.say(reason)
                self.stopping.set()
            await self.rest(ASK_EVERY)

    async def keep(self, child: Child) -> None:
        """Run the child for as long as we run, waiting longer after each early death."""
        wait = FIRST_WAIT
        while not self.stopping.is_set():
            wanted = await self.wish(child)
            if not wanted:
                await self.rest(ASK_EVERY)
                continue
            started = time.monotonic()
            try:
                how = await self.run_once(child, wanted)
            except OSError as error:
                how = error.strerror or str(error)
            if self.stopping.is_set():
                return
            if await self.wish(child) != wanted:
                wait = FIRST_WAIT
                continue
            if time.monotonic() - started > STABLE_AFTER:
                wait = FIRST_WAIT
            self.say(f"The {child.name} stopped ({how}). It restarts in {wait:.0f} s.")
            await self.rest(wait)
            wait = min(wait * 2, LONGEST_WAIT)

    async def rest(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self.stopping.wait(), seconds)

    async def wish(self, child: Child, before: str = "") -> str:
        """What the child should run now; what it ran before, if that can't be found out."""
        if not child.wanted:
            return child.name
        try:
            return await asyncio.to_thread(Path(child.wanted).read_text)
        except FileNotFoundError:
            return ""
        except (OSError, ValueError) as error:
            self.say(f"Can't tell whether the {child.name} is needed: {error}")
            return before

    async def change_of_mind(self, child: Child, wanted: str) -> None:
        while await self.wish(child, before=wanted) == wanted and not self.stopping.is_set():
            await self.rest(ASK_EVERY)

    async def run_once(self, child: Child, wanted: str = "") -> str:
        """Run the child once; returns how it ended."""
        # A pipe of our own: asyncio's counts a process as ended only when its children let go of it too.
        reading, writing = os.pipe()
        output = asyncio.create_task(self.show(child, reading))
        try:
            process = await asyncio.create_subprocess_exec(
                *child.command,
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                pass_fds=child.descriptors,
                start_new_session=True,
                env=os.environ | {"PYTHONUNBUFFERED": "1"},
            )
        finally:
            os.close(writing)
        self.tell_warden(f"+{process.pid}")
        ended = asyncio.create_task(process.wait())
        over: set[asyncio.Task[Any]] = {asyncio.create_task(self.stopping.wait())}
        if child.wanted:
            over.add(asyncio.create_task(self.change_of_mind(child, wanted)))
        try:
            await asyncio.wait({ended, *over}, return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                process.terminate()
                await asyncio.wait({ended}, timeout=child.stop_within)
        finally:
            # What the child started itself (the cluster's workers) goes with it.
            warden.send(process.pid, signal.SIGKILL)
            await ended
            self.tell_warden(f"-{process.pid}")
            for task in over:
                task.cancel()
            await asyncio.wait({output}, timeout=1.0)
            output.cancel()
        return describe(process.returncode or 0)

    async def show(self, child: Child, descriptor: int) -> None:
        """Pass the child's lines on, each with its name in front."""
        lines = asyncio.StreamReader(limit=LONGEST_LINE)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(descriptor, "rb")
        )
        try:
            while True:
                try:
                    line = await lines.readline()
                except ValueError:  # longer than any line worth showing
                    continue
                if not line:
                    return
                text = line.decode(errors="replace").rstrip()
                self.pass_on(f"{child.name:<{self.width}}", text)
        finally:
            transport.close()

    def tell_warden(self, line: str) -> None:
        assert self.warden.stdin
        try:
            self.warden.stdin.write(f"{line}\n".encode())
            self.warden.stdin.flush()
        except BrokenPipeError:
            self.say("The process that would clean up after a killed `up` is gone.")


def describe(code: int) -> str:
    """How a process ended, for people."""
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def become(task: Task) -> NoReturn:
    """Turn this process into a supervisor, with its number, its output and its open sockets."""
    for descriptor in (task.lock, *(number for child in task.children for number in child.descriptors)):
        os.set_inheritable(descriptor, True)
    sys.stdout.flush()
    sys.stderr.flush()
    told = json.dumps(asdict(task))
    os.execv(sys.executable, [sys.executable, "-m", "oneclaw.server.supervisor", told])  # noqa: S606


def write(line: str) -> None:
    # Whoever read this may be gone; OneClaw goes on.
    with suppress(BrokenPipeError):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


@dataclass(frozen=True, slots=True)
class Output:
    """What is shown: lines for people, or each as a JSON object for a program that collects logs."""

    log_format: str
    write: Callable[[str], None] = write

    def say(self, line: str, name: str = "up") -> None:
        self.write(logs.json_line(line, name) if self.log_format == "json" else line)

    def pass_on(self, name: str, line: str) -> None:
        """A child's line. One that is an object already is for a program, and names its process itself."""
        if line.startswith("{"):
            self.write(line)
        elif self.log_format == "json":
            self.say(line, name.strip())
        else:
            self.write(f"{name} | {line}")


def taken_away(folder: Path, lock: int) -> str:
    """Why OneClaw must stop: what it would write now, nobody would find again; nothing while all is well."""
    try:
        if os.path.samestat((folder / datafolder.UP_LOCK).stat(), os.fstat(lock)):
            return ""
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError:  # a disk that does not answer just now
        return ""
    return f"The data folder {folder}, or up.lock in it, was removed or replaced. OneClaw stops."


def main(told: dict[str, Any]) -> None:
    folder, lock = Path(told["folder"]), told["lock"]
    children = [
        Child(**each | {name: tuple(each[name]) for name in ("command", "descriptors")})
        for each in told["children"]
    ]
    # Only those that are meant to get a descriptor have it.
    for descriptor in (lock, *(number for child in children for number in child.descriptors)):
        os.set_inheritable(descriptor, False)
    output = Output(told["log_format"])
    try:
        Supervisor(children, output.say, lambda: taken_away(folder, lock), output.pass_on).run()
    finally:
        (folder / datafolder.UP_RUNNING).unlink(missing_ok=True)
    output.say("OneClaw has stopped.")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
