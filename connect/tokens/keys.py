"""Making, finding and revoking tokens. One is found by its hash, so no comparison tells of its letters."""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import get_random_string

from connect.models import Token
from oneclaw.toolkit import NoLongerAllowed
from people.models import User

# `oneclaw.masking.keys` knows this shape too: a token in a text is a secret like any other.
PREFIX, LENGTH = "oc_", 43
SHAPE = re.compile(r"oc_[A-Za-z0-9]{43}")
MOST = 50
# How exact the time of last use is: every request would be a write otherwise.
USED_WITHIN = timedelta(minutes=1)
# Plain SQL: every request of a program begins with it, and building the query took longer than asking it.
FIND = """
    SELECT person.*, token.id AS token_id, token.name AS token_name, token.scope AS token_scope,
        token.last_used_at IS NULL OR token.last_used_at < %s AS token_is_stale
    FROM connect_token AS token JOIN people_user AS person ON person.id = token.owner_id
    WHERE token.token_hash = %s AND person.is_active
"""


class Revoked(NoLongerAllowed):
    """The token was revoked, or its owner's account disabled, while something was under way."""

    def __init__(self) -> None:
        super().__init__("This token was revoked.")


class TooMany(Exception):
    """The person has as many tokens as one may have."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls from outside, by which token, and what they may do."""

    user: User
    may_write: bool
    # What its owner called the token; empty for a program on this machine, which needs none.
    name: str = ""
    token_id: int | None = None


def make(user: User, name: str, scope: str) -> tuple[Token, str]:
    """A new token and its secret, which is told this once."""
    if Token.objects.filter(owner=user).count() >= MOST:
        raise TooMany(f"You have {MOST} tokens: revoke one that is no longer used.")
    secret = PREFIX + get_random_string(LENGTH)
    return Token.objects.create(owner=user, name=name, scope=scope, token_hash=digest(secret)), secret


def digest(secret: str) -> str:
    """A plain hash is enough: the secret has 256 bits, which nobody guesses however fast the hash is."""
    return hashlib.sha256(secret.encode()).hexdigest()


def find(secret: str) -> Caller | None:
    """Whom a token stands for; nobody if it is revoked, unknown or its owner's account is disabled."""
    if not SHAPE.fullmatch(secret):
        return None
    now = timezone.now()
    owner: Any
    for owner in User.objects.raw(FIND, [now - USED_WITHIN, digest(secret)]):
        if owner.token_is_stale:
            stale = Q(last_used_at=None) | Q(last_used_at__lt=now - USED_WITHIN)
            Token.objects.filter(stale, pk=owner.token_id).update(last_used_at=now)
        return Caller(owner, owner.token_scope == Token.Scope.WRITE, owner.token_name, owner.token_id)
    return None


def is_valid(caller: Caller) -> bool:
    """Whether the caller would be let in now; asked again while something long goes on."""
    if caller.token_id is None:
        return User.objects.filter(pk=caller.user.pk, is_active=True).exists()
    return Token.objects.filter(pk=caller.token_id, owner__is_active=True).exists()


def check(caller: Caller) -> None:
    """Right before something is written or told: raises Revoked."""
    if not is_valid(caller):
        raise Revoked


@contextmanager
def while_valid(caller: Caller) -> Iterator[None]:
    """A transaction that comes to nothing if the token is revoked before its end."""
    with transaction.atomic():
        yield
        check(caller)


def revoke(user: User, token_id: int) -> bool:
    """Delete one of the user's own tokens: it stops with the next thing it is used for."""
    return bool(Token.objects.filter(owner=user, pk=token_id).delete()[0])
