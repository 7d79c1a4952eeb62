"""Providers under Settings: for admins to add, test, change and remove."""

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from chat.models import Provider, Session
from chat.providers import discovery, manage, presets
from chat.providers.forms import ModelNameForm, ProviderForm
from chat.providers.manage import ConnectionTest
from chat.providers.presets import Known
from chat.views import models
from people.access import UserRequest, admin_required

PLACES = {"cloud": "In the cloud", "machine": "On this machine", "other": "Anywhere else"}


def overview(*, look: bool = False) -> dict[str, object]:
    """What the list shows. With `look`, the page goes looking on this machine if there is nothing yet."""
    known = Provider.objects.prefetch_related("models")
    own = known.exclude(origin=Provider.Origin.STARTER).exists()
    return {
        "tab": "providers",
        "providers": known,
        "places": [
            (title, [template for template in presets.TEMPLATES if template.place == place])
            for place, title in PLACES.items()
        ],
        "look": look and not own,
        "ready": known.filter(enabled=True, models__isnull=False).exists(),
    }


@admin_required
@require_safe
def index(request: UserRequest) -> HttpResponse:
    context = overview(look=True) | {"first_run": is_first_run(request)}
    return render(request, "settings/providers.html", context)


@sensitive_post_parameters("key")
@sensitive_variables("form")
@admin_required
@require_http_methods(["GET", "POST"])
def create(request: UserRequest) -> HttpResponse:
    """A new provider is saved once it answers, or when the person wants it in any case."""
    template = presets.BY_KEY.get(request.GET.get("template", ""), presets.BY_KEY["custom"])
    initial = {"kind": template.kind, "base_url": template.base_url}
    if template.name:
        initial["name"] = manage.free_name(template.name)
    form = ProviderForm(request.POST or None, initial=initial)
    action = request.POST.get("action", "save")
    context = {"form": form, "template": template, **form_context(request)}
    if action == "test":
        return render(request, page(request, "new_provider"), context | tested(request, form))
    if request.method == "POST" and form.is_valid():
        outcome = None if action == "anyway" else manage.try_connection(form.draft())
        if outcome and form.blame(outcome):
            return render(request, page(request, "new_provider"), context | {"outcome": outcome})
        provider = form.save()
        manage.add_models(provider, picked(request, provider, outcome.models if outcome else ()))
        welcome(request, provider, outcome)
        return leave(request, provider)
    return render(request, page(request, "new_provider"), context)


def welcome(request: UserRequest, provider: Provider, outcome: ConnectionTest | None) -> None:
    count = provider.models.count()
    if outcome and outcome.ok:
        messages.success(request, f"{provider.name} is ready, with {count} model{'s' if count != 1 else ''}.")
    else:
        fault = outcome.message if outcome else "Test the connection before you use it."
        messages.warning(request, f"{provider.name} was saved. {fault}")


@sensitive_post_parameters("key")
@sensitive_variables("form")
@admin_required
@require_http_methods(["GET", "POST"])
def edit(request: UserRequest, provider_id: int) -> HttpResponse:
    provider = get_object_or_404(Provider, pk=provider_id)
    form = ProviderForm(request.POST or None, instance=provider)
    found = {}
    if request.POST.get("action") == "test":
        found = tested(request, form)
    elif request.method == "POST" and form.is_valid():
        form.save()
        if request.POST.getlist("models"):
            manage.add_models(provider, picked(request, provider, models.listing(provider)[0]))
        messages.success(request, "Saved.")
        return leave(request, provider)
    # A form that was not saved leaves its values on the row it was made from.
    shown = Provider.objects.prefetch_related("models").get(pk=provider_id)
    context = {"provider": shown, "form": form, "name_form": ModelNameForm(), **form_context(request)}
    return render(request, page(request, "provider"), context | found)


def form_context(request: UserRequest) -> dict[str, object]:
    """What every page of the form shows; ticks survive a form that comes back."""
    ticked = models.valid_names(request.POST.getlist("models"))
    return {
        "tab": "providers",
        "first_run": is_first_run(request),
        "listed": models.described(ticked, ()),
        "ticked": ticked,
    }


def page(request: UserRequest, name: str) -> str:
    """The form alone where it is swapped in, else the page that holds it."""
    return "settings/_provider_form.html" if request.htmx else f"settings/{name}.html"


def leave(request: UserRequest, provider: Provider) -> HttpResponse:
    address = reverse("settings:provider", args=[provider.pk])
    return HttpResponseClientRedirect(address) if request.htmx else redirect(address)


def is_first_run(request: UserRequest) -> bool:
    """Whether the set-up still has its last step to go: the first chat."""
    return not Session.objects.filter(owner=request.user).exists()


@sensitive_variables("form")
def tested(request: UserRequest, form: ProviderForm) -> dict[str, object]:
    """Test what the form says, within ten seconds, and show what it found with the models to choose from."""
    if not form.can_connect():
        return {}
    provider = form.draft()
    outcome = manage.try_connection(provider)
    if form.blame(outcome):
        return {"outcome": outcome}
    here = set(provider.models.values_list("name", flat=True)) if provider.pk else set()
    ticked = set(request.POST.getlist("models"))
    if not ticked and not here:
        ticked = {model.name for model in manage.suggested(provider, outcome.models)}
    listed = [model for model in outcome.models if model.name not in here]
    return {"outcome": outcome, "listed": listed, "ticked": ticked}


def picked(request: UserRequest, provider: Provider, listed: Sequence[Known]) -> list[Known]:
    """The models that were ticked on the form, else those to begin with."""
    ticked = models.valid_names(request.POST.getlist("models"))
    return models.described(ticked, listed) or manage.suggested(provider, listed)


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
def find(request: UserRequest) -> HttpResponse:
    """Look for servers on this machine."""
    found = discovery.adopt()
    names = ", ".join(provider.name for provider in found)
    said = f"Found {names} on this machine." if found else "No other model servers found on this machine."
    if request.htmx:
        return render(request, "settings/_providers.html", overview() | {"said": said, "found": found})
    messages.info(request, said)
    return redirect("settings:providers")
