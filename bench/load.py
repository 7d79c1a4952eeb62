"""Many people at once for minutes: each chats, follows the reply, ends chats and looks at pages.

A real `up` in a temporary folder with a scripted model behind HTTP. Meanwhile one index is rebuilt again and
again. Figures of pages are ratios to the same machine's, measured before with nobody else there.
"""

import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from bench.chatting import ROOT, TOKEN, Model

PAGES = ("/", "/memory/", "/memory/logs/", "/memory/search/?q=topic", "/settings/profile/")
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")
# How long a person looks at a reply before going on.
PAUSE = (1.0, 6.0)
FILL = """
import datetime, json, sys
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from chat.models import AiModel, Provider
from memory.manager import MemoryManager
from people.models import User
port, people = int(sys.argv[1]), int(sys.argv[2])
provider = Provider.objects.create(name="Load", kind="openai", base_url=f"http://127.0.0.1:{port}/v1")
AiModel.objects.create(provider=provider, name="load", is_default=True, supports_tools=False)
logins = []
for number in range(people):
    user = User.objects.create_user(f"person{number}")
    files = MemoryManager(user).files
    for day in range(3):
        lines = "\\n".join(f"- They noted thing {n} on topic {day * 31 + n}." for n in range(10))
        files.append_to_daily_log(datetime.date(2025, 1, 1) + datetime.timedelta(days=day), lines + "\\n")
    login = SessionStore()
    login[SESSION_KEY] = str(user.pk)
    login[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    login[HASH_SESSION_KEY] = user.get_session_auth_hash()
    login.create()
    logins.append(login.session_key)
print(json.dumps(logins))
"""


class Seen:
    """What all people together have met, kept by threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pages: list[float] = []
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []

    def page(self, seconds: float) -> None:
        with self.lock:
            self.pages.append(seconds)
            self.counts["pages"] += 1

    def note(self, what: str) -> None:
        with self.lock:
            self.counts[what] += 1

    def fault(self, what: str) -> None:
        with self.lock:
            self.faults.append(what)


class Visitor(threading.Thread):
    """One person until the end of the load."""

    def __init__(self, url: str, login: str, number: int, ends: float, seen: Seen) -> None:
        super().__init__(daemon=True)
        self.client = httpx.Client(
            base_url=url,
            cookies={"sessionid": login, "csrftoken": TOKEN},
            headers={"X-CSRFToken": TOKEN},
            timeout=60,
        )
        self.dice, self.number, self.ends, self.seen = random.Random(number), number, ends, seen  # noqa: S311
        self.chat, self.said = "", 0

    def run(self) -> None:
        time.sleep(self.dice.uniform(0, PAUSE[1]))
        while time.monotonic() < self.ends:
            try:
                self.once()
            except Exception as error:
                self.seen.fault(f"{type(error).__name__}: {error}")
            time.sleep(self.dice.uniform(*PAUSE))

    def once(self) -> None:
        self.look(self.dice.choice(PAGES))
        if self.chat and self.dice.random() < 0.25:
            self.post(f"/chat/{self.chat}/end/")
            self.seen.note("flushes")
            self.chat = ""
        self.talk()

    def look(self, page: str) -> None:
        began = time.perf_counter()
        answer = self.client.get(page)
        self.seen.page(time.perf_counter() - began)
        if answer.status_code != 200:
            self.seen.fault(f"{page}: {answer.status_code}")

    def post(self, address: str, **fields: str) -> httpx.Response:
        answer = self.client.post(address, data=fields, headers={"HX-Request": "true"})
        if answer.status_code not in (200, 204, 302):
            self.seen.fault(f"{address}: {answer.status_code} {answer.text[:200]}")
        return answer

    def talk(self) -> None:
        """Say something and follow the reply to its end."""
        self.said += 1
        word = f"p{self.number}w{self.said}"
        if not self.chat:
            answer = self.post("/chat/start/", text=f"say {word}")
            self.chat = answer.headers.get("HX-Redirect", "").strip("/").removeprefix("chat/")
            page = self.client.get(f"/chat/{self.chat}/").text
        else:
            page = self.post(f"/chat/{self.chat}/send/", text=f"say {word}").text
        if 'sse-connect="' not in page:
            self.seen.note("replies that were done before they were followed")
            return
        stream = page.split('sse-connect="')[-1].split('"')[0]
        whole = False
        with self.client.stream("GET", stream) as response:
            for line in response.iter_lines():
                whole = whole or line == "event: done"
                if line == "event: close":
                    break
        self.seen.note("replies")
        if not whole:
            self.seen.fault(f"The reply to {word} did not end as done.")


@contextmanager
def oneclaw(folder: Path) -> Iterator[tuple[str, int]]:
    """A real `up`: its address and its process."""
    env = os.environ | {"ONECLAW_DATA_DIR": str(folder), "ONECLAW_STARTER": "0", "ONECLAW_DISCOVER": "0"}
    log = folder / "up.log"
    with log.open("wb") as output:
        command = [sys.executable, str(ROOT / "manage.py"), "up", "--port", "0"]
        process = subprocess.Popen(command, env=env, cwd=ROOT, stdout=output, stderr=output)  # noqa: S603
    try:
        ends = time.monotonic() + 120
        while not (found := ADDRESS.search(log.read_text())):
            if process.poll() is not None or time.monotonic() > ends:
                raise RuntimeError(f"`up` did not start.\n{log.read_text()}")
            time.sleep(0.2)
        url = f"http://127.0.0.1:{found[1]}"
        while True:
            with suppress(httpx.TransportError):
                if httpx.get(f"{url}/healthz", timeout=30).json()["worker"] == "ok":
                    break
            if time.monotonic() > ends:
                raise RuntimeError(f"`up` never became ready.\n{log.read_text()}")
            time.sleep(0.5)
        yield url, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def resident(pid: int) -> dict[str, int]:
    """Megabytes of `up` and each of its own children, by a word of their command."""
    listing = ["ps", "-axwwo", "pid=,ppid=,rss=,command="]
    shown = subprocess.run(listing, capture_output=True, text=True, check=True, timeout=60)  # noqa: S603
    rows = [line.split(None, 3) for line in shown.stdout.splitlines()]
    family, sizes = {pid}, Counter[str]()
    for _ in range(4):
        family |= {int(row[0]) for row in rows if int(row[1]) in family}
    for row in rows:
        if int(row[0]) in family:
            words = ("server.web", "worker", "modelserver", "warden")
            sizes[next((word for word in words if word in row[3]), "up")] += int(row[2]) // 1024
    return dict(sizes)


def p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1] if len(times) > 1 else sum(times)


def idle(url: str, login: str, rounds: int = 20) -> list[float]:
    """The same pages for one person, with nobody else there."""
    seen = Seen()
    alone = Visitor(url, login, 0, 0, seen)
    for number in range(rounds * len(PAGES)):
        alone.look(PAGES[number % len(PAGES)])
    return seen.pages[len(PAGES) :]


def rebuild(url: str, login: str, ends: float, seen: Seen) -> None:
    owner = Visitor(url, login, 0, ends, seen)
    while time.monotonic() < ends:
        with suppress(httpx.TransportError):
            owner.post("/memory/stats/rebuild/")
            seen.note("rebuilds")
        time.sleep(20)


def run(people: int, seconds: float) -> dict[str, Any]:
    model = Model()
    with tempfile.TemporaryDirectory(prefix="oneclaw-load-") as name:
        folder = Path(name)
        env = os.environ | {"ONECLAW_DATA_DIR": name, "DJANGO_SETTINGS_MODULE": "oneclaw.settings"}
        manage = [sys.executable, str(ROOT / "manage.py")]
        subprocess.run([*manage, "migrate", "-v0"], env=env, cwd=ROOT, check=True, timeout=300)  # noqa: S603
        command = [sys.executable, "-c", f"import django; django.setup()\n{FILL}"]
        filled = subprocess.run(  # noqa: S603
            [*command, str(model.server_address[1]), str(people)],
            env=env,
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
            timeout=300,
        )
        logins: list[str] = json.loads(filled.stdout.splitlines()[-1])
        with oneclaw(folder) as (url, pid):
            alone = idle(url, logins[0])
            seen, memory = Seen(), [resident(pid)]
            ends = time.monotonic() + seconds
            visitors = [Visitor(url, login, number, ends, seen) for number, login in enumerate(logins)]
            threads = [*visitors, threading.Thread(target=rebuild, args=(url, logins[0], ends, seen))]
            for thread in threads:
                thread.start()
            while time.monotonic() < ends:
                time.sleep(min(seconds / 12, 10))
                memory.append(resident(pid))
            for thread in threads:
                thread.join(120)
            health = httpx.get(f"{url}/healthz", timeout=60).json()
        log = (folder / "up.log").read_text()
    web = [sample["server.web"] for sample in memory]
    third = max(1, len(web) // 3)
    tracebacks = log.count("Traceback (most recent call last)")
    return {
        "people": people,
        "seconds": seconds,
        **seen.counts,
        "errors": len(seen.faults) + tracebacks,
        "first_errors": [*seen.faults[:5], *([log[-2000:]] if tracebacks else [])],
        "health": health["status"],
        "page_p95_ms": round(1000 * p95(seen.pages)),
        "page_p95_idle_ms": round(1000 * p95(alone)),
        "page_p95_ratio": round(p95(seen.pages) / p95(alone), 1),
        # Of the last third to the middle one: what is loaded once has been loaded by then.
        "web_memory_mb": [web[0], *web[third::third]],
        "web_memory_growth": round(
            statistics.mean(web[-third:]) / statistics.mean(web[third : 2 * third]), 2
        ),
        "memory_mb": memory[-1],
    }
