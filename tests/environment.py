"""Loaded before the settings: tests see a temporary data folder and none of the developer's variables."""

import atexit
import os
import shutil
import tempfile

# Every write of OneClaw waits for the disk, and the tests make a hundred thousand: they go to memory's own.
MEMORY_DISK, ENOUGH = "/dev/shm", 4 << 30
if "TMPDIR" not in os.environ and os.path.isdir(MEMORY_DISK) and os.access(MEMORY_DISK, os.W_OK):
    room = os.statvfs(MEMORY_DISK)
    if room.f_bavail * room.f_frsize > ENOUGH and not room.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = MEMORY_DISK
        tempfile.tempdir = None

for name in list(os.environ):
    if name.startswith("ONECLAW_") or name in {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"}:
        del os.environ[name]

folder = tempfile.mkdtemp(prefix="oneclaw-tests-")
os.environ["ONECLAW_DATA_DIR"] = folder
# On a busy machine memory may take its time; what it says is what tests look at.
os.environ["ONECLAW_MEMORY_SECONDS"] = "60"
# `python -m tests.postgres` names a database beside which each test process makes its own.
if url := os.environ.get("TEST_DATABASE_URL"):
    os.environ["ONECLAW_DATABASE_URL"] = url
os.mkdir(os.path.join(folder, "static"))
atexit.register(shutil.rmtree, folder, ignore_errors=True)
