"""An update: a data folder of the first version, with tasks still queued, goes on under this one.

`first_version.zip` is a backup that the first version made: one account ("ada"), one chat that is due for the
daily log, and three queued tasks: its flush, a rebuild of the index and the embedding of new chunks.
"""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.memory.conftest import summary
from tests.modelserver import ModelServer
from tests.running import ROOT, environment, oneclaw

# The first version had nothing but SQLite.
pytestmark = pytest.mark.sqlite
BACKUP = Path(__file__).with_name("first_version.zip")
DAY = "2026-11-17"
QUEUED = {"memory.tasks.flush_session", "memory.tasks.rebuild_index", "memory.waiting.embed_for"}


def test_an_installation_of_the_first_version_goes_on(tmp_path: Path, model_server: ModelServer):
    data = tmp_path / "data"
    restored = subprocess.run(
        [sys.executable, "manage.py", "restore", str(BACKUP)],
        cwd=ROOT,
        env=environment(data),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert restored.returncode == 0, restored.stderr
    model_server.default = summary("Keeps bees in Bristol", "- [preferences] Prefers tea without milk")
    memory = data / "memory" / "ada"
    with oneclaw(
        data,
        ONECLAW_PROVIDER="openai",
        ONECLAW_BASE_URL=model_server.base_url(),
        ONECLAW_MODEL="scripted",
        ONECLAW_API_KEY="k",
    ) as running:

        def ended() -> dict[str, int]:
            """What the worker has done, and whether it went well."""
            with closing(sqlite3.connect(data / "db.sqlite3")) as rows:
                return dict(rows.execute("SELECT func, success FROM django_q_task"))

        running.wait_until(lambda: ended().keys() >= QUEUED)
        assert {name: well for name, well in ended().items() if name in QUEUED} == dict.fromkeys(QUEUED, 1)
        assert "- Keeps bees in Bristol" in (memory / "daily" / f"{DAY}.md").read_text(encoding="utf-8")
        assert "- Prefers tea without milk" in (memory / "MEMORY.md").read_text(encoding="utf-8")
        found = json.loads(running.manage("memory", "search", "who keeps bees?", "--user", "ada", "--json"))
        assert {hit["source_type"] for hit in found["results"]} >= {"daily_log", "transcript"}
