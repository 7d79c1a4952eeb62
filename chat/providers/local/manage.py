"""The model on this machine as a provider: wanted or not, announced when it answers, gone when it is not."""

import secrets
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q

from chat.models import AiModel, Provider, Session
from chat.providers.local import status, weights
from chat.providers.local.server import Running
from chat.providers.local.status import ServerState
from chat.providers.local.weights import ModelWeights, WeightsKind
from chat.providers.manage import ensure_default, free_name

NAMES = {WeightsKind.STARTER: "Starter model", WeightsKind.LOCAL: "Local model"}
ORIGINS = {WeightsKind.STARTER: Provider.Origin.STARTER, WeightsKind.LOCAL: Provider.Origin.LOCAL}

STARTER_LABEL = "This is only a starter model: it makes things up."
LABELS = {WeightsKind.STARTER: "SmolLM2 (starter)", WeightsKind.LOCAL: ""}


@dataclass(frozen=True, slots=True)
class Notice:
    """What a page says about the local model, above the message box and in the settings."""

    text: str
    failed: bool = False
    starter: bool = False


def wanted() -> str:
    """What `up` should serve now, as a name that changes with the file; nothing when no server is needed."""
    found = choose()
    withdraw(keep=found.kind if found else None)
    return f"{found.kind} {found.path}" if found else ""


def choose() -> ModelWeights | None:
    """The owner's own file, or the starter where there is nothing else; neither if it was switched off."""
    found = weights.local() or (None if has_real_model() else weights.starter())
    if found and Provider.objects.filter(origin=ORIGINS[found.kind], enabled=False).exists():
        return None
    return found


def has_real_model() -> bool:
    real = AiModel.objects.usable()
    # A local model's row outlives its file until `withdraw` takes it; the file was looked for before.
    return real.exclude(provider__origin__in=ORIGINS.values()).exists()


def new_key() -> str:
    """A new key for each start; only the server and, sealed, the database know it."""
    return secrets.token_urlsafe(32)


@transaction.atomic
def announce(kind: WeightsKind, running: Running, key: str) -> AiModel:
    """Write down where the model answers; it is the default where there is none."""
    provider = Provider.objects.filter(origin=ORIGINS[kind]).first()
    if provider is None:
        provider = Provider(
            name=free_name(NAMES[kind]), origin=ORIGINS[kind], can_write_memory=kind is WeightsKind.LOCAL
        )
    provider.kind, provider.base_url = Provider.Kind.OPENAI, running.url
    provider.set_key(key)
    provider.save()
    model = provider.models.first() or AiModel(provider=provider)
    model.name, model.context_window = running.name, running.context
    model.supports_tools = running.tools and kind is WeightsKind.LOCAL
    model.label = model.label or LABELS[kind]
    model.save()
    ensure_default()
    model.refresh_from_db()
    return model


def withdraw(keep: WeightsKind | None = None) -> None:
    """Remove a local provider that nothing serves; one that the owner disabled stays as it is."""
    served = Provider.objects.filter(origin__in=ORIGINS.values(), enabled=True)
    if keep:
        served = served.exclude(origin=ORIGINS[keep])
    # Without its models the row is only a memory of the owner's switches, for when the file is back.
    chosen = Q(send_memory=False) | Q(origin=Provider.Origin.LOCAL, can_write_memory=False)
    gone, resting = served.exclude(chosen), served.filter(chosen, models__isnull=False)
    if gone.exists() or resting.exists():
        with transaction.atomic():
            AiModel.objects.filter(provider__in=served).delete()
            served.update(sealed_key="")
            gone.delete()
            ensure_default()


def notice(session: Session | None = None) -> Notice | None:
    """What to know about the model that a chat uses, where it is one of ours; or that one is on its way."""
    model = session.resolve_model() if session else AiModel.objects.default()
    if model and model.provider.origin not in ORIGINS.values():
        return None
    said = status.read()
    if said.state is ServerState.FAILED:
        return Notice(said.sentence, failed=True)
    if said.state is ServerState.STARTING:
        return Notice(f"{said.name} is loading. It will be ready in a moment.")
    if model and model.provider.origin == Provider.Origin.STARTER:
        return Notice(STARTER_LABEL, starter=True)
    return None
