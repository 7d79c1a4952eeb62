"""Providers and their models: add, list, test, remove, and keep exactly one default."""

import asyncio
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Literal

from django.db import transaction

from chat import adapters, errors
from chat.adapters import ChatTurn, ModelRequest, client
from chat.errors import ModelError
from chat.models import AiModel, Provider
from chat.providers import catalogue, presets
from chat.providers.presets import Known
from oneclaw import vault

SECONDS = 10.0
LISTING_SECONDS = 6.0
# A local server's models are all its owner's choice; of a long public list only the presets are.
MOST_AT_FIRST = 40
KEY_FAULTS = {errors.AUTH}
NETWORK_FAULTS = {errors.UNREACHABLE, errors.TIMEOUT, errors.CUT}


@dataclass(frozen=True, slots=True)
class ConnectionTest:
    """What a test of the connection found, told apart for the page."""

    kind: Literal["ok", "key", "network", "other"]
    message: str

    @property
    def ok(self) -> bool:
        return self.kind == "ok"

    @classmethod
    def of(cls, error: ModelError) -> "ConnectionTest":
        if error.code in KEY_FAULTS:
            return cls("key", error.message)
        return cls("network" if error.code in NETWORK_FAULTS else "other", error.message)


# The default


def has_own() -> bool:
    """Whether somebody chose a provider, or the environment named one; the starter is neither."""
    return Provider.objects.filter(enabled=True).exclude(origin=Provider.Origin.STARTER).exists()


def set_default(model: AiModel) -> bool:
    """Make this the one default; False if its provider is off or it is gone."""
    with transaction.atomic():
        if not AiModel.objects.usable().filter(pk=model.pk).exists():
            return False
        AiModel.objects.filter(is_default=True).exclude(pk=model.pk).update(is_default=False)
        return bool(AiModel.objects.filter(pk=model.pk).update(is_default=True))


def ensure_default() -> AiModel | None:
    """The default model, chosen again if it is gone, disabled, or only the starter while there are others."""
    with transaction.atomic():
        usable = AiModel.objects.usable().order_by("id")
        own = usable.exclude(provider__origin=Provider.Origin.STARTER)
        current = AiModel.objects.default()
        starter = current and current.provider.origin == Provider.Origin.STARTER
        if current and not (starter and own.exists()):
            return current
        chosen = own.first() or usable.first()
        if chosen is None:
            AiModel.objects.filter(is_default=True).update(is_default=False)
        else:
            set_default(chosen)
            chosen.is_default = True
        return chosen


def remove(provider: Provider) -> None:
    with transaction.atomic():
        provider.delete()
        ensure_default()


def remove_model(model: AiModel) -> None:
    with transaction.atomic():
        model.delete()
        ensure_default()


# Models


def add_models(provider: Provider, models: Iterable[Known]) -> list[AiModel]:
    """Add the models that are not stored yet. What a person has set stays."""
    with transaction.atomic():
        rows = []
        for model in models:
            values = {
                "label": model.label,
                "context_window": model.context_window,
                "supports_tools": model.tools is not False,
                "supports_thinking": bool(model.thinking),
            }
            rows.append(provider.models.get_or_create(name=model.name, defaults=values)[0])
        ensure_default()
    return rows


def available(provider: Provider, *, seconds: float = SECONDS) -> list[Known]:
    """The provider's own list, or a ModelError. Blocks for as long as it takes."""
    listing = catalogue.models(provider.kind, provider.base_url, provider.key(), seconds=seconds)
    return client.run_alone(listing)


def first_models(provider: Provider, *, seconds: float = SECONDS) -> str:
    """Give a new provider its models: listed, or preset where the list can't be had. Says what went wrong."""
    template = presets.template_for(provider.kind, provider.base_url)
    preset = template.models if template else ()
    try:
        listed = available(provider, seconds=seconds)
    except ModelError as error:
        add_models(provider, map(presets.known, preset))
        return error.message
    by_name = {model.name: model for model in listed}
    chosen = [by_name[name] for name in preset if name in by_name]
    add_models(provider, chosen or listed[:MOST_AT_FIRST] or map(presets.known, preset))
    return ""


def free_name(name: str) -> str:
    """The name, or the next one that no provider has."""
    taken = set(Provider.objects.filter(name__startswith=name).values_list("name", flat=True))
    numbered = (f"{name} {number}" for number in range(2, len(taken) + 3))
    return next(each for each in (name, *numbered) if each not in taken)


# The connection


def try_connection(provider: Provider, *, seconds: float = SECONDS) -> ConnectionTest:
    """Ask for the list of models and for one word, within the time; tells key and network faults apart."""
    model = provider.models.select_related("provider").order_by("-is_default", "id").first()
    question = [ChatTurn("user", "Reply with the word OK.")]
    try:
        key = provider.key()
        request = ModelRequest.to(model, question, max_tokens=64, thinking=False) if model else None
    except vault.SecretUnreadable as error:
        return ConnectionTest("key", str(error))
    return client.run_alone(_test(provider, key, request, seconds))


async def _test(provider: Provider, key: str, request: ModelRequest | None, seconds: float) -> ConnectionTest:
    ends = asyncio.get_running_loop().time() + seconds
    listing: ConnectionTest
    try:
        most = min(LISTING_SECONDS, seconds)
        count = len(await catalogue.models(provider.kind, provider.base_url, key, seconds=most))
        listing = ConnectionTest("ok", f"Connected. It offers {count} models.")
    except ModelError as error:
        listing = ConnectionTest.of(error)
    if request is None or listing.kind == "network":
        return listing
    left = max(0.5, ends - asyncio.get_running_loop().time())
    try:
        async with aclosing(adapters.stream(replace(request, deadline=left, silence=left))) as events:
            await anext(events)
    except ModelError as error:
        if error.code == errors.TIMEOUT and listing.ok:
            return ConnectionTest(
                "ok", f"{listing.message} {request.model} is slow to respond: it may be loading."
            )
        return ConnectionTest.of(error)
    return ConnectionTest("ok", f"Connected. {request.model} replies.")
