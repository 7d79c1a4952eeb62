"""The first account: who may create it, and that only one ever is."""

import secrets
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction
from django.http import HttpRequest

from oneclaw.keyfile import made_once
from oneclaw.postgres import is_postgres, locks
from oneclaw.server import peers
from people.models import User

# Read aloud and typed on a phone: no letters that look like digits.
ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"


class AlreadySetUp(Exception):
    """Somebody else has created the first account meanwhile."""


def is_needed() -> bool:
    return not get_user_model().objects.exists()


def create_first_admin(username: str, password: str) -> User:
    """Make the first admin; transactions on SQLite are IMMEDIATE, so two can't both find no user."""
    with transaction.atomic():
        if is_postgres():
            locks.until_commit(locks.SETUP, 0)
        if not is_needed():
            raise AlreadySetUp
        user = User.objects.create_superuser(username, password=password)
    code_file().unlink(missing_ok=True)
    return user


def code_file() -> Path:
    return Path(settings.DATA_DIR) / "setup.code"


def code() -> str:
    """The one-time code, made when first asked for and kept beside the database until it is used."""
    return made_once(
        code_file(), lambda: "-".join("".join(secrets.choice(ALPHABET) for _ in range(4)) for _ in range(3))
    )


def is_code(text: str) -> bool:
    """Whether this is the code, however its letters and dashes were typed."""

    def plain(code: str) -> bytes:
        return "".join(letter for letter in code.upper() if letter.isalnum()).encode()

    return secrets.compare_digest(plain(text), plain(code()))


def needs_code(request: HttpRequest) -> bool:
    """Whether set-up asks for the code: only a browser of this account, on this machine, does without."""
    return not peers.is_owner_at_home(request)
