"""Loaded before the settings: tests see a temporary data folder and none of the developer's variables."""

import atexit
import os
import shutil
import tempfile

for name in list(os.environ):
    if name.startswith("ONECLAW_") or name in {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"}:
        del os.environ[name]

folder = tempfile.mkdtemp(prefix="oneclaw-tests-")
os.environ["ONECLAW_DATA_DIR"] = folder
# On a busy machine memory may take its time; what it says is what tests look at.
os.environ["ONECLAW_MEMORY_SECONDS"] = "60"
os.mkdir(os.path.join(folder, "static"))
atexit.register(shutil.rmtree, folder, ignore_errors=True)
