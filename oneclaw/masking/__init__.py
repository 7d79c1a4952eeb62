"""Masking of secrets: card numbers, keys, tokens and passwords in a text read `[secret]`.

Every pattern is linear on any text: its quantifiers are possessive or bounded.
"""

from dataclasses import dataclass

from oneclaw.masking.cards import cards
from oneclaw.masking.keys import addresses, private_keys, tokens
from oneclaw.masking.passwords import named
from oneclaw.masking.secret import CARD, CONNECTION, KEY, MASK, PASSWORD, PRIVATE_KEY, Secret

__all__ = [
    "CARD",
    "CONNECTION",
    "KEY",
    "MASK",
    "PASSWORD",
    "PRIVATE_KEY",
    "Covered",
    "Secret",
    "cover",
    "kind_of_secret",
    "mask",
    "secrets_in",
]


def mask(text: str, *, keep_lines: bool = False) -> str:
    """The text with `[secret]` for each secret; with `keep_lines`, line numbers stay what they were."""
    found = secrets_in(text)
    if not found:
        return text
    parts, at = list[str](), 0
    for secret in found:
        lines = text.count("\n", secret.start, secret.end) if keep_lines else 0
        parts += [text[at : secret.start], MASK, "\n" * lines]
        at = secret.end
    return "".join([*parts, text[at:]])


@dataclass(frozen=True, slots=True)
class Covered:
    """A text with a numbered sign for each secret, for a model whose answer has to give them back."""

    text: str
    signs: dict[str, str]

    def uncovered(self, answer: str) -> str | None:
        """The answer with each secret in its place again; None unless it has every sign just once."""
        if any(answer.count(sign) != 1 for sign in self.signs):
            return None
        for sign, secret in self.signs.items():
            answer = answer.replace(sign, secret)
        return answer


def cover(text: str) -> Covered:
    """The text without its secrets, and the way back."""
    parts, at, signs = list[str](), 0, dict[str, str]()
    for secret in secrets_in(text):
        number = len(signs) + 1
        while (sign := f"[secret {number}]") in text or sign in signs:
            number += 1
        signs[sign] = text[secret.start : secret.end]
        parts += [text[at : secret.start], sign]
        at = secret.end
    return Covered("".join([*parts, text[at:]]), signs)


def kind_of_secret(text: str) -> str:
    """What the first secret in a text is, for a sentence; empty if there is none."""
    found = secrets_in(text)
    return found[0].kind if found else ""


def secrets_in(text: str) -> list[Secret]:
    """Every secret, in order and apart."""
    found = [*private_keys(text), *addresses(text), *tokens(text), *cards(text), *named(text)]
    if not found:
        return found
    apart = list[Secret]()
    for secret in sorted(found, key=lambda each: (each.start, -each.end)):
        if apart and secret.start < apart[-1].end:
            if secret.end > apart[-1].end:
                apart[-1] = Secret(apart[-1].start, secret.end, apart[-1].kind)
        else:
            apart.append(secret)
    return apart
