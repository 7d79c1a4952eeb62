"""Headers that carry a key, where a key that no header can carry is an error and not a crash."""

from chat import errors
from chat.errors import ModelError


def carried(key: str) -> str:
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ModelError(errors.AUTH, "The stored API key has characters that no key has: enter it again.")
    return key


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {carried(key)}"} if key else {}


def named(name: str, key: str) -> dict[str, str]:
    return {name: carried(key)} if key else {}
