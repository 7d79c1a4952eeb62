"""Forms for accounts and profiles."""

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.contrib.auth.forms import (
    AuthenticationForm,
    BaseUserCreationForm,
    PasswordChangeForm,
    SetPasswordForm,
)
from django.http import HttpRequest
from django.utils import timezone

from people import setup
from people.models import User

PASSWORD_RULES = "At least 8 characters, and not a common password."  # noqa: S105


class NewAccountForm(BaseUserCreationForm):
    """A name and a password, with the rules for it in a line."""

    class Meta(BaseUserCreationForm.Meta):
        model = User
        fields = ("username",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password1"].help_text = PASSWORD_RULES
        self.fields["password2"].help_text = ""


class LoginForm(AuthenticationForm):
    error_messages = AuthenticationForm.error_messages | {"invalid_login": "Wrong username or password."}


class NewPasswordForm(SetPasswordForm):
    """A new password by a link: the old one is forgotten."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["new_password1"].help_text = PASSWORD_RULES
        self.fields["new_password2"].help_text = ""


class PasswordForm(NewPasswordForm, PasswordChangeForm):
    """A new password by who knows the old one."""


class SetupForm(NewAccountForm):
    """The first account; the code is asked for only where it is needed."""

    code = forms.CharField(
        label="Set-up code",
        max_length=40,
        help_text="Shown in the terminal where OneClaw was started, and in setup.code in the data folder.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "characters"}),
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if setup.needs_code(request):
            setup.code()  # made now, so that it can be read
            self.fields["code"].initial = request.GET.get("code", "")[:40]
        else:
            del self.fields["code"]

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        if not setup.is_code(code):
            raise forms.ValidationError("Wrong code. It is shown in the terminal where OneClaw was started.")
        return code


class JoinForm(NewAccountForm):
    """Another account, created by who was invited."""

    def clean_username(self) -> str:
        username: str = self.cleaned_data["username"]
        if User.objects.filter(username__iexact=username).exists():
            raise forms.ValidationError("This name is taken.")
        # Memory outlives a deleted account; a namesake must not inherit it.
        if (settings.MEMORY_DIR / username).exists():
            raise forms.ValidationError("The memory of a former account with this name is still on disk.")
        return username


class AccountForm(JoinForm):
    """Another account, created by an admin."""

    is_admin = forms.BooleanField(
        label="Admin", required=False, help_text="Can manage providers and accounts."
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # It stands below others on its page: focused, it would scroll them away and open a phone's keyboard.
        self.fields["username"].widget.attrs.pop("autofocus", None)

    def save(self, commit: bool = True) -> User:
        self.instance.is_staff = self.instance.is_superuser = self.cleaned_data["is_admin"]
        saved: User = super().save(commit)
        return saved


# Where places are; the database also has names of rules and of the past, such as "EST5EDT" and "GB-Eire".
REGIONS = {
    *("Africa", "America", "Antarctica", "Arctic", "Asia"),
    *("Atlantic", "Australia", "Europe", "Indian", "Pacific"),
}


class ProfileForm(forms.ModelForm):
    """What a person sets for themselves."""

    time_zone = forms.ChoiceField(required=False)

    class Meta:
        model = User
        fields = ["first_name", "time_zone", "theme", "memory_enabled"]
        labels = {"first_name": "Display name", "memory_enabled": "Memory"}
        help_texts = {
            "first_name": "How OneClaw greets you. Your username is used where this is empty.",
            "memory_enabled": "Recall what you said before, and remember what you say now.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = f" ({self.instance.time_zone})" if self.instance.zone_from_browser else ""
        zones = {name for name in available_timezones() if name.split("/")[0] in REGIONS} | {"UTC"}
        if not self.instance.zone_from_browser:
            zones.add(self.instance.time_zone)
        choices = [("", f"Match browser{known}"), *((name, name.replace("_", " ")) for name in sorted(zones))]
        self.fields["time_zone"].choices = choices  # type: ignore[attr-defined]
        if self.instance.zone_from_browser:
            self.initial["time_zone"] = ""

    def save(self, commit: bool = True) -> User:
        chosen: str = self.cleaned_data["time_zone"]
        self.instance.zone_from_browser = not chosen
        if not chosen:
            self.instance.time_zone = self.initial_zone
        if "memory_enabled" in self.changed_data and self.cleaned_data["memory_enabled"]:
            self.instance.memory_since = timezone.now()
        saved: User = super().save(commit)
        return saved

    @property
    def initial_zone(self) -> str:
        stored: str = User.objects.values_list("time_zone", flat=True).get(pk=self.instance.pk)
        return stored
