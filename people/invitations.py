"""Links that let somebody in, to create an account or choose a new password: each works once, for a week."""

import hashlib
import secrets
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from people.models import Invitation, User

VALID_FOR = timedelta(days=7)


class NotValid(Exception):
    """The link was used, withdrawn or is too old, or never was one."""


def invite(by: User, *, is_admin: bool = False) -> str:
    """A new link's token, for an account that does not exist yet. Only its hash is kept."""
    return _make(Invitation(created_by=by, is_admin=is_admin))


def reset_password(person: User, by: User) -> str:
    """A new link's token by which a person chooses another password; earlier ones no longer work."""
    Invitation.objects.filter(person=person, used_at=None).delete()
    return _make(Invitation(created_by=by, person=person))


def _make(invitation: Invitation) -> str:
    token = secrets.token_urlsafe(32)
    invitation.token_hash = digest(token)
    invitation.expires_at = timezone.now() + VALID_FOR
    invitation.save()
    return token


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def find(token: str) -> Invitation:
    found = (
        Invitation.objects.select_related("person")
        .filter(token_hash=digest(token), used_at=None, expires_at__gt=timezone.now())
        .first()
    )
    if found is None or (found.person and not found.person.is_active):
        raise NotValid("This link has been used or is too old. Ask for a new one.")
    return found


def accept(invitation: Invitation, person: User) -> User:
    """Use the link up and save who came by it; only the first of two requests may."""
    with transaction.atomic():
        unused = Invitation.objects.filter(pk=invitation.pk, used_at=None)
        if not unused.update(used_at=timezone.now()):
            raise NotValid("This link has been used or is too old. Ask for a new one.")
        person.save()
    return person


def open_invitations() -> list[Invitation]:
    """Links for new accounts that nobody has used yet."""
    rows = Invitation.objects.filter(person=None, used_at=None, expires_at__gt=timezone.now())
    return list(rows.select_related("created_by").order_by("-created_at"))
