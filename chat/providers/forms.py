"""Forms for providers and models. A key goes in and never comes out."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from chat.models import AiModel, Provider
from chat.providers import manage, presets
from chat.providers.manage import ConnectionTest

# What a connection is made of; the rest of the form can wait until it is saved.
CONNECTION = {"kind", "base_url", "key"}


class ProviderForm(forms.ModelForm):
    key = forms.CharField(
        label="API key",
        required=False,
        max_length=500,
        widget=forms.PasswordInput(render_value=False, attrs={"autocomplete": "new-password"}),
    )
    forget_key = forms.BooleanField(label="Delete the stored key", required=False)

    class Meta:
        model = Provider
        fields = (
            "key",
            "forget_key",
            "name",
            "kind",
            "base_url",
            "enabled",
            "send_memory",
            "can_write_memory",
        )
        labels = {
            "kind": "Protocol",
            "base_url": "Address",
            "enabled": "Enabled",
            "send_memory": "Can read memory",
            "can_write_memory": "Can write memory",
        }
        help_texts = {
            "base_url": "Including /v1 or similar. Redirects are not followed.",
            "send_memory": "If off, nothing from memory is ever sent to this provider.",
            "can_write_memory": "If off, its models get no memory tools and write no summaries.",
        }
        error_messages = {"name": {"unique": "Another provider already has this name."}}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        provider = self.instance
        if provider.pk and provider.is_given:
            for name in ("kind", "base_url", "key", "forget_key"):
                del self.fields[name]
            return
        if provider.sealed_key:
            stored = f"A key is stored ({provider.masked_key}). Leave this empty to keep it."
            self.fields["key"].help_text = stored
        else:
            del self.fields["forget_key"]
            self._ask_for_key()

    def _ask_for_key(self) -> None:
        """Say whether a key is needed; a new form begins at the first field that is the person's to fill."""
        kind, url = self["kind"].value() or "", self["base_url"].value() or ""
        template = presets.template_for(kind, url)
        needed = bool(template and template.keys_at)
        if not needed:
            self.fields["key"].help_text = "Leave this empty if the server asks for none."
        first = "key" if needed else "base_url" if not url else ""
        if first and not self.is_bound and not self.instance.pk:
            self.fields[first].widget.attrs["autofocus"] = True

    def clean_key(self) -> str:
        key: str = self.cleaned_data["key"].strip()
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ValidationError("This doesn't look like an API key: it contains invalid characters.")
        return key

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        kind, url = cleaned.get("kind"), cleaned.get("base_url")
        if kind and url:
            try:
                cleaned["base_url"] = presets.tidy(url, kind)
            except ValidationError as error:
                self.add_error("base_url", error)
            else:
                self._check_key(cleaned)
        return cleaned

    def _check_key(self, cleaned: dict[str, Any]) -> None:
        new, stored = cleaned.get("key"), self.instance.sealed_key and not cleaned.get("forget_key")
        before = self.initial.get("base_url", "")
        if stored and not new and not presets.same_place(before, cleaned["base_url"]):
            self.add_error("key", "Enter the key again: a stored key is never sent to a new address.")
        template = presets.template_for(cleaned["kind"], cleaned["base_url"])
        if template and template.keys_at and not new and not stored and "key" not in self.errors:
            self.add_error("key", f"{template.name} needs a key: get one at {template.keys_at}")

    def can_connect(self) -> bool:
        """Whether the connection can be tested, whatever else the form still lacks."""
        for name in set(self.errors) - CONNECTION:
            del self.errors[name]
        return not self.errors

    def blame(self, outcome: ConnectionTest) -> bool:
        """Put what a test found at the field that is to be put right, if there is one."""
        if outcome.field not in self.fields:
            return False
        self.add_error(outcome.field, outcome.message)
        return True

    def draft(self) -> Provider:
        """The provider as the form says, not saved. A stored key stays only where it may be sent."""
        provider: Provider = self.instance
        if self.cleaned_data.get("key"):
            provider.set_key(self.cleaned_data["key"])
        elif self.cleaned_data.get("forget_key"):
            provider.set_key("")
        return provider

    def save(self, commit: bool = True) -> Provider:
        super().save(commit=False)
        provider = self.draft()
        provider.save()
        manage.ensure_default()
        return provider

    @property
    def at_hand(self) -> list[forms.BoundField]:
        """The key, which is all that most providers need."""
        return [field for field in self.visible_fields() if field.name in ("key", "forget_key")]

    @property
    def advanced(self) -> list[forms.BoundField]:
        return [field for field in self.visible_fields() if field.name not in ("key", "forget_key")]

    @property
    def is_open(self) -> bool:
        """Whether the advanced fields want attention: one is wrong, or the address is the person's to say."""
        wrong = any(field.errors for field in self.advanced)
        if wrong or self.instance.pk:
            return wrong
        template = presets.template_for(self["kind"].value(), self["base_url"].value() or "")
        return not (template and template.keys_at)


class ModelForm(forms.ModelForm):
    """Settings of a model that its provider does not report, or reports wrongly."""

    context_window = forms.IntegerField(
        label="Context window",
        required=False,
        min_value=512,
        max_value=20_000_000,
        help_text="In tokens. Leave empty if unknown: a cautious size is assumed.",
    )

    class Meta:
        model = AiModel
        fields = ("label", "context_window", "supports_tools", "supports_thinking", "supports_images")
        labels = {
            "label": "Display name",
            "supports_tools": "Can call tools",
            "supports_thinking": "Ask for its reasoning",
            "supports_images": "Can see pictures",
        }


class ModelNameForm(forms.Form):
    """A model by the name it has on the wire."""

    name = forms.CharField(label="Model name", max_length=200)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if not name.isprintable():
            raise ValidationError("This is not a valid model name.")
        return name
