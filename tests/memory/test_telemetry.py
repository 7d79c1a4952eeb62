"""The embedding model's library keeps to itself."""

import os
import subprocess
import sys
from pathlib import Path

from tests import running

EMBED = """
import django
django.setup()
from memory.embedding import engine
assert engine().embed("Where is the spare key?") is not None
"""


def test_embedding_leaves_no_identifier_and_no_reports_to_send(tmp_path: Path):
    """ONNX Runtime makes a device id and a store of events below the home folder when it may report."""
    home = tmp_path / "home"
    home.mkdir()
    env = running.environment(tmp_path / "data") | {"DJANGO_SETTINGS_MODULE": "oneclaw.settings"}
    env = {
        name: value for name, value in env.items() if name not in ("XDG_CACHE_HOME", "ORT_DISABLE_TELEMETRY")
    }
    subprocess.run(
        [sys.executable, "-c", EMBED],
        cwd=running.ROOT,
        env=env | {"HOME": str(home), "PATH": os.environ["PATH"]},
        check=True,
        timeout=240,
    )
    assert list(home.rglob("*")) == []
