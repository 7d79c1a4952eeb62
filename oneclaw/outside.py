"""What comes from outside, as any database takes it: PostgreSQL has no place for NUL or half a letter."""

import math
from typing import Any

DEEPEST = 64
TOO_DEEP = "[… the rest was left out: it nests too deep]"


def number(text: str, digits: int = 18) -> int | None:
    """A whole number from outside that fits a row's id; None for anything else.

    `²` is a digit to Python but no number, `٣` is one that no page of ours writes, and more than 4,300 digits
    are an error.
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= digits else None


def plain_text(text: str) -> str:
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def plain(value: Any, deepest: int = DEEPEST) -> Any:
    """The value without what can't be stored, cut off where it nests too deep."""
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, dict | list) and deepest == 0:
        return TOO_DEEP
    if isinstance(value, dict):
        return {plain_text(str(key)): plain(each, deepest - 1) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each, deepest - 1) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
