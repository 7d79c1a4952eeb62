"""A secret in a text, and what kinds there are."""

from dataclasses import dataclass

MASK = "[secret]"

CARD = "a card number"
KEY = "a key or token"
PRIVATE_KEY = "a private key"
PASSWORD = "a password"  # noqa: S105
CONNECTION = "an address with a password in it"


@dataclass(frozen=True, slots=True)
class Secret:
    """A stretch of a text that is nobody else's business, and what it is."""

    start: int
    end: int
    kind: str
