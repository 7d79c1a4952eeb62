"""Settings from the environment: each has a default, and a bad value stops the start with a sentence."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured

N = TypeVar("N", int, float)
TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off", ""}


@dataclass(frozen=True, slots=True)
class Setting:
    """One ONECLAW_* variable that the code reads; the README's table is checked against these."""

    name: str
    default: str
    help: str


KNOWN: dict[str, Setting] = {}
# Read by the compose files, which hand all of .env to OneClaw.
OTHERS = ("ONECLAW_BACKUPS", "ONECLAW_DB_PASSWORD", "ONECLAW_PORTS")


def text(name: str, default: str = "", help: str = "", *, choices: tuple[str, ...] = ()) -> str:
    KNOWN[name] = Setting(name, default, help)
    value = os.environ.get(name, default).strip()
    if choices and value not in choices:
        raise ImproperlyConfigured(f"{name}={value!r}: must be one of {', '.join(map(repr, choices))}.")
    return value


def flag(name: str, default: bool, help: str = "") -> bool:
    value = text(name, "1" if default else "0", help).lower()
    if value not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name}={value!r}: must be 1 or 0.")
    return value in TRUE


def integer(name: str, default: int, help: str = "", *, least: int = 0, most: int = 2**31) -> int:
    return _number(int, "a whole number", text(name, str(default), help), name, least, most)


def decimal(name: str, default: float, help: str = "", *, least: float = 0.0, most: float = 1.0) -> float:
    return _number(float, "a number", text(name, str(default), help), name, least, most)


def _number(read: Callable[[str], N], wanted: str, value: str, name: str, least: N, most: N) -> N:
    try:
        number = read(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={value!r}: must be {wanted}.") from None
    if not least <= number <= most:
        raise ImproperlyConfigured(f"{name}={value!r}: must be a number from {least} to {most}.")
    return number


def words(name: str, default: str = "", help: str = "") -> list[str]:
    return [word for word in text(name, default, help).replace(",", " ").split() if word]


def path(name: str, default: Path, help: str = "", *, shown: str = "") -> Path:
    KNOWN[name] = Setting(name, shown or str(default), help)
    return Path(os.environ.get(name, "").strip() or default).expanduser().resolve()


def unknown() -> list[str]:
    """Variables that look like settings of OneClaw and are none."""
    return sorted(
        name for name in os.environ if name.startswith("ONECLAW_") and name not in {*KNOWN, *OTHERS}
    )
