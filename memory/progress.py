"""A progress bar for commands that take time: on standard error, and only where somebody looks."""

import sys
from typing import TextIO

WIDTH = 30


class Bar:
    """Call it with how much is done of how much."""

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self.label = label
        self.stream = stream or sys.stderr
        self.shown = ""

    def __call__(self, done: int, total: int) -> None:
        if not self.stream.isatty():
            return
        share = done / total if total else 1.0
        filled = round(WIDTH * share)
        line = f"\r{self.label} [{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{total}"
        if line != self.shown:
            self.shown = line
            self.stream.write(line)
            self.stream.flush()

    def close(self) -> None:
        """End the line, if one was begun."""
        if self.shown:
            self.stream.write("\n")
            self.stream.flush()
