"""Text that gives orders to a memory or an assistant, or that forges a turn or a section of ours.

In its owner's own words an order is a wish. In text that somebody else wrote and that was pasted, quoted or
recalled, it is an attack or of no use: such a passage is neither recalled by itself nor summarised.
"""

import re
from collections.abc import Iterable
from functools import cache

from memory.speech.phrases import WORD, Phrases, phrases, plain
from memory.storage.sections import USER_REQUESTED

Order = tuple[Phrases, Phrases]
SENTENCE = re.compile(r"[^.!?…\n。！？｡]++(?:[.!?…\n。！？｡]++|\Z)")
FORGED_TURN = re.compile(
    r"^[ \t>*_#\[(]{0,12}+(?:system|assistant|developer|user|human|ai|model|tool|assistent|asistente"
    r"|utilisateur|usuario|benutzer|nutzer|系统|助手|用户|システム|アシスタント|ユーザー|ассистент|система|пользователь)"
    r"(?: (?:message|prompt|note|instructions?))?[ \t*_\])]{0,6}+[:：]",
    re.IGNORECASE | re.MULTILINE,
)
FORGED_MARK = re.compile(
    r"<\||\[/?INST\]|<</?SYS>>|</?\s?(?:system|assistant|user|human|instructions?|oneclaw|memory)\b"
    rf"|{USER_REQUESTED}",
    re.IGNORECASE,
)
FORGED_SECTION = re.compile(
    r"^[ \t>*]{0,8}+#{1,6}+[ \t]*+(?:daily summary|long-term (?:facts|memory)|relevant memories|user profile"
    r"|preferences|system|instructions?|what the user asked for)\b",
    re.IGNORECASE | re.MULTILINE,
)


def gives_orders(text: str) -> bool:
    """Whether a passage tells a machine what to do or to remember, or pretends to be a part of a prompt."""
    if FORGED_TURN.search(text) or FORGED_MARK.search(text) or FORGED_SECTION.search(text):
        return True
    said = plain(text)
    found = set(WORD.findall(said))
    possible = [order for order in _orders() if all(half.may_be_in(said, found) for half in order)]
    return bool(possible) and any(is_order(sentence[0], possible) for sentence in SENTENCE.finditer(said))


def is_order(sentence: str, orders: Iterable[Order]) -> bool:
    """Whether one sentence has both halves of an order: what to do, and whom or what it is meant for."""
    found = WORD.findall(sentence)
    return any(all(half.are_in(sentence, found) for half in order) for order in orders)


@cache
def _orders() -> tuple[Order, ...]:
    return (
        (phrases("keeping"), phrases("kept", "machine")),
        (phrases("must"), phrases("machine")),
        (phrases("henceforth"), phrases("answering")),
    )
