"""Markdown that still grows: blocks once finished are drawn once, only the tail is drawn again."""

import threading

from chat import markdown


class Growing:
    """The HTML of a growing text; shared by all who follow it, so that it is drawn once for all."""

    def __init__(self) -> None:
        self.closed: list[str] = []
        self.tail = ""
        self._consumed = 0
        self._drawn = -1
        self._lock = threading.Lock()

    def update(self, text: str) -> None:
        with self._lock:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
            if len(text) == self._drawn:
                return
            self._drawn = len(text)
            rest = text[self._consumed :]
            closed, self.tail = markdown.blocks(rest)
            if closed:
                self._consumed += sum(map(len, markdown.sources(rest)[: len(closed)]))
                self.closed.extend(closed)
