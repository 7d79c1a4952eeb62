"""A web server that notes for how long nobody else in it could go on: `python -m bench.watched PORT FILE`.

A thread that wants to run every few milliseconds notes, when it could not, how much processor time the
process spent meanwhile. What other programs do meanwhile does not count, so a busy machine gives the same.
"""

import os
import sys
import threading
import time
from pathlib import Path

import uvicorn

EVERY = 0.005


class Watch(threading.Thread):
    """Keeps the longest stretch of processor time since somebody last took it, in milliseconds, in a file."""

    def __init__(self, file: Path) -> None:
        super().__init__(daemon=True)
        self.file = file

    def run(self) -> None:
        longest, before = 0.0, time.process_time()
        while True:
            time.sleep(EVERY)
            held = 1000 * (time.process_time() - before)
            # The file is removed by whoever reads it.
            if held > longest or not self.file.exists():
                longest = held
                self.file.write_text(f"{longest:.0f}")
            before = time.process_time()


def main(port: int, file: Path) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")
    Watch(file).start()
    uvicorn.run("oneclaw.asgi:application", port=port, log_level="warning")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
