"""How long memory takes, as a multiple of the bare model run in the same process."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from statistics import median
from typing import Any

from django.conf import settings

from bench.retrieval.made import Text, fill
from memory.embedding import MAX_PIECES, engine
from memory.index.index import Index
from memory.index.resident.shelf import Place, shelf
from memory.manager import MemoryManager
from people.models import User

LOADING = """
import json, sys, time, django
django.setup()
from memory.embedding import engine
def size():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6
before, start = size(), time.perf_counter()
engine().embed("What is loaded now?")
print(json.dumps({"load seconds": time.perf_counter() - start, "megabytes": size() - before}))
"""


class Bare:
    """Nothing but the model, fed with word pieces that are ready.

    It runs in the session it is compared with: threads of a second one would spin in the other's time.
    """

    def __init__(self, session: Any) -> None:
        from tokenizers import Tokenizer

        self.session = session
        self.tokenizer = Tokenizer.from_file(str(settings.EMBEDDING_MODEL / "tokenizer.json"))
        self.tokenizer.no_padding()

    def pieces(self, text: str) -> dict[str, Any]:
        import numpy as np

        return {"input_ids": np.array([self.tokenizer.encode(text).ids[:MAX_PIECES]], dtype=np.int64)}

    def run(self, pieces: dict[str, Any]) -> Any:
        return self.session.run(None, pieces)


def latency(sizes: Iterable[int], rounds: int) -> list[dict[str, float]]:
    """Medians in milliseconds; the ways take turns, so that a busy machine slows them all alike."""
    assert engine().is_available()
    bare, found = Bare(engine().session), []
    for size in sizes:
        text = Text()
        user = User.objects.create(username=f"speed-{size}")
        fill(user, size, text)
        memory = MemoryManager(user)
        questions = [text.question() for _ in range(rounds)]
        ways: dict[str, Callable[[str], object]] = {
            "embed": engine().embed,
            "search": memory.search_memory,
            "injection": memory.get_injection_content,
        }
        before = megabytes()
        # As in a server: the second search has it loaded by a thread that gives back what it no longer needs.
        memory.search_memory(questions[0])
        memory.search_memory(questions[0])
        start = time.perf_counter()
        shelf.wait(600)
        assert shelf.answering(user.pk).place == Place.MEMORY, shelf.answering(user.pk).reason
        row: dict[str, float] = {"chunks": size, "load s": round(time.perf_counter() - start, 2)}
        row |= {"index MB": round(shelf.answering(user.pk).megabytes, 1), "added MB": megabytes() - before}
        for way in ways.values():
            way(questions[0])
        times: dict[str, list[float]] = {name: [] for name in ("bare", *ways)}
        for question in questions:
            pieces = bare.pieces(question)
            times["bare"].append(timed(bare.run, pieces))
            for name, way in ways.items():
                times[name].append(timed(way, question))
        assert shelf.answering(user.pk).place == Place.MEMORY, shelf.answering(user.pk).reason
        row |= {f"{name} ms": round(median(taken) * 1000, 2) for name, taken in times.items()}
        base = median(times["bare"])
        row |= {f"{name} / bare": round(median(times[name]) / base, 2) for name in ways}
        # The same with the quickest of each, which says more on a machine that has other work to do.
        least = min(times["bare"])
        row |= {
            f"least {name} / bare": round(min(times[name]) / least, 2) for name in ("search", "injection")
        }
        row |= {"process MB": megabytes(), "own MB": megabytes(own=True)}
        found.append(row)
        shelf.clear()
    return found


def megabytes(*, own: bool = False) -> int:
    """What this process holds in memory; `own` leaves out pages of files, which the system may take back."""
    with open("/proc/self/statm") as file:
        _, resident, shared, *_ = map(int, file.read().split())
    return (resident - shared if own else resident) * os.sysconf("SC_PAGE_SIZE") // 1_000_000


def throughput(size: int) -> dict[str, float]:
    """Chunks a second: a rebuild from files, and the bare model with as many runs side by side as cores.

    A chunk takes two runs, in both: with its date, and alone.
    """
    text = Text(seed=2)
    said = [text.sentence(30) for _ in range(size)]
    user = User.objects.create(username="throughput")
    memory = MemoryManager(user)
    for at in range(0, size, 20):
        day = date(2026, 1, 1) + timedelta(days=at // 20)
        memory.files.append_to_daily_log(day, "\n".join(f"- {line}" for line in said[at : at + 20]))
    bare = Bare(engine().open(threads=1))
    pieces = [bare.pieces(text) for line in said for text in (f"1 January 2026: {line}", line)]

    def run_all() -> None:
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            list(pool.map(bare.run, pieces))

    first = timed(run_all)
    rebuild = timed(memory.rebuild_index)
    # Half before and half after, because other work on the machine comes and goes.
    base = (first + timed(run_all)) / 2
    return {
        "chunks": size,
        "bare chunks/s": round(size / base, 1),
        "indexed chunks/s": round(size / rebuild, 1),
        "share of bare": round(base / rebuild, 3),
    }


def loading() -> dict[str, float]:
    """Seconds and megabytes for the first embedding in a new process."""
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "oneclaw.settings"}
    out = subprocess.run(  # noqa: S603
        [sys.executable, "-c", LOADING],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        check=True,
    ).stdout
    found: dict[str, float] = json.loads(out)
    return {name: round(value, 2) for name, value in found.items()}


def timed(work: Callable[..., object], *arguments: object) -> float:
    start = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start


def refreshes(counts: Iterable[int], rounds: int) -> dict[str, float]:
    """Noticing that nothing changed, by the number of logs, and indexing one more entry."""
    found: dict[str, float] = {}
    for logs in counts:
        user = User.objects.create(username=f"refresh-{logs}")
        memory = MemoryManager(user)
        for number in range(logs):
            memory.files.append_to_daily_log(date(2016, 1, 1) + timedelta(days=number), "- A day.")
        memory.rebuild_index()
        index = Index(user)
        index.sync()
        found[f"unchanged ms, {logs} logs"] = round(
            median(timed(index.sync) for _ in range(rounds)) * 1000, 3
        )
    text, taken, bare = Text(seed=3), list[float](), list[float]()
    for _ in range(rounds):
        line = text.sentence()
        memory.files.append_to_daily_log(date(2016, 1, 1), f"- {line}")
        # Its vector is the sum of two.
        bare.append(timed(engine().embed, f"1 January 2016: {line}") + timed(engine().embed, line))
        taken.append(timed(index.sync))
    found["one entry / its embedding"] = round(median(taken) / median(bare), 2)
    return found
