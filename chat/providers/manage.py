"""Providers and their models: add, list, test, remove, and keep exactly one default."""

import asyncio
from collections.abc import Iterable, Sequence
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
Finding = Literal["ok", "key", "network", "address", "other"]
# Everything else is nobody's mistake on the form.
FINDINGS: dict[str, Finding] = {
    errors.AUTH: "key",
    errors.UNREACHABLE: "network",
    errors.TIMEOUT: "network",
    errors.CUT: "network",
    errors.NOT_JSON: "address",
    errors.REDIRECT: "address",
}


@dataclass(frozen=True, slots=True)
class ConnectionTest:
    """What a test of the connection found, told apart for the page, with the models that were listed."""

    kind: Finding
    message: str
    models: tuple[Known, ...] = ()

    @property
    def ok(self) -> bool:
        return self.kind == "ok"

    @property
    def field(self) -> str:
        """The field of the form to put right; empty where none is to blame."""
        return {"key": "key", "network": "base_url", "address": "base_url"}.get(self.kind, "")

    @classmethod
    def of(cls, error: ModelError, models: tuple[Known, ...] = ()) -> "ConnectionTest":
        return cls(FINDINGS.get(error.code, "other"), error.message, models)


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
                "supports_images": bool(model.images),
            }
            rows.append(provider.models.get_or_create(name=model.name, defaults=values)[0])
        ensure_default()
    return rows


def available(provider: Provider, *, seconds: float = SECONDS) -> list[Known]:
    """The provider's own list, or a ModelError. Blocks for as long as it takes."""
    return client.run_alone(_listing(provider, provider.key(), seconds))


async def _listing(provider: Provider, key: str, seconds: float) -> list[Known]:
    return await catalogue.models(
        provider.kind, provider.base_url, key, seconds=seconds, given=provider.is_given
    )


def suggested(provider: Provider, listed: Sequence[Known]) -> list[Known]:
    """The models to begin with: the presets that are listed, else the list's first, else all presets."""
    template = presets.template_for(provider.kind, provider.base_url)
    preset = template.models if template else ()
    by_name = {model.name: model for model in listed}
    chosen = [by_name[name] for name in preset if name in by_name]
    return chosen or list(listed[:MOST_AT_FIRST]) or [presets.known(name) for name in preset]


def first_models(provider: Provider, *, seconds: float = SECONDS) -> str:
    """Give a new provider its models: listed, or preset where the list can't be had. Says what went wrong."""
    try:
        listed = available(provider, seconds=seconds)
    except ModelError as error:
        add_models(provider, suggested(provider, ()))
        return error.message
    add_models(provider, suggested(provider, listed))
    return ""


def free_name(name: str) -> str:
    """The name, or the next one that no provider has."""
    taken = set(Provider.objects.filter(name__startswith=name).values_list("name", flat=True))
    numbered = (f"{name} {number}" for number in range(2, len(taken) + 3))
    return next(each for each in (name, *numbered) if each not in taken)


# The connection


def try_connection(provider: Provider, *, seconds: float = SECONDS) -> ConnectionTest:
    """Ask for the list of models and for one word, within the time; the provider need not be saved."""
    model = provider.models.order_by("-is_default", "id").first() if provider.pk else None
    if model:
        # The row as it is here, which may differ from the one that is stored.
        model.provider = provider
    try:
        key = provider.key()
    except vault.SecretUnreadable as error:
        return ConnectionTest("key", str(error))
    return client.run_alone(_test(provider, key, model, seconds))


async def _test(provider: Provider, key: str, model: AiModel | None, seconds: float) -> ConnectionTest:
    ends = asyncio.get_running_loop().time() + seconds
    listing: ConnectionTest
    try:
        most = min(LISTING_SECONDS, seconds)
        found = tuple(await _listing(provider, key, most))
        listing = ConnectionTest("ok", f"Connected. It offers {len(found)} models.", found)
    except ModelError as error:
        # A list that is not there says that the address is wrong; a model that is not there does not.
        missing = error.code == errors.NOT_FOUND
        listing = ConnectionTest("address", error.message) if missing else ConnectionTest.of(error)
    model = model or _preset_model(provider, listing.models)
    if model is None or listing.kind == "network":
        return listing
    return await _ask(model, listing, max(0.5, ends - asyncio.get_running_loop().time()))


def _preset_model(provider: Provider, listed: Sequence[Known]) -> AiModel | None:
    """A model to try a key with before any is stored: some providers show their list to everybody."""
    template = presets.template_for(provider.kind, provider.base_url)
    if not (template and template.keys_at and listed):
        return None
    return AiModel(provider=provider, name=suggested(provider, listed)[0].name)


async def _ask(model: AiModel, listing: ConnectionTest, seconds: float) -> ConnectionTest:
    question = [ChatTurn("user", "Reply with the word OK.")]
    request = ModelRequest.to(model, question, max_tokens=64, thinking=False)
    try:
        async with aclosing(adapters.stream(replace(request, deadline=seconds, silence=seconds))) as events:
            await anext(events)
    except ModelError as error:
        if error.code == errors.TIMEOUT and listing.ok:
            slow = f"{listing.message} {request.model} is slow to respond: it may be loading."
            return replace(listing, message=slow)
        if error.code == errors.NOT_FOUND and not listing.ok:
            return listing
        return ConnectionTest.of(error, listing.models)
    return ConnectionTest("ok", f"Connected. {request.model} replies.", listing.models)
