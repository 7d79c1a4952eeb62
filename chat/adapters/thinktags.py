"""Thinking that a local model writes into its answer as <think>…</think>, taken apart as it streams."""

from collections.abc import Iterator

from chat.adapters.events import TextDelta, ThinkingDelta

OPEN, CLOSE = "<think>", "</think>"
# A model that begins with so many blanks begins with text: what is held back is looked at with each event.
BLANKS = 1_000


class ThinkTags:
    """Only a tag that begins the answer counts: further on it is something the model writes about."""

    def __init__(self) -> None:
        self.held = ""
        self.place = "start"

    def feed(self, text: str) -> Iterator[TextDelta | ThinkingDelta]:
        if not text:
            return
        self.held += text
        if self.place == "start":
            begun = self.held.lstrip()
            if len(begun) < len(OPEN) and OPEN.startswith(begun) and len(self.held) <= BLANKS:
                return
            self.place = "thinking" if begun.startswith(OPEN) else "text"
            self.held = begun.removeprefix(OPEN).lstrip("\n") if self.place == "thinking" else self.held
        if self.place == "thinking":
            yield from self._think()
        if self.place == "after":
            self.held = self.held.lstrip()
            self.place = "text" if self.held else "after"
        if self.place == "text" and self.held:
            yield TextDelta(self.held)
            self.held = ""

    def _think(self) -> Iterator[ThinkingDelta]:
        thought, closed, rest = self.held.partition(CLOSE)
        if closed:
            self.place, self.held = "after", rest
        else:
            keep = next((n for n in range(len(CLOSE) - 1, 0, -1) if thought.endswith(CLOSE[:n])), 0)
            thought, self.held = thought[: len(thought) - keep], thought[len(thought) - keep :]
        if thought:
            yield ThinkingDelta(thought)

    def close(self) -> Iterator[TextDelta | ThinkingDelta]:
        if self.held:
            yield ThinkingDelta(self.held) if self.place == "thinking" else TextDelta(self.held)
            self.held = ""
