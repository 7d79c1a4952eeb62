"""Reads an archive in a process of its own: what it came to, and how many MB the reading took.

python -m tests.connect.archives.appetite FILE
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path

import django


def megabytes() -> int:
    """The most this process ever held; what Linux tells elsewhere counts its parent's before the start."""
    with Path("/proc/self/status").open() as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) // 2**10


def main(path: Path) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")
    django.setup()
    import ijson  # noqa: F401

    from connect.archives.reading import Archive
    from connect.archives.sources import Refused

    before, found, why = megabytes(), Counter[str](), Counter[str]()
    try:
        for item in Archive(path).items():
            found[type(item).__name__] += 1
            if reason := getattr(item, "why", ""):
                why[reason] += 1
    except Refused as error:
        why[str(error)] += 1
    sys.stdout.write(json.dumps({"megabytes": megabytes() - before, "found": found, "why": why}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
