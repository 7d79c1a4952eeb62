"""A child that is not always needed: started when it is, stopped when it is not, anew for another task."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from oneclaw.server import supervisor
from oneclaw.server.supervisor import Child, Supervisor

SLEEPER = (sys.executable, "-c", "import time; print('here', flush=True); time.sleep(60)")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "ASK_EVERY", 0.02)


class Watched:
    """A supervisor with one child whose wish the test changes."""

    def __init__(self, folder: Path, wish: str = "") -> None:
        self.file = folder / "wanted"
        self.wish(wish)
        self.said: list[str] = []
        self.it = Supervisor([Child("model", SLEEPER, wanted=str(self.file))], self.said.append)
        self.it.tell_warden = lambda line: self.said.append(f"warden {line[0]}")  # type: ignore[method-assign]

    def wish(self, what: str) -> None:
        self.file.with_suffix(".new").write_text(what)
        self.file.with_suffix(".new").replace(self.file)

    async def until(self, condition: Callable[[], bool]) -> None:
        async def wait() -> None:
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(0.01)

        await asyncio.wait_for(wait(), 20)

    def starts(self) -> int:
        return sum("here" in line for line in self.said)

    def ends(self) -> int:
        return self.said.count("warden -")


async def test_an_unwanted_child_is_not_started(tmp_path: Path):
    watched = Watched(tmp_path)
    keeping = asyncio.create_task(watched.it.keep(watched.it.children[0]))
    await asyncio.sleep(0.2)
    watched.it.stopping.set()
    await keeping
    assert watched.said == []


async def test_it_is_started_when_wanted_and_stopped_when_not(tmp_path: Path):
    watched = Watched(tmp_path)
    keeping = asyncio.create_task(watched.it.keep(watched.it.children[0]))
    watched.wish("a file")
    await watched.until(lambda: watched.starts() == 1)
    watched.wish("")
    await watched.until(lambda: watched.ends() == 1)
    watched.it.stopping.set()
    await keeping
    assert not any("stopped" in line for line in watched.said)


async def test_another_wish_starts_it_anew_without_waiting(tmp_path: Path):
    watched = Watched(tmp_path, "a file")
    keeping = asyncio.create_task(watched.it.keep(watched.it.children[0]))
    await watched.until(lambda: watched.starts() == 1)
    watched.wish("another file")
    await watched.until(lambda: watched.starts() == 2)
    watched.it.stopping.set()
    await keeping
    assert watched.ends() == 2


async def test_a_question_that_fails_changes_nothing(tmp_path: Path):
    watched = Watched(tmp_path, "a file")
    keeping = asyncio.create_task(watched.it.keep(watched.it.children[0]))
    await watched.until(lambda: watched.starts() == 1)
    watched.file.with_suffix(".bad").mkdir()
    watched.file.unlink()
    watched.file.with_suffix(".bad").rename(watched.file)
    await watched.until(lambda: any("Can't tell whether" in line for line in watched.said))
    assert watched.ends() == 0
    watched.it.stopping.set()
    await keeping


async def test_without_its_file_a_child_is_not_wanted(tmp_path: Path):
    watched = Watched(tmp_path)
    watched.file.unlink()
    keeping = asyncio.create_task(watched.it.keep(watched.it.children[0]))
    await asyncio.sleep(0.2)
    watched.it.stopping.set()
    await keeping
    assert watched.said == []
