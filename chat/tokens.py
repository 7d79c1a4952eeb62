"""How many tokens a text may cost, near enough to decide what fits into a model's window."""

import re

from chat.adapters import Turn

WIDE = re.compile("[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
# What the frame of one message costs in any protocol.
PER_TURN = 4


def estimate(text: str) -> int:
    """About four characters of ASCII a token, two of other alphabets, one of Han, kana and Hangul."""
    if text.isascii():
        return len(text) // 4 + 1 if text else 0
    wide = len(WIDE.findall(text))
    ascii_count = len(text.encode("ascii", "ignore"))
    other = len(text) - ascii_count - wide
    return ascii_count // 4 + other // 2 + wide + 1


def of_turn(turn: Turn) -> int:
    calls = sum(estimate(call.name) + estimate(str(call.arguments)) for call in turn.tool_calls)
    results = sum(estimate(result.content) for result in turn.tool_results)
    return PER_TURN + estimate(turn.text) + calls + results
