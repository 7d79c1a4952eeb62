"""Many people at once for minutes: each chats, follows the reply, ends chats and looks at pages.

A real `up` in a temporary folder with a scripted model behind HTTP, or several web processes and a worker on
PostgreSQL, where any of them gets a person's next request. Meanwhile one index is rebuilt again and again.
Figures of pages are ratios to the same machine's, measured before with nobody else there. Afterwards every
word that was said is looked for in the database.
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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from bench.chatting import ROOT, TOKEN, WORDS, Model
from bench.scratch import postgres

PAGES = ("/", "/memory/", "/memory/logs/", "/memory/search/?q=topic", "/settings/profile/")
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")
# How long a person looks at a reply before going on: far shorter than people do.
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
MIGRATE = """
from django.core.management import call_command
call_command("migrate", verbosity=0)
print("0")
"""
CHECK = """
import json, sys
from collections import Counter
from chat.models import Message
kept, answered, asked = Counter(), Counter(), {}
for chat, kind, text in Message.objects.order_by("id").values_list("session_id", "type", "content"):
    if kind == "user":
        asked[chat] = text.removeprefix("say ")
        kept[asked[chat]] += 1
    elif kind == "ai_response" and text.split() == [asked.get(chat)] * int(sys.argv[1]):
        answered[asked[chat]] += 1
said = json.load(sys.stdin)
print(json.dumps([f"{word}: kept {kept[word]} times, answered whole {answered[word]} times"
    for word in said if (kept[word], answered[word]) != (1, 1)]))
"""


class Seen:
    """What all people together have met, kept by threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pages: list[float] = []
        # What was acknowledged: each word has to be kept and answered once.
        self.said: list[str] = []
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

    def __init__(
        self,
        urls: Sequence[str],
        login: str,
        number: int,
        ends: float,
        seen: Seen,
        pause: tuple[float, float] = PAUSE,
    ) -> None:
        super().__init__(daemon=True)
        self.client = httpx.Client(
            cookies={"sessionid": login, "csrftoken": TOKEN}, headers={"X-CSRFToken": TOKEN}, timeout=60
        )
        self.dice, self.number, self.ends, self.seen = random.Random(number), number, ends, seen  # noqa: S311
        self.urls, self.pause = urls, pause
        self.chat, self.said = "", 0

    def at(self, path: str) -> str:
        """The path at any of the web processes, as behind a balancer."""
        return f"{self.dice.choice(self.urls)}{path}"

    def run(self) -> None:
        time.sleep(self.dice.uniform(0, self.pause[1]))
        while time.monotonic() < self.ends:
            try:
                self.once()
            except Exception as error:
                self.seen.fault(f"{type(error).__name__}: {error}")
            time.sleep(self.dice.uniform(*self.pause))

    def once(self) -> None:
        self.look(self.dice.choice(PAGES))
        if self.chat and self.dice.random() < 0.25:
            self.post(f"/chat/{self.chat}/end/")
            self.seen.note("flushes")
            self.chat = ""
        self.talk()

    def look(self, page: str) -> None:
        began = time.perf_counter()
        answer = self.client.get(self.at(page))
        self.seen.page(time.perf_counter() - began)
        if answer.status_code != 200:
            self.seen.fault(f"{page}: {answer.status_code}")

    def post(self, address: str, **fields: str) -> httpx.Response:
        answer = self.client.post(self.at(address), data=fields, headers={"HX-Request": "true"})
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
            page = self.client.get(self.at(f"/chat/{self.chat}/")).text
        else:
            page = self.post(f"/chat/{self.chat}/send/", text=f"say {word}").text
        with self.seen.lock:
            self.seen.said.append(word)
        if 'sse-connect="' not in page:
            self.seen.note("replies that were done before they were followed")
        else:
            page = self.follow(page.split('sse-connect="')[-1].split('"')[0])
        self.seen.note("replies")
        if " ".join([word] * WORDS) not in page or " ".join([word] * (WORDS + 1)) in page:
            self.seen.fault(f"The page does not show the reply to {word} whole, or shows more.")

    def follow(self, stream: str) -> str:
        """What the page shows when the reply has ended."""
        event, shown = "", list[str]()
        with self.client.stream("GET", self.at(stream)) as response:
            for line in response.iter_lines():
                event = line.removeprefix("event: ") if line.startswith("event: ") else event
                if event == "close":
                    break
                if event == "done" and line.startswith("data: "):
                    shown.append(line.removeprefix("data: "))
        return "\n".join(shown)


@contextmanager
def oneclaw(folder: Path, webs: int = 1) -> Iterator[tuple[list[str], list[int]]]:
    """A real `up`, or on PostgreSQL so many web processes and then a worker: addresses and processes."""
    kinds = (
        [["--port", "0"]] if webs == 1 else [["--only", "web", "--port", "0"]] * webs + [["--only", "worker"]]
    )
    logs = [folder / f"up{number}.log" for number in range(len(kinds))]
    with ExitStack() as ending:
        started = [
            ending.enter_context(up(folder, log, *kind)) for log, kind in zip(logs, kinds, strict=True)
        ]
        urls = [address(log, process) for log, process in zip(logs, started[:webs], strict=False)]
        ends = time.monotonic() + 120
        for url in urls:
            while not is_ready(url):
                if time.monotonic() > ends:
                    raise RuntimeError(
                        "\n".join(["`up` never became ready.", *(log.read_text() for log in logs)])
                    )
                time.sleep(0.5)
        yield urls, [process.pid for process in started]


@contextmanager
def up(folder: Path, log: Path, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    env = os.environ | {"ONECLAW_DATA_DIR": str(folder), "ONECLAW_STARTER": "0", "ONECLAW_DISCOVER": "0"}
    with log.open("wb") as output:
        command = [sys.executable, str(ROOT / "manage.py"), "up", *arguments]
        process = subprocess.Popen(command, env=env, cwd=ROOT, stdout=output, stderr=output)  # noqa: S603
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def address(log: Path, process: "subprocess.Popen[bytes]") -> str:
    """Where a web process says that it is."""
    ends = time.monotonic() + 120
    while not (found := ADDRESS.search(log.read_text())):
        if process.poll() is not None or time.monotonic() > ends:
            raise RuntimeError(f"`up` did not start.\n{log.read_text()}")
        time.sleep(0.2)
    return f"http://127.0.0.1:{found[1]}"


def is_ready(url: str) -> bool:
    with suppress(httpx.TransportError):
        return bool(httpx.get(f"{url}/healthz", timeout=30).json()["worker"] == "ok")
    return False


def resident(pids: Sequence[int]) -> dict[str, int]:
    """Megabytes of each `up` and its own children, by a word of their command."""
    listing = ["ps", "-axwwo", "pid=,ppid=,rss=,command="]
    shown = subprocess.run(listing, capture_output=True, text=True, check=True, timeout=60)  # noqa: S603
    rows = [line.split(None, 3) for line in shown.stdout.splitlines()]
    family, sizes = set(pids), Counter[str]()
    for _ in range(4):
        family |= {int(row[0]) for row in rows if int(row[1]) in family}
    for row in rows:
        if int(row[0]) in family:
            words = ("server.web", "worker", "modelserver", "warden")
            sizes[next((word for word in words if word in row[3]), "up")] += int(row[2]) // 1024
    return dict(sizes)


def p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1] if len(times) > 1 else sum(times)


def idle(urls: Sequence[str], login: str, rounds: int = 20) -> list[float]:
    """The same pages for one person, with nobody else there."""
    seen = Seen()
    alone = Visitor(urls, login, 0, 0, seen)
    for number in range(rounds * len(PAGES)):
        alone.look(PAGES[number % len(PAGES)])
    return seen.pages[len(PAGES) :]


def rebuild(urls: Sequence[str], login: str, ends: float, seen: Seen) -> None:
    owner = Visitor(urls, login, 0, ends, seen)
    while time.monotonic() < ends:
        with suppress(httpx.TransportError):
            owner.post("/memory/stats/rebuild/")
            seen.note("rebuilds")
        time.sleep(20)


def script(folder: Path, code: str, *arguments: object, told: str = "") -> Any:
    """What a script prints as JSON, run in a process of its own on this data folder."""
    env = os.environ | {"ONECLAW_DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "oneclaw.settings"}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", f"import django; django.setup()\n{code}", *map(str, arguments)],
        env=env,
        cwd=ROOT,
        check=True,
        input=told,
        stdout=subprocess.PIPE,
        text=True,
        timeout=600,
    )
    return json.loads(done.stdout.splitlines()[-1])


def run(people: int, seconds: float, webs: int = 1, pause: tuple[float, float] = PAUSE) -> dict[str, Any]:
    """With more than one web process on a PostgreSQL of its own."""
    if webs == 1:
        return _run(people, seconds, webs, pause)
    with postgres("load") as url:
        kept, os.environ["ONECLAW_DATABASE_URL"] = (
            os.environ.get("ONECLAW_DATABASE_URL", ""),
            url.format("load"),
        )
        try:
            return _run(people, seconds, webs, pause)
        finally:
            os.environ["ONECLAW_DATABASE_URL"] = kept


def _run(people: int, seconds: float, webs: int, pause: tuple[float, float]) -> dict[str, Any]:
    model = Model()
    with tempfile.TemporaryDirectory(prefix="oneclaw-load-") as name:
        folder = Path(name)
        script(folder, MIGRATE)
        logins: list[str] = script(folder, FILL, model.server_address[1], people)
        with oneclaw(folder, webs) as (urls, pids):
            alone = idle(urls, logins[0])
            seen, memory = Seen(), [resident(pids)]
            ends = time.monotonic() + seconds
            visitors = [
                Visitor(urls, login, number, ends, seen, pause) for number, login in enumerate(logins)
            ]
            threads = [*visitors, threading.Thread(target=rebuild, args=(urls, logins[0], ends, seen))]
            for thread in threads:
                thread.start()
            while time.monotonic() < ends:
                time.sleep(min(seconds / 12, 10))
                memory.append(resident(pids))
            for thread in threads:
                thread.join(120)
            health = [httpx.get(f"{url}/healthz", timeout=60).json()["status"] for url in urls]
        wrong = script(folder, CHECK, WORDS, told=json.dumps(seen.said))
        logs = "\n".join(log.read_text() for log in sorted(folder.glob("up*.log")))
    web = [sample["server.web"] for sample in memory]
    third = max(1, len(web) // 3)
    tracebacks = logs.count("Traceback (most recent call last)")
    return {
        "people": people,
        "web_processes": webs,
        "seconds": seconds,
        "pause": list(pause),
        **seen.counts,
        "errors": len(seen.faults) + tracebacks,
        "lost_or_doubled": len(wrong),
        "first_errors": [*seen.faults[:5], *wrong[:5], *([logs[-2000:]] if tracebacks else [])],
        "health": health,
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
