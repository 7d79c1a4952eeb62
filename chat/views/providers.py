"""Providers under Settings: for admins to add, test, change and remove."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from chat.models import Provider
from chat.providers import discovery, manage, presets
from chat.providers.forms import ModelNameForm, ProviderForm
from people.access import UserRequest, admin_required


def overview(*, look: bool = False) -> dict[str, object]:
    """What the list shows. With `look`, the page goes looking on this machine if there is nothing yet."""
    known = Provider.objects.prefetch_related("models")
    own = known.exclude(origin=Provider.Origin.STARTER).exists()
    return {
        "tab": "providers",
        "providers": known,
        "templates": presets.TEMPLATES,
        "look": look and not own,
        "ready": known.filter(enabled=True, models__isnull=False).exists(),
    }


@admin_required
@require_safe
def index(request: UserRequest) -> HttpResponse:
    return render(request, "settings/providers.html", overview(look=True))


@sensitive_post_parameters("key")
@sensitive_variables("form")
@admin_required
@require_http_methods(["GET", "POST"])
def create(request: UserRequest) -> HttpResponse:
    template = presets.BY_KEY.get(request.GET.get("template", ""), presets.BY_KEY["custom"])
    initial = {"kind": template.kind, "base_url": template.base_url}
    if template.name:
        initial["name"] = manage.free_name(template.name)
    form = ProviderForm(request.POST or None, initial=initial)
    if template.keys_at:
        form.order_fields(["key"])
    if request.method == "POST" and form.is_valid():
        provider = form.save()
        if fault := manage.first_models(provider):
            messages.warning(
                request, f"{provider.name} was saved, but its models could not be loaded. {fault}"
            )
        else:
            messages.success(request, f"{provider.name} is ready, with {provider.models.count()} models.")
        return redirect("settings:provider", provider.pk)
    context = {"tab": "providers", "form": form, "template": template}
    return render(request, "settings/new_provider.html", context)


@sensitive_post_parameters("key")
@sensitive_variables("form")
@admin_required
@require_http_methods(["GET", "POST"])
def edit(request: UserRequest, provider_id: int) -> HttpResponse:
    provider = get_object_or_404(Provider, pk=provider_id)
    form = ProviderForm(request.POST or None, instance=provider)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, "Saved.")
        return redirect("settings:provider", provider.pk)
    # A refused form leaves its values on the row it was made from.
    shown = Provider.objects.prefetch_related("models").get(pk=provider_id)
    context = {"tab": "providers", "provider": shown, "form": form, "name_form": ModelNameForm()}
    return render(request, "settings/provider.html", context)


@admin_required
@require_POST
def delete(request: UserRequest, provider_id: int) -> HttpResponse:
    """Chats that used its models go on with the default one."""
    provider = get_object_or_404(Provider, pk=provider_id)
    if provider.is_given:
        messages.error(request, f"{provider.name} would be back at the next start: disable it instead.")
        return redirect("settings:provider", provider.pk)
    manage.remove(provider)
    messages.success(request, f"{provider.name} and its key were deleted.")
    return redirect("settings:providers")


@admin_required
@require_POST
def check(request: UserRequest, provider_id: int) -> HttpResponse:
    """Test the connection: within ten seconds there is an answer, whatever happens."""
    provider = get_object_or_404(Provider, pk=provider_id)
    outcome = manage.try_connection(provider)
    if request.htmx:
        return render(request, "settings/_outcome.html", {"provider": provider, "outcome": outcome})
    messages.add_message(request, messages.SUCCESS if outcome.ok else messages.ERROR, outcome.message)
    return redirect("settings:provider", provider.pk)


@admin_required
@require_POST
def find(request: UserRequest) -> HttpResponse:
    """Look for servers on this machine."""
    found = discovery.adopt()
    names = ", ".join(provider.name for provider in found)
    said = f"Found {names} on this machine." if found else "No other model servers found on this machine."
    if request.htmx:
        return render(request, "settings/_providers.html", overview() | {"said": said, "found": found})
    messages.info(request, said)
    return redirect("settings:providers")
