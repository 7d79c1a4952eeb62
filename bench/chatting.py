"""How fast the chat is: a real web process, a scripted model behind HTTP, clocks at both ends.

Everything happens in a temporary folder.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parent.parent
TOKEN = "b" * 32
# The scripted model says the last word that it was told so many times.
WORDS = 40
FILL = """
import sys, datetime
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from chat.models import AiModel, Message, Provider, Session
from people.models import User
port, chunks = int(sys.argv[1]), int(sys.argv[2])
user = User.objects.create_superuser("bench")
provider = Provider.objects.create(name="Bench", kind="openai", base_url=f"http://127.0.0.1:{port}/v1")
AiModel.objects.create(provider=provider, name="bench", is_default=True, supports_tools=False)
def chat(count):
    session = Session.objects.create(owner=user, title=f"{count} messages", title_by="user")
    Message.objects.bulk_create(
        Message(session=session, type=("user", "ai_response")[n % 2], content=f"**{n}**: " + "words " * 40)
        for n in range(count))
    return str(session.id)
chats = [str(Session.objects.create(owner=user, title_by="user").id) for _ in range(101)]
small, large = chat(50), chat(5000)
if chunks:
    from memory.manager import MemoryManager
    manager = MemoryManager(user)
    first = datetime.date(2025, 1, 1)
    for day in range(chunks // 20):
        lines = "\\n".join(f"- On day {day} they noted thing {n} on topic {day * 31 + n}." for n in range(20))
        manager.files.append_to_daily_log(first + datetime.timedelta(days=day), lines + "\\n")
    manager.rebuild_index()
login = SessionStore()
login[SESSION_KEY] = str(user.pk)
login[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
login[HASH_SESSION_KEY] = user.get_session_auth_hash()
login.create()
import json
print(json.dumps({"login": login.session_key, "chats": chats, "small": small, "large": large}))
"""


class Model(ThreadingHTTPServer):
    """Streams an answer of a few words, and notes when it was asked and when it began to speak."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, thinks: float = 0.4) -> None:
        super().__init__(("127.0.0.1", 0), Speaker)
        self.thinks = thinks
        self.asked: dict[str, float] = {}
        self.spoke: dict[str, float] = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Speaker(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Model

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        now = time.perf_counter()
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        word = body["messages"][-1]["content"].split()[-1]
        self.server.asked[word] = now
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        time.sleep(self.server.thinks)
        for number in range(WORDS):
            chunk = {"choices": [{"index": 0, "delta": {"content": f"{word} "}}]}
            self.server.spoke.setdefault(word, time.perf_counter())
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()
            time.sleep(0.02 if number else 0.1)
        self.wfile.write(b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n')
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


UVICORN = ("uvicorn", "oneclaw.asgi:application", "--log-level", "warning", "--port")


@contextmanager
def web(folder: str, port: int, server: Sequence[str] = UVICORN, *more: str) -> Iterator[int]:
    """The web server alone, run as a module; its process."""
    environment = os.environ | {"ONECLAW_DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": "oneclaw.settings"}
    command = [sys.executable, "-m", *server, str(port), *more]
    process = subprocess.Popen(command, env=environment, cwd=ROOT)  # noqa: S603
    try:
        for _ in range(300):
            try:
                httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=5)
                break
            except httpx.TransportError:
                time.sleep(0.1)
        yield process.pid
    finally:
        process.terminate()
        process.wait(20)


def prepare(folder: str, fill: str, *arguments: int) -> dict[str, Any]:
    """A new data folder, filled by a script in a process of its own; what the script prints."""
    environment = os.environ | {"ONECLAW_DATA_DIR": folder, "ONECLAW_LOG_LEVEL": "ERROR"}
    manage = [sys.executable, str(ROOT / "manage.py")]
    subprocess.run([*manage, "migrate", "-v0"], env=environment, cwd=ROOT, check=True)  # noqa: S603
    subprocess.run(  # noqa: S603
        [*manage, "collectstatic", "-v0", "--noinput"], env=environment, cwd=ROOT, check=True
    )
    script = f"import django; django.setup()\n{fill}"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script, *map(str, arguments)],
        env=environment | {"DJANGO_SETTINGS_MODULE": "oneclaw.settings"},
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    filled: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return filled


def free_port() -> int:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as free:
        return int(free.server_address[1])


def person(port: int, login: str) -> httpx.Client:
    """Somebody logged in, whose requests are those of the page's own script."""
    return httpx.Client(
        base_url=f"http://127.0.0.1:{port}",
        cookies={"sessionid": login, "csrftoken": TOKEN},
        headers={"X-CSRFToken": TOKEN, "HX-Request": "true"},
        timeout=60,
        limits=httpx.Limits(max_connections=200),
    )


def first_tokens(client: httpx.Client, model: Model, chat: str, rounds: int) -> dict[str, float]:
    """Milliseconds from the provider's first byte to the page's, and from sending to asking the provider."""
    after, before = [], []
    for number in range(rounds):
        word = f"word{number}x"
        sent = time.perf_counter()
        answer = client.post(f"/chat/{chat}/send/", data={"text": f"say {word}"})
        stream = answer.text.split('sse-connect="')[1].split('"')[0]
        with client.stream("GET", stream) as response:
            seen = False
            for line in response.iter_lines():
                if not seen and word in line and line.startswith("data: "):
                    after.append(time.perf_counter() - model.spoke[word])
                    seen = True
                if line == "event: close":
                    break
        before.append(model.asked[word] - sent)
    return {
        "first_token_added_ms": 1000 * statistics.median(after),
        "send_to_provider_ms": 1000 * statistics.median(before),
    }


def say(client: httpx.Client, chat: str, word: str) -> None:
    client.post(f"/chat/{chat}/send/", data={"text": f"say {word}"})


def at_once(client: httpx.Client, folder: str, chats: list[str]) -> dict[str, float]:
    """A hundred replies together: how long, how many whole, and how the pages answer meanwhile."""
    began = time.perf_counter()
    threads = [threading.Thread(target=say, args=(client, chat, f"n{n}n")) for n, chat in enumerate(chats)]
    for thread in threads:
        thread.start()
    pages, whole = [], 0
    while whole < len(chats) and time.perf_counter() - began < 120:
        asked = time.perf_counter()
        client.get(f"/chat/{chats[0]}/")
        pages.append(time.perf_counter() - asked)
        time.sleep(0.2)
        whole = sum(finished(folder, chat, f"n{n}n") for n, chat in enumerate(chats))
    return {
        "replies_at_once": len(chats),
        "whole": whole,
        "seconds": time.perf_counter() - began,
        "page_median_ms": 1000 * statistics.median(pages),
        "page_worst_ms": 1000 * max(pages),
    }


def finished(folder: str, chat: str, word: str) -> bool:
    import sqlite3

    with sqlite3.connect(f"file:{folder}/db.sqlite3?mode=ro", uri=True) as database:
        rows = database.execute(
            "SELECT m.content FROM chat_message m JOIN chat_run r ON r.id = m.run_id "
            "WHERE m.session_id = ? AND m.type = 'ai_response' AND r.status = 'done'",
            [chat.replace("-", "")],
        ).fetchall()
    return any(content.strip() == f"{word} " * 39 + word for (content,) in rows)


def opening(client: httpx.Client, chat: str) -> float:
    """Milliseconds to open a chat, median of fifteen."""
    times = []
    for _ in range(15):
        began = time.perf_counter()
        client.get(f"/chat/{chat}/").raise_for_status()
        times.append(time.perf_counter() - began)
    return 1000 * statistics.median(times)


def run(rounds: int = 15, chunks: int = 0) -> dict[str, float]:
    """All measures, by name."""
    model = Model()
    with tempfile.TemporaryDirectory(prefix="oneclaw-bench-") as folder:
        filled = prepare(folder, FILL, model.server_address[1], chunks)
        port = free_port()
        with web(folder, port), person(port, filled["login"]) as client:
            found = first_tokens(client, model, filled["chats"][100], rounds)
            found |= at_once(client, folder, filled["chats"][:100])
            found["open_50_messages_ms"] = opening(client, filled["small"])
            found["open_5000_messages_ms"] = opening(client, filled["large"])
    model.shutdown()
    return {name: round(value, 1) for name, value in found.items()}
