"""Real processes for tests of faults: a script with Django set up on the test's own data and database."""

import os
import subprocess
import sys
from pathlib import Path

from django.db import connections

from tests.limits import Mortal

ROOT = Path(__file__).resolve().parents[2]
START = """
import os, sys, signal, time, traceback
from pathlib import Path
import django
from django.conf import settings
settings.DATABASES["default"]["NAME"] = sys.argv[1]
django.setup()

def fork(work):
    # Before any connection is opened: SQLite's must not be shared by two processes.
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

def joined(pids):
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    assert not any(codes), codes
"""


def start(script: str, data_dir: Path, *arguments: str) -> Mortal[str]:
    """Run a script in a process of its own; arguments are sys.argv[2:]."""
    database = str(connections["default"].settings_dict["NAME"])
    environment = os.environ | {
        "ONECLAW_DATA_DIR": str(data_dir),
        "DJANGO_SETTINGS_MODULE": "oneclaw.settings",
        "PYTHONPATH": str(ROOT),
    }
    return Mortal[str](
        [sys.executable, "-c", START + script, database, *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(script: str, data_dir: Path, *arguments: str) -> str:
    """Run a script to its end, which must be a good one; what it printed."""
    out, err = (process := start(script, data_dir, *arguments)).communicate(timeout=240)
    assert process.returncode == 0, err
    return out
