"""Code in a process of its own, on the database and files of the test, which may kill itself."""

import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings
from django.db import connection

from tests.limits import Mortal

ROOT = Path(__file__).resolve().parents[2]
PRELUDE = """
import os, pathlib, signal, sys
import django
from django.conf import settings
settings.DATABASES["default"]["NAME"] = sys.argv[1]
settings.DATA_DIR, settings.MEMORY_DIR = map(pathlib.Path, sys.argv[2:])
django.setup()
from people.models import User
ada = User.objects.get(username="ada")
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def start(code: str) -> Mortal[str]:
    return Mortal[str](
        [
            sys.executable,
            "-c",
            PRELUDE + code,
            str(connection.settings_dict["NAME"]),
            str(settings.DATA_DIR),
            str(settings.MEMORY_DIR),
        ],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "oneclaw.settings"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(code: str, expect: int = 0) -> str:
    process = start(code)
    out, err = process.communicate(timeout=120)
    assert process.returncode == expect, err
    return out
