"""Reading a file that somebody attached: texts here, everything else in a process that may fail."""

import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from chat.attachments import kinds
from chat.attachments.kinds import FileRefused, Kind
from chat.attachments.reader import CUT, cleaned

# Characters of a file that are kept to be sent: more fits into no request.
MOST_LETTERS = 400_000
# A photo of 48 megapixels is read, and one that unpacks to gigabytes is not.
MOST_PIXELS = 50_000_000
LONGEST_SIDE = 4096
LARGEST_PICTURE = 4 * 2**20
# Seconds, also on a busy machine; the process itself has fewer of the processor's.
PATIENCE = 60
AT_ONCE = threading.BoundedSemaphore(2)
DAMAGED = "is damaged or took too long to read."
BUSY = "can't be read just now: other files are. Try again in a moment."


@dataclass(frozen=True, slots=True)
class ReadFile:
    """What was found in a file, and the file to keep."""

    path: Path
    media_type: str
    text: str = ""
    width: int | None = None
    height: int | None = None
    pages: int | None = None
    note: str = ""


def read(kind: Kind, name: str, source: Path, folder: Path) -> ReadFile:
    """What is in a file, or the reason why not."""
    if kind == Kind.TEXT:
        return text_of(name, source)
    made = folder / "made"
    found = in_a_process(kind, name, source, made)
    if kind == Kind.IMAGE:
        return ReadFile(made, found["media_type"], width=found["width"], height=found["height"])
    text = made.read_text(encoding="utf-8")
    return ReadFile(source, kinds.MEDIA_TYPES[kind], text, pages=found.get("pages"), note=found["note"])


def text_of(name: str, source: Path) -> ReadFile:
    text = cleaned(kinds.decoded(source.read_bytes()) or "")
    if not text.strip():
        raise FileRefused(f"{name} is empty.")
    note = CUT.format(MOST_LETTERS) if len(text) > MOST_LETTERS else ""
    return ReadFile(source, kinds.MEDIA_TYPES[Kind.TEXT], text[:MOST_LETTERS], note=note)


def in_a_process(kind: Kind, name: str, source: Path, target: Path) -> dict[str, Any]:
    """Have the reader read it: bounded in time, memory and number, and with nothing of our environment."""
    limits = {
        "pixels": MOST_PIXELS,
        "side": LONGEST_SIDE,
        "bytes": LARGEST_PICTURE,
        "letters": MOST_LETTERS,
        "pages": settings.PDF_PAGES,
    }
    program = [sys.executable, "-m", "chat.attachments.reader"]
    command = [*program, str(kind), str(source), str(target), json.dumps(limits)]
    if not AT_ONCE.acquire(timeout=PATIENCE):
        raise FileRefused(f"{name} {BUSY}")
    try:
        done = subprocess.run(  # noqa: S603  (our own program, no shell)
            command,
            cwd=settings.BASE_DIR,
            env={"PATH": os.defpath},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        found = json.loads(done.stdout) if done.returncode == 0 else {"refused": DAMAGED}
    except (subprocess.TimeoutExpired, ValueError):
        found = {"refused": DAMAGED}
    finally:
        AT_ONCE.release()
    if why := found.get("refused"):
        raise FileRefused(f"{name} {why}")
    return dict(found)
