"""Importing: a ChatGPT archive of thousands of chats, taken in by a process of its own; time and memory.

Meanwhile its owner goes on: opens the list of chats, a chat of fifty messages and Memory, and sends messages
to a scripted model.
"""

import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from django.conf import settings

from bench.chatting import FILL, Model, first_tokens, free_port, person, prepare, web

CHATS, MESSAGES = 5_000, 20
# For so many seconds pages are looked at before.
ALONE = 20.0
GOALS = {"seconds": 600, "memory_mb": 300}
# As many words as a person uses, made of syllables.
WORDS = [
    a + b + c
    for a in ("ba", "ko", "li", "mer", "tan", "su", "fro", "di")
    for b in ("ra", "no", "vel", "stu", "ki")
    for c in ("n", "s", "ta", "ler", "mo", "x", "", "wick", "ra", "li")
]
START = datetime(2023, 1, 1, 8, tzinfo=UTC)


def run(chats: int = CHATS) -> dict[str, Any]:
    """Take in an archive made for it: how long, how much memory, and what pages took meanwhile."""
    model = Model()
    with tempfile.TemporaryDirectory(prefix="oneclaw-import-") as folder:
        path = Path(folder) / "export.zip"
        write(path, chats)
        size = path.stat().st_size
        filled = prepare(folder, FILL, model.server_address[1], 0)
        environment = {**os.environ, "ONECLAW_DATA_DIR": folder}
        port, over = free_port(), threading.Event()
        with web(folder, port), person(port, filled["login"]) as client, ThreadPoolExecutor(1) as visitor:
            before = visit(client, model, filled, over, ALONE)
            meanwhile = visitor.submit(visit, client, model, filled, over)
            began = time.monotonic()
            try:
                peak, processor, out = measured(environment, "memory", "import", str(path), "--json")
                seconds = time.monotonic() - began
            finally:
                over.set()
            pages = {"before": before, "meanwhile": meanwhile.result()}
    model.shutdown()
    found = json.loads(out)["added"]
    mb = round(peak / 1024)
    return {
        "chats": found["chats"],
        "messages": found["messages"],
        "archive_mb": round(size / 2**20, 1),
        "seconds": round(seconds, 1),
        "processor_seconds": round(processor, 1),
        "messages_per_second": round(found["messages"] / seconds),
        "memory_mb": mb,
        "met": seconds < GOALS["seconds"] and mb < GOALS["memory_mb"],
        **{f"{when}_{what}": value for when, seen in pages.items() for what, value in seen.items()},
    }


def visit(
    client: httpx.Client, model: Model, filled: dict[str, Any], over: threading.Event, most: float = math.inf
) -> dict[str, int]:
    """Go round the pages and send a message, again and again, until it is over; milliseconds."""
    pages, sends, ends = list[float](), list[float](), time.monotonic() + most
    addresses = ("/", f"/chat/{filled['small']}/", "/memory/", "/memory/search/?q=words")
    while time.monotonic() < ends and not over.is_set():
        for address in addresses:
            began = time.perf_counter()
            client.get(address).raise_for_status()
            pages.append(1000 * (time.perf_counter() - began))
        sends.append(first_tokens(client, model, filled["chats"][0], 1)["send_to_provider_ms"])
    return {
        "pages": len(pages),
        "page_median_ms": round(statistics.median(pages)),
        "page_worst_ms": round(max(pages)),
        "sends": len(sends),
        "send_to_provider_ms": round(statistics.median(sends)),
        "worst_send_to_provider_ms": round(max(sends)),
    }


def write(path: Path, chats: int) -> None:
    """An export in the shape that ChatGPT's has, in numbered files of a hundred chats."""
    dice = random.Random(15)  # noqa: S311  (a bench is to be the same each time)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(0, chats, 100):
            some = [chat(at, dice) for at in range(number, min(number + 100, chats))]
            archive.writestr(f"conversations-{number // 100:03}.json", json.dumps(some))


def chat(number: int, dice: random.Random) -> dict[str, Any]:
    when = START + timedelta(hours=5 * number)
    nodes: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    nodes |= dict(messages(number, when, dice))
    return {
        "title": " ".join(dice.choices(WORDS, k=4)),
        "create_time": when.timestamp(),
        "update_time": when.timestamp(),
        "mapping": nodes,
        "current_node": f"{number}-{MESSAGES - 1}",
        "conversation_id": f"chat-{number}",
        "is_archived": False,
    }


def messages(number: int, when: datetime, dice: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    before = "root"
    for at in range(MESSAGES):
        key = f"{number}-{at}"
        words = dice.choices(WORDS, k=dice.randint(20, 90) if at % 2 else dice.randint(5, 30))
        message = {
            "id": key,
            "author": {"role": "assistant" if at % 2 else "user", "metadata": {}},
            "create_time": (when + timedelta(minutes=at)).timestamp(),
            "content": {"content_type": "text", "parts": [" ".join(words)]},
            "status": "finished_successfully",
            "weight": 1.0,
            "metadata": {"model_slug": "gpt-4o"} if at % 2 else {},
            "recipient": "all",
        }
        yield key, {"id": key, "message": message, "parent": before, "children": []}
        before = key


def measured(environment: dict[str, str], *arguments: str) -> tuple[int, float, str]:
    """The most memory a command took, in kilobytes, its seconds of the processor, and what it printed."""
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError("The import failed.")
    return usage.ru_maxrss, usage.ru_utime + usage.ru_stime, out
