"""What is heavy is imported when it is needed, so that commands and pages start at once."""

import subprocess
import sys
from pathlib import Path

from tests.running import ROOT, environment

LIBRARIES = ("numpy", "onnxruntime", "tokenizers", "xllamacpp", "huggingface_hub")
# The SDK of the Model Context Protocol, and what comes with it.
HEAVY = (*LIBRARIES, "mcp", "mcp_types", "pydantic", "starlette", "opentelemetry")


def test_starting_imports_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys, django; django.setup(); import oneclaw.urls, oneclaw.server.web; "
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    told = environment(tmp_path, DJANGO_SETTINGS_MODULE="oneclaw.settings")
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, timeout=120)
    assert done.stdout == "[]\n", done.stderr
