"""A person: a Django account with a time zone, a theme and the switch for memory."""

from datetime import date, datetime
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from django.contrib.auth.models import AbstractUser, UserManager
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone

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
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone or "UTC")

    def local_date(self, moment: datetime) -> date:
        return moment.astimezone(self.zone).date()

    def today(self) -> date:
        return self.local_date(timezone.now())
