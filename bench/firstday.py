"""How soon a fresh OneClaw answers without a key, and what that costs: a real `up`, asked over HTTP.

Everything is in a temporary folder.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
SAID = re.compile(r"data: .*<p[ >]")
PATIENCE = 120.0
ASSET = re.compile(r'(?:href|src)="(/static/[^"#?]++)')
# Seconds until the worker's processes are there and the model is loaded.
SETTLED = 20.0
HIGHLIGHTS = """
import time
import django; django.setup()
from memory import embedding
from memory.dailylog.highlights.highlights import highlights
engine = embedding.engine()
engine.embed("The model is loaded before the clock starts.")
text = "On day {0} I decided to visit town {0} with Ana. It was warm that day. What is there to see?"
texts = [text.format(n) for n in range(50)]
began = time.perf_counter()
assert highlights(texts, engine.embed_many)
print(time.perf_counter() - began)
"""


@contextmanager
def up(folder: str, starter: str = "1") -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    environment = os.environ | {
        "ONECLAW_DATA_DIR": folder,
        "ONECLAW_STARTER": starter,
        "ONECLAW_DISCOVER": "0",
    }
    command = [sys.executable, str(ROOT / "manage.py"), "up", "--port", "0"]
    process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True)  # noqa: S603
    try:
        assert process.stdout
        found = next(match for line in process.stdout if (match := ADDRESS.search(line)))
        yield found[0], process
    finally:
        process.terminate()
        process.wait(30)


def first_token(url: str) -> None:
    """Make the account, say hello, and follow the answer until its first word."""
    with httpx.Client(base_url=url, follow_redirects=True, timeout=30) as client:
        wait_for(client, "/healthz")
        fields = {
            "username": "bench",
            "password1": "correct horse battery",
            "password2": "correct horse battery",
        }
        send(client, "/setup/", "/setup/", fields)
        until = time.monotonic() + PATIENCE
        while "model-notice" not in client.get("/").text and time.monotonic() < until:
            time.sleep(0.05)
        page = send(client, "/", "/chat/start/", {"text": "Hello! Who are you?"})
        stream = page.split('sse-connect="')[1].split('"')[0]
        with client.stream("GET", stream) as answer:
            for line in answer.iter_lines():
                if SAID.match(line):
                    return
    raise RuntimeError("The starter said nothing.")


def wait_for(client: httpx.Client, path: str) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            client.get(path)
            return
        except httpx.TransportError:
            time.sleep(0.05)


def send(client: httpx.Client, page: str, path: str, fields: dict[str, str]) -> str:
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', client.get(page).text)
    assert token, f"{page} has no form"
    return client.post(path, data={"csrfmiddlewaretoken": token[1], **fields}).text


def memory_mb(folder: str) -> float:
    """What the model's process holds, as the system counts it."""
    pid = json.loads((Path(folder) / "modelserver.json").read_text())["pid"]
    command = ["ps", "-o", "rss=", "-p", str(pid)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) / 1024  # noqa: S603


def idle_mb(root: int) -> float:
    """What a process and all that it started hold, by PSS: a page that several share counts once."""
    command = ["ps", "-A", "-o", "pid=,ppid="]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    parents = {int(pid): int(parent) for pid, parent in map(str.split, listing.splitlines())}
    tree, grown = {root}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in tree} - tree
        tree, grown = tree | more, bool(more)
    total = 0
    for pid in tree:
        with suppress(OSError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def first_load_kb(url: str) -> float:
    """The first page with all that it names, as they travel."""
    with httpx.Client(base_url=url, follow_redirects=True, timeout=30) as client:
        wait_for(client, "/healthz")
        page = client.get("/")
        size = int(page.num_bytes_downloaded)
        for path in sorted(set(ASSET.findall(page.text))):
            size += int(client.get(path).num_bytes_downloaded)
    return size / 1024


def without_a_model() -> dict[str, float]:
    """A OneClaw that nobody uses, with its web process ready to embed."""
    with tempfile.TemporaryDirectory(prefix="oneclaw-bench-") as folder, up(folder, "0") as (url, process):
        found = {"first_load_kb": first_load_kb(url)}
        time.sleep(SETTLED)
        return found | {"tree_idle_mb": idle_mb(process.pid)}


def highlights_seconds(folder: str) -> float:
    environment = os.environ | {"ONECLAW_DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": "oneclaw.settings"}
    command = [sys.executable, "-c", HIGHLIGHTS]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    return float(done.stdout.splitlines()[-1])


def run() -> dict[str, float]:
    """All measures, by name."""
    with tempfile.TemporaryDirectory(prefix="oneclaw-bench-") as folder:
        began = time.perf_counter()
        with up(folder) as (url, _):
            first_token(url)
            found = {"start_to_first_token_s": time.perf_counter() - began, "starter_mb": memory_mb(folder)}
        found["highlights_of_50_s"] = highlights_seconds(folder)
    found |= without_a_model()
    return {name: round(value, 2) for name, value in found.items()}
