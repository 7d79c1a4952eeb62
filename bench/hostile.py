"""What an attacker costs everyone else: texts made to be slow, and a provider that floods.

A real web process, a worker, and a model behind HTTP that answers as it is told. While one person sends or is
sent such a thing, and then opens the chat, another opens a page again and again. Besides, the web process
notes how long it computed without letting anybody else go on, which other programs' work does not change.
It all happens in a temporary folder.
"""

import json
import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from bench.chatting import ROOT, free_port, person, prepare, web

# The goals: how much longer a page may take, and what the web process may grow by.
LONGER_MS = 300
GROWTH_MB = 200
# A text is streamed in so many pieces, with a pause after each, so that it is drawn many times as it grows.
PIECES = 100
PAUSE = 0.01
# Nothing hostile is waited for any longer.
PATIENCE = 60.0
MEGABYTE = 2**20
FILL = """
import json, sys
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from chat.models import AiModel, Message, Provider, Session
from people.models import User
port, count = int(sys.argv[1]), int(sys.argv[2])
provider = Provider.objects.create(name="Bench", kind="openai", base_url=f"http://127.0.0.1:{port}/v1")
AiModel.objects.create(provider=provider, name="bench", is_default=True, supports_tools=True,
    context_window=2_000_000)
def login(user):
    store = SessionStore()
    store[SESSION_KEY] = str(user.pk)
    store[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    store[HASH_SESSION_KEY] = user.get_session_auth_hash()
    store.create()
    return store.session_key
attacker, neighbour = User.objects.create_user("attacker"), User.objects.create_user("neighbour")
chats = [str(Session.objects.create(owner=attacker, title_by="user").id) for _ in range(count)]
page = Session.objects.create(owner=neighbour, title="Fifty messages", title_by="user")
Message.objects.bulk_create(
    Message(session=page, type=("user", "ai_response")[n % 2], content=f"**{n}**: " + "words " * 40)
    for n in range(50))
print(json.dumps({"attacker": login(attacker), "neighbour": login(neighbour), "chats": chats,
    "page": str(page.id)}))
"""


def shrinking_fences() -> str:
    """Fences each shorter than the last, none of which closes another."""
    return "".join("`" * length + "\n" for length in range(400, 2, -1))


TEXTS: dict[str, str] = {
    "20,000 quotes": ">" * 20_000,
    "a fence of 18 KB": "```python\n" + " \n" * 9_000 + "```",
    "60,000 brackets": "[" * 60_000,
    "blanks after headings": ("# a" + " " * 4_000 + "b\n") * 25,
    "comments that never end": "<!-- x" * 30_000,
    "shrinking fences": shrinking_fences(),
    "190 KB of plain text": "plain words and no more " * 7_900,
    "900 KB of plain text": "plain words and no more " * 37_500,
}

# What the model says

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: its body in pieces, which may have no end, and its headers."""

    pieces: Iterable[bytes]
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0.0


def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()


def ended(finish: str = "stop") -> bytes:
    return event({}, finish) + b"data: [DONE]\n\n"


def said(text: str) -> Answer:
    step = max(1, len(text) // PIECES)
    pieces = [event({"content": text[at : at + step]}) for at in range(0, len(text), step)]
    return Answer([*pieces, ended()], pause=PAUSE)


def saying(text: str, body: Body) -> Answer:
    return said(text)


def called(*calls: tuple[str, dict[str, Any]]) -> Answer:
    deltas = (
        {"index": at, "id": f"call{at}", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for at, (name, arguments) in enumerate(calls)
    )
    return Answer([*(event({"tool_calls": [delta]}) for delta in deltas), ended("tool_calls")])


def blanks_corrected(body: Body) -> Answer:
    """An entry of 400 blanks is saved, and then corrected by `update_memory`."""
    entry = "The cat is" + " " * 400 + "grey."
    rounds = [
        called(("save_memory", {"content": entry, "category": "notes"})),
        called(("update_memory", {"old_text": entry, "new_text": "The cat is" + " " * 400 + "black."})),
    ]
    done = sum(message["role"] == "tool" for message in body["messages"])
    return rounds[done] if done < len(rounds) else said("Done.")


def bomb(body: Body) -> Answer:
    """256 MB of nothing in a quarter of a megabyte."""
    packer = zlib.compressobj(wbits=31)
    packed = b"".join(packer.compress(bytes(MEGABYTE)) for _ in range(256)) + packer.flush()
    return Answer([packed], {"Content-Encoding": "gzip"})


def large(body: Body) -> Answer:
    """64 MB in events of one megabyte, all of it thoughts, of which as much is kept as of a text."""
    thought = event({"reasoning_content": "word " * (MEGABYTE // 5)})
    return Answer(thought for _ in range(64))


def one_event(body: Body) -> Answer:
    """64 MB that are one event without an end."""
    return Answer(b'data: {"choices": "' if not at else b"x" * MEGABYTE for at in range(65))


def endless(body: Body) -> Answer:
    def words() -> Iterator[bytes]:
        word = event({"content": "word "}) * 100
        while True:
            yield word

    return Answer(words())


def many_calls(body: Body) -> Answer:
    """2,000 calls in each of three rounds."""
    rounds = sum(message["role"] == "assistant" for message in body["messages"])
    return called(*[("read_memory", {})] * 2_000) if rounds < 3 else said("Done.")


PROVIDERS: dict[str, Callable[[Body], Answer]] = {
    "gzip bomb": bomb,
    "64 MB of thoughts": large,
    "64 MB in one event": one_event,
    "endless stream": endless,
    "2,000 tool calls": many_calls,
}


class Villain(ThreadingHTTPServer):
    """A model that answers each request as `answer` says."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Speaker)
        self.answer: Callable[[Body], Answer] = partial(saying, "Hello.")
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Speaker(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Villain

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        self.close_connection = True
        answer = self.server.answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        headers = {"Content-Type": "text/event-stream", "Connection": "close"} | answer.headers
        try:
            self.send_response(200)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            for piece in answer.pieces:
                self.wfile.write(piece)
                self.wfile.flush()
                if answer.pause:
                    time.sleep(answer.pause)
        except ConnectionError:
            """OneClaw had heard enough."""


# What is measured


@dataclass(frozen=True, slots=True)
class Scene:
    """A running OneClaw, the two people and their pages."""

    folder: str
    attacker: httpx.Client
    neighbour: httpx.Client
    page: str
    villain: Villain
    pid: int
    held_file: Path

    def held(self) -> int:
        """The longest that the web process held everybody up since last asked, in ms of processor time."""
        with suppress(FileNotFoundError, ValueError):
            longest = int(self.held_file.read_text())
            self.held_file.unlink()
            return longest
        return 0

    def attack(self, chat: str, text: str) -> None:
        """Send a message, follow the reply to its end, and open the chat afterwards."""
        answer = self.attacker.post(f"/chat/{chat}/send/", data={"text": text})
        if 'sse-connect="' in answer.text:
            stream = answer.text.split('sse-connect="')[1].split('"')[0]
            ends = time.monotonic() + PATIENCE
            with self.attacker.stream("GET", stream) as response:
                for line in response.iter_lines():
                    if line == "event: close" or time.monotonic() > ends:
                        break
        self.attacker.get(f"/chat/{chat}/")

    def look(self) -> float:
        began = time.perf_counter()
        self.neighbour.get(f"/chat/{self.page}/").raise_for_status()
        return 1000 * (time.perf_counter() - began)

    def idle(self, rounds: int = 30) -> list[float]:
        times = []
        for _ in range(rounds):
            times.append(self.look())
            time.sleep(0.02)
        return times

    def meanwhile(self, chat: str, text: str) -> dict[str, Any]:
        """The neighbour's page while somebody attacks."""
        attack = threading.Thread(target=self.attack, args=(chat, text), daemon=True)
        self.held()
        began = time.perf_counter()
        attack.start()
        times = list[float]()
        while attack.is_alive() or not times:
            times.append(self.look())
            time.sleep(0.02)
        return {
            "reply": self.outcome(chat),
            "seconds": round(time.perf_counter() - began, 1),
            "pages": len(times),
            "median_ms": round(statistics.median(times)),
            "worst_ms": round(max(times)),
            "held_ms": self.held(),
        }

    def outcome(self, chat: str) -> str:
        """How the chat's run ended; a message that was not let in has none."""
        with sqlite3.connect(f"file:{self.folder}/db.sqlite3?mode=ro", uri=True) as database:
            rows = database.execute(
                "SELECT status, error_code FROM chat_run WHERE session_id = ?", [chat.replace("-", "")]
            ).fetchall()
        return " ".join(filter(None, rows[0])) if rows else "refused"

    def peak(self) -> int:
        """The most megabytes that the web process has held; where the system keeps no such figure, now."""
        status = Path(f"/proc/{self.pid}/status")
        if status.exists():
            lines = status.read_text().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) // 1024
        listing = ["ps", "-o", "rss=", "-p", str(self.pid)]
        shown = subprocess.run(listing, capture_output=True, text=True, check=True)  # noqa: S603
        return int(shown.stdout) // 1024


def texts(scene: Scene, chats: Iterator[str]) -> list[dict[str, Any]]:
    rows = []
    for name, text in TEXTS.items():
        scene.villain.answer = partial(saying, "Hello.")
        rows.append({"text": name, "way": "sent", **scene.meanwhile(next(chats), text)})
        scene.villain.answer = partial(saying, text)
        rows.append({"text": name, "way": "streamed", **scene.meanwhile(next(chats), "Go on.")})
    scene.villain.answer = blanks_corrected
    asked = "Remember that the cat is grey."
    rows.append({"text": "400 blanks, corrected", "way": "called", **scene.meanwhile(next(chats), asked)})
    return rows


def providers(scene: Scene, chats: Iterator[str]) -> list[dict[str, Any]]:
    rows, start = [], scene.peak()
    for name, answer in PROVIDERS.items():
        scene.villain.answer = answer
        row = scene.meanwhile(next(chats), "Go on.")
        # The peak only ever rises: each row has that of the rows above it in it.
        rows.append({"provider": name, **row, "start_mb": start, "peak_more_mb": scene.peak() - start})
    return rows


def run() -> dict[str, Any]:
    """Rows of both tables, and the goals."""
    villain = Villain()
    count = 2 * len(TEXTS) + len(PROVIDERS) + 3
    with tempfile.TemporaryDirectory(prefix="oneclaw-hostile-") as folder:
        filled = prepare(folder, FILL, villain.server_address[1], count)
        chats = iter(filled["chats"])
        idle, slow = in_a_new_process(folder, filled, villain, chats, texts)
        _, floods = in_a_new_process(folder, filled, villain, chats, providers)
    villain.shutdown()
    usual = statistics.median(idle)
    worst = max(row["worst_ms"] for row in slow + floods)
    held = max(row["held_ms"] for row in slow + floods)
    grown = max(row["peak_more_mb"] for row in floods)
    return {
        "texts": slow,
        "providers": floods,
        "goals": {
            "idle_median_ms": round(usual),
            "idle_worst_ms": round(max(idle)),
            "worst_longer_ms": round(worst - usual),
            "most_longer_ms": LONGER_MS,
            "pages_met": worst - usual <= LONGER_MS,
            "most_held_ms": held,
            "peak_more_mb": grown,
            "most_more_mb": GROWTH_MB,
            "memory_met": grown <= GROWTH_MB,
        },
    }


def in_a_new_process(
    folder: str,
    filled: dict[str, Any],
    villain: Villain,
    chats: Iterator[str],
    measure: Callable[[Scene, Iterator[str]], list[dict[str, Any]]],
) -> tuple[list[float], list[dict[str, Any]]]:
    """Pages with nobody else there, once an ordinary reply has loaded what replies need; then the rest."""
    port, held = free_port(), Path(folder) / "held"
    with (
        web(folder, port, ["bench.watched"], str(held)) as pid,
        worker(folder),
        person(port, filled["attacker"]) as attacker,
        person(port, filled["neighbour"]) as neighbour,
    ):
        scene = Scene(folder, attacker, neighbour, filled["page"], villain, pid, held)
        villain.answer = partial(saying, "Hello.")
        scene.meanwhile(next(chats), "Hello.")
        return scene.idle(), measure(scene, chats)


@contextmanager
def worker(folder: str) -> Iterator[None]:
    """What a OneClaw has beside its web process: the work after a reply takes processor time too."""
    command = [sys.executable, str(ROOT / "manage.py"), "worker"]
    environment = os.environ | {"ONECLAW_DATA_DIR": folder, "ONECLAW_LOG_LEVEL": "ERROR"}
    process = subprocess.Popen(command, env=environment, cwd=ROOT, start_new_session=True)  # noqa: S603
    try:
        yield
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        # With all that it started.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
