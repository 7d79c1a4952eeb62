"""A person: a Django account with a time zone, a theme and the switch for memory."""

from collections.abc import Iterator
from datetime import date, datetime
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth.models import AbstractUser, UserManager
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.crypto import get_random_string, salted_hmac

# The name is also a folder under the data folder, so it must not begin with a dot or be long.
username_validator = RegexValidator(
    r"^[\w@+-][\w.@+-]*\Z",
    "Use letters, digits and @ . + - _ only, and begin with something other than a dot.",
)


def validate_time_zone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise ValidationError("Choose a time zone by its name, such as Europe/Lisbon.") from None


def validate_folder_name(name: str) -> None:
    if len(name.encode()) > 200:
        raise ValidationError("This name is too long: it takes more than 200 bytes.")


class People(UserManager["User"]):
    """Finds accounts whatever the case of the name: phones start words with a capital letter."""

    def get_by_natural_key(self, username: str | None) -> Any:
        return self.get(username__iexact=username)


class User(AbstractUser):
    class Theme(models.TextChoices):
        SYSTEM = "system", "Match system"
        LIGHT = "light", "Light"
        DARK = "dark", "Dark"

    username = models.CharField(
        max_length=80,
        unique=True,
        validators=[username_validator, validate_folder_name],
        error_messages={"unique": "This name is taken."},
    )
    # Empty until the browser has reported one.
    time_zone = models.CharField(max_length=64, blank=True, default="", validators=[validate_time_zone])
    zone_from_browser = models.BooleanField(default=True, editable=False)
    theme = models.CharField(max_length=8, choices=Theme.choices, default=Theme.SYSTEM)
    memory_enabled = models.BooleanField(default=True)
    # When memory was last switched on: what was said before that is not written to it any more.
    memory_since = models.DateTimeField(null=True, blank=True, editable=False)
    # Part of what a log-in is checked by: another value signs every device out.
    devices_salt = models.CharField(max_length=32, blank=True, default="", editable=False)
    # The local date on which the user was last seen: a later one is a day change (RFC-023).
    last_active_date = models.DateField(null=True, blank=True)

    objects: ClassVar[People] = People()

    class Meta(AbstractUser.Meta):
        constraints = [
            models.UniqueConstraint(
                Lower("username"), name="username_in_any_case", violation_error_message="This name is taken."
            )
        ]

    @property
    def display_name(self) -> str:
        return self.first_name or self.username

    def get_session_auth_hash(self) -> str:
        return self._log_in_hash()

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        for secret in settings.SECRET_KEY_FALLBACKS:
            yield self._log_in_hash(secret)

    def _log_in_hash(self, secret: str | bytes | None = None) -> str:
        """Django's own hash while the salt is empty, so that log-ins of earlier versions stay valid."""
        salt = "django.contrib.auth.models.AbstractBaseUser.get_session_auth_hash"
        return salted_hmac(
            salt, self.password + self.devices_salt, secret=secret, algorithm="sha256"
        ).hexdigest()

    def sign_out_devices(self) -> None:
        """End every log-in of this account."""
        self.devices_salt = get_random_string(32)
        self.save(update_fields=["devices_salt"])

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone or "UTC")

    def local_date(self, moment: datetime) -> date:
        return moment.astimezone(self.zone).date()

    def today(self) -> date:
        return self.local_date(timezone.now())


class Invitation(models.Model):
    """A link by which somebody creates an account, or chooses a new password for theirs."""

    token_hash = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(User, on_delete=models.CASCADE, related_name="invitations")
    # Whose password it sets; nobody's for a new account.
    person = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="+")
    is_admin = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"New password for {self.person}" if self.person else "Invitation"
