"""Encryption of secrets at rest, with a key derived from the data folder's secret.key."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings


class SecretUnreadable(Exception):
    """The stored secret was sealed with another secret.key."""


def _fernet() -> Fernet:
    digest = hashlib.sha256(b"oneclaw.vault:" + settings.SECRET_KEY.encode()).digest()
    return Fernet(base64.urlsafe_b64encode(digest))


def seal(secret: str) -> str:
    return _fernet().encrypt(secret.encode()).decode() if secret else ""


def unseal(sealed: str) -> str:
    if not sealed:
        return ""
    try:
        return _fernet().decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise SecretUnreadable("The stored key can't be read with this secret.key: enter it again.") from None
