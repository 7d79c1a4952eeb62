"""How much one answer may bring: text, thoughts, calls, what is kept for later, and how deep it nests."""

import math
from collections.abc import Iterator
from typing import Any

from chat.adapters.cleaning import Cleaner, clean
from chat.adapters.events import Event, TextDelta, ThinkingDelta

# Characters of the answer, and as many of what was thought on the way.
MOST_TEXT = 1_000_000
CUT = "\n\n[Cut here: the provider sent more than {most:,} characters.]"
MOST_CALLS = 64
# Characters of one call's arguments, and of all that is kept besides words: arguments, signatures, details.
MOST_ARGUMENTS = 50_000
MOST_KEPT = 1_000_000
DEEPEST = 32
# What a value of JSON weighs besides its letters: even an empty one takes room.
NODE = 20


class Edge:
    """One answer's events on their way in: text cleaned, and cut at the longest an answer may be."""

    def __init__(self) -> None:
        self.text = Flow()
        self.thinking = Flow()

    def take(self, event: Event) -> Iterator[Event]:
        if isinstance(event, TextDelta):
            yield from map(TextDelta, self.text.feed(event.text))
        elif isinstance(event, ThinkingDelta):
            yield from map(ThinkingDelta, self.thinking.feed(event.text))
        else:
            yield from map(ThinkingDelta, self.thinking.close())
            yield from map(TextDelta, self.text.close())
            yield event

    @property
    def is_full(self) -> bool:
        """Whether nothing more would be shown, so that the rest need not be read."""
        return self.text.is_cut


class Flow:
    """Text of one kind in clean pieces; past the limit comes a mark, and then nothing."""

    def __init__(self) -> None:
        self.cleaner = Cleaner()
        self.left = MOST_TEXT
        self.is_cut = False

    def feed(self, text: str) -> Iterator[str]:
        if not self.is_cut:
            yield from self._let_in(self.cleaner.feed(text))

    def close(self) -> Iterator[str]:
        if not self.is_cut:
            yield from self._let_in(self.cleaner.close())

    def _let_in(self, text: str) -> Iterator[str]:
        self.is_cut = len(text) > self.left
        if self.is_cut:
            yield text[: self.left] + CUT.format(most=MOST_TEXT)
        elif text:
            self.left -= len(text)
            yield text


class Pieces:
    """A text that grows piece by piece and is joined once; what exceeds the limit is dropped, and noted."""

    def __init__(self, most: int) -> None:
        self.parts: list[str] = []
        self.left = most
        self.too_long = False

    def __bool__(self) -> bool:
        return bool(self.parts)

    def add(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"{text!r:.40} is no text")
        if len(text) > self.left:
            self.too_long = True
        elif text:
            self.left -= len(text)
            self.parts.append(text)

    def __str__(self) -> str:
        return clean("".join(self.parts))


class Room:
    """The space left for what an answer asks us to keep."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self.left = most

    def take(self, value: Any) -> bool:
        """Whether a value of JSON still fits; one that nests too deep never does."""
        size = weight(value, self.left)
        if size is None or size > self.left:
            return False
        self.left -= size
        return True


def weight(value: Any, most: float = math.inf) -> int | None:
    """The size of a JSON value in characters, counted up to the limit; None if it nests too deep."""
    total, level, depth = 0, [value], 0
    while level and total <= most:
        if depth > DEEPEST:
            return None
        below: list[Any] = []
        for each in level:
            total += NODE
            if isinstance(each, str):
                total += len(each)
            elif isinstance(each, dict):
                total += sum(map(len, each))
                below.extend(each.values())
            elif isinstance(each, list):
                below.extend(each)
            if total > most:
                break
        level, depth = below, depth + 1
    return total
