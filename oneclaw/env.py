"""Settings from the environment: each has a default, and a bad value stops the start with a sentence."""

import os
from dataclasses import dataclass
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off", ""}


@dataclass(frozen=True, slots=True)
class Setting:
    """One ONECLAW_* variable that the code reads; the README's table is checked against these."""

    name: str
    default: str
    help: str


KNOWN: dict[str, Setting] = {}


def text(name: str, default: str = "", help: str = "", *, choices: tuple[str, ...] = ()) -> str:
    KNOWN[name] = Setting(name, default, help)
    value = os.environ.get(name, default).strip()
    if choices and value not in choices:
        raise ImproperlyConfigured(f"{name}={value!r}: choose one of {', '.join(map(repr, choices))}.")
    return value


def flag(name: str, default: bool, help: str = "") -> bool:
    value = text(name, "1" if default else "0", help).lower()
    if value not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name}={value!r}: write 1 or 0.")
    return value in TRUE


def integer(name: str, default: int, help: str = "", *, least: int = 0, most: int = 2**31) -> int:
    value = text(name, str(default), help)
    try:
        number = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={value!r}: write a whole number.") from None
    if not least <= number <= most:
        raise ImproperlyConfigured(f"{name}={value!r}: write a number from {least} to {most}.")
    return number


def decimal(name: str, default: float, help: str = "", *, least: float = 0.0, most: float = 1.0) -> float:
    value = text(name, str(default), help)
    try:
        number = float(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={value!r}: write a number.") from None
    if not least <= number <= most:
        raise ImproperlyConfigured(f"{name}={value!r}: write a number from {least} to {most}.")
    return number


def words(name: str, default: str = "", help: str = "") -> list[str]:
    return [word for word in text(name, default, help).replace(",", " ").split() if word]


def path(name: str, default: Path, help: str = "", *, shown: str = "") -> Path:
    KNOWN[name] = Setting(name, shown or str(default), help)
    return Path(os.environ.get(name, "").strip() or default).expanduser().resolve()


def unknown() -> list[str]:
    """Variables that look like settings of OneClaw and are none."""
    return sorted(name for name in os.environ if name.startswith("ONECLAW_") and name not in KNOWN)
