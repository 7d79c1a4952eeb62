"""Remember something: a page of its own, for the installed app's shortcut and for what other apps share."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from memory.manager import DuplicateMemory, MemoryManager, SecretRefused
from memory.storage.atomic import StorageError
from memory.storage.sections import STANDARD_SECTIONS
from people.access import UserRequest

LONGEST = 5_000  # as /remember
# What a phone sends of a page, a selection or a link, by the names in the manifest.
SHARED = ("title", "text", "url")
OFF = "Your memory is switched off, so nothing was saved. Switch it on in Settings."


class RememberForm(forms.Form):
    """What to remember, in the reader's own words or in those that were shared."""

    text = forms.CharField(
        label="What to remember", max_length=LONGEST, widget=forms.Textarea(attrs={"rows": 5, "dir": "auto"})
    )
    section = forms.ChoiceField(choices=[(name, name) for name in STANDARD_SECTIONS], initial="Notes")

    def __init__(self, *args: Any, memory: MemoryManager, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.memory = memory

    def save(self) -> int | None:
        """Save it as the reader's own request; what is refused is said at its field, and nothing is saved."""
        text = self.cleaned_data["text"]
        if not self.memory.user.memory_enabled:
            self.add_error(None, OFF)
            return None
        try:
            saved = self.memory.save_to_long_term_memory(
                text, self.cleaned_data["section"], user_requested=True, refuse_duplicate=True
            )
        except (SecretRefused, StorageError, ValueError) as refusal:
            self.add_error("text", str(refusal))
            return None
        except DuplicateMemory:
            self.add_error("text", "This is already in memory.")
            return None
        return saved.pk if saved else None


@login_required
@require_http_methods(["GET", "POST"])
def remember(request: UserRequest) -> HttpResponse:
    """What was shared is only shown, to be edited; saving it is a form of this page's own."""
    memory = MemoryManager(request.user)
    form = RememberForm(request.POST or None, initial={"text": shared(request.GET)}, memory=memory)
    if request.method == "POST" and form.is_valid():
        saved = form.save()
        if form.is_valid():
            messages.success(request, "Remembered.", extra_tags=f"revision {saved}" if saved else "")
            return redirect("memory:home")
    return render(request, "memory/remember.html", {"form": form})


def shared(sent: QueryDict) -> str:
    """The parts that another app sent, each once: a link is often in the text as well."""
    parts = list[str]()
    for name in SHARED:
        part = sent.get(name, "").strip()
        if part and not any(part in other for other in parts):
            parts.append(part)
    return "\n".join(parts)[:LONGEST]
