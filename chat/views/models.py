"""A provider's models under Settings: load the list, add, change, choose the default."""

from collections.abc import Iterable

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from chat.errors import ModelError
from chat.models import AiModel, Provider
from chat.providers import manage, presets
from chat.providers.forms import ModelForm, ModelNameForm
from chat.providers.presets import Known
from oneclaw.vault import SecretUnreadable
from people.access import UserRequest, admin_required

# Seconds: adding goes on without the list's details when it takes longer.
DETAIL_SECONDS = 5.0


@admin_required
@require_safe
def available(request: UserRequest, provider_id: int) -> HttpResponse:
    """The provider's own list, with what is already here marked."""
    provider = get_object_or_404(Provider, pk=provider_id)
    listed, fault = listing(provider, manage.SECONDS)
    here = set(provider.models.values_list("name", flat=True))
    context = {
        "tab": "providers",
        "provider": provider,
        "listed": [model for model in listed if model.name not in here],
        "fault": fault,
    }
    return render(request, f"settings/{'_' if request.htmx else ''}available.html", context)


def listing(provider: Provider, seconds: float = DETAIL_SECONDS) -> tuple[list[Known], str]:
    try:
        return manage.available(provider, seconds=seconds), ""
    except (ModelError, SecretUnreadable) as error:
        return [], str(error)


def valid_names(given: list[str]) -> list[str]:
    forms = [ModelNameForm({"name": name}) for name in given[:100]]
    return [form.cleaned_data["name"] for form in forms if form.is_valid()]


def described(names: list[str], listed: Iterable[Known]) -> list[Known]:
    """The models of these names, with what the list tells of them, or else the name."""
    told = {model.name: model for model in listed}
    return [told.get(name) or presets.known(name) for name in names]


@admin_required
@require_POST
def add(request: UserRequest, provider_id: int) -> HttpResponse:
    """Models that were ticked in the list, or one that was typed."""
    provider = get_object_or_404(Provider, pk=provider_id)
    names = valid_names(request.POST.getlist("name"))
    if not names:
        messages.error(request, "Select a model or enter a name.")
        return redirect("settings:provider", provider.pk)
    manage.add_models(provider, described(names, listing(provider)[0]))
    messages.success(request, f"Added {', '.join(names)}.")
    return redirect("settings:provider", provider.pk)


@admin_required
@require_http_methods(["GET", "POST"])
def edit(request: UserRequest, model_id: int) -> HttpResponse:
    model = get_object_or_404(AiModel.objects.select_related("provider"), pk=model_id)
    form = ModelForm(request.POST or None, instance=model)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, "Saved.")
        return redirect("settings:provider", model.provider_id)
    return render(request, "settings/model.html", {"tab": "providers", "model": model, "form": form})


@admin_required
@require_POST
def delete(request: UserRequest, model_id: int) -> HttpResponse:
    """Chats and agents that used it go on with the default one."""
    model = get_object_or_404(AiModel, pk=model_id)
    manage.remove_model(model)
    messages.success(request, f"{model} was removed.")
    return redirect("settings:provider", model.provider_id)


@admin_required
@require_POST
def make_default(request: UserRequest, model_id: int) -> HttpResponse:
    model = get_object_or_404(AiModel, pk=model_id)
    if manage.set_default(model):
        messages.success(request, f"{model} is now the default model.")
    else:
        messages.error(request, "Its provider is disabled: enable it first.")
    return redirect("settings:provider", model.provider_id)
