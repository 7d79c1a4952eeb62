"""Provider text made safe for files, pages and the database: no half characters, no NUL."""

import math
from typing import Any


def clean(text: str) -> str:
    """The text with the two halves of a character joined, lone halves replaced and NUL left out."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "")


def clean_json(value: Any) -> Any:
    """A value of JSON with every text in it clean, keys included. The caller has looked at its depth.

    Python reads NaN and infinities, which the database does not take: they are nothing.
    """
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): clean_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [clean_json(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Cleaner:
    """Cleans text that arrives in pieces: half a character waits for its other half."""

    def __init__(self) -> None:
        self.half = ""

    def feed(self, text: str) -> str:
        text = self.half + text
        self.half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return clean(text[: len(text) - len(self.half)])

    def close(self) -> str:
        half, self.half = self.half, ""
        return clean(half)
