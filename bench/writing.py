"""What writing memory costs beyond the model's own time: a flush of 50 messages, and a trigger.

Everything is in a temporary folder and a process of its own.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUMMARY = "## Daily Summary\n- Compared trains and planes\n\n## Long-term Facts\n- [notes] Note {0}\n"
MEASURE = """
import json, statistics, sys, time
from uuid import uuid4
import django; django.setup()
from chat.models import AiModel, Message, Provider, Session
from memory.index import backfill
from memory.manager import MemoryManager
from memory.triggers import MemoryTriggers
from people.models import User
user = User.objects.create_user("bench")
memory = MemoryManager(user)
provider = Provider.objects.create(name="Bench", kind="openai", base_url=sys.argv[1])
AiModel.objects.create(provider=provider, name="bench", is_default=True)
def timed(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
def flush(turn):
    chat = Session.objects.create(owner=user)
    Message.objects.bulk_create(
        Message(session=chat, type=("user", "ai_response")[n % 2], content=f"{turn}, {n}: " + "word " * 40)
        for n in range(50))
    memory.refresh_index()  # as after each reply
    backfill.embed(user)
    return timed(lambda: memory.flush_daily_log(chat.id))
flush(0)
flushes = [flush(turn) for turn in range(1, 6)]
triggers = [timed(lambda: MemoryTriggers(user).on_session_end(uuid4())) for _ in range(100)]
found = {"flush_of_50_s": statistics.median(flushes), "trigger_ms": statistics.median(triggers) * 1000}
print(json.dumps(found))
"""


class AtOnce(BaseHTTPRequestHandler):
    """A model that takes no time, so that all of it is ours."""

    protocol_version = "HTTP/1.1"
    asked = 0

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        AtOnce.asked += 1
        choice = {"index": 0, "delta": {"content": SUMMARY.format(AtOnce.asked)}, "finish_reason": "stop"}
        body = f"data: {json.dumps({'choices': [choice]})}\n\ndata: [DONE]\n\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def measure() -> dict[str, float]:
    """All measures, by name."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), AtOnce)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="oneclaw-bench-") as folder:
        environment = os.environ | {"ONECLAW_DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": "oneclaw.settings"}
        address = f"http://127.0.0.1:{server.server_port}/v1"
        for command in ([str(ROOT / "manage.py"), "migrate", "-v0"], ["-c", MEASURE, address]):
            done = subprocess.run(  # noqa: S603
                [sys.executable, *command],
                env=environment,
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=True,
            )
    server.shutdown()
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return {name: round(value, 3) for name, value in found.items()}
