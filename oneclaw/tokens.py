"""Estimated tokens of a text: four Latin characters per token (RFC-013), other scripts more."""

import re

QUARTERS = 4
# Characters that cost more than a quarter of a token, and how many quarters. Tokenizers are trained mostly on
# Latin text: a Han character or a kana is about one token, a Cyrillic or Arabic letter about half of one.
DENSE = (
    (re.compile(r"[\u0250-\u07ff\u2010-\u206f]"), 2),
    (re.compile(r"[\u0800-\u200f\u2070-\uffff]"), 4),
    (re.compile(r"[\U00010000-\U0010ffff]"), 8),
)


def quarters(text: str) -> int:
    """The cost in quarter tokens, which add up without rounding."""
    if text.isascii():
        return len(text)
    return len(text) + sum((cost - 1) * len(pattern.findall(text)) for pattern, cost in DENSE)


def estimate(text: str) -> int:
    """The cost in whole tokens, rounded up."""
    return -(-quarters(text) // QUARTERS)
