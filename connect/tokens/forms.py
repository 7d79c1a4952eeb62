"""The form for a new token."""

from django import forms

from connect.models import Token


class TokenForm(forms.ModelForm):
    class Meta:
        model = Token
        fields = ("name", "scope")
        labels = {"name": "Program", "scope": "It may"}
        help_texts = {"name": "What will use it, and where. What comes by it shows this name."}
        widgets = {
            "name": forms.TextInput(attrs={"autocomplete": "off", "placeholder": "Claude Code on my laptop"}),
            "scope": forms.RadioSelect,
        }

    def clean_name(self) -> str:
        name = " ".join(self.cleaned_data["name"].split())
        if not name.isprintable():
            raise forms.ValidationError("Use letters, digits and signs that can be seen.")
        return name
