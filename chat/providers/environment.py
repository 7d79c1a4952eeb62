"""Providers from the environment: created without a click, updated with it, and disabled when it is gone."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import transaction

from chat.models import Provider
from chat.providers import manage, presets
from oneclaw import vault

LISTING_SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """A provider that the environment names."""

    name: str
    kind: str
    base_url: str
    key: str = field(repr=False)
    models: tuple[str, ...] = ()


def wanted() -> list[Wanted]:
    """What ONECLAW_PROVIDER and its companions ask for, then the well-known keys."""
    found = {(each.kind, each.base_url): each for each in _well_known()}
    if main := _main():
        # The one that was asked for by name is first in line for the default.
        found = {(main.kind, main.base_url): main} | {
            place: each for place, each in found.items() if place != (main.kind, main.base_url)
        }
    return list(found.values())


def _well_known() -> Iterator[Wanted]:
    for kind, key in settings.WELL_KNOWN_KEYS.items():
        if key:
            maker = presets.MAKER[kind]
            yield Wanted(maker.name, kind, maker.base_url, key)


def _main() -> Wanted | None:
    given = (settings.PROVIDER, settings.BASE_URL, settings.API_KEY, *settings.MODEL)
    if not any(given):
        return None
    kind = settings.PROVIDER or "openai"
    maker = presets.MAKER[kind]
    try:
        url = presets.tidy(settings.BASE_URL or maker.base_url, kind)
    except ValidationError as error:
        raise ImproperlyConfigured(f"ONECLAW_BASE_URL={settings.BASE_URL!r}: {error.message}") from None
    own = url == maker.base_url
    key = settings.API_KEY or (settings.WELL_KNOWN_KEYS[kind] if own else "")
    if own and not key:
        return None
    template = presets.template_for(kind, url)
    return Wanted(template.name if template else urlsplit(url).netloc, kind, url, key, tuple(settings.MODEL))


def sync() -> list[Provider]:
    """Make the rows what the environment says; safe to run at every start. May ask a new one for its list."""
    kept, new = [], []
    last, asked_for = _last_model(), ""
    with transaction.atomic():
        for each in wanted():
            provider, made = _row(each)
            if provider is None:
                continue
            kept.append(provider)
            if each.models:
                asked_for = f"{each.kind} {each.base_url} {each.models[0]}"
                fresh = not provider.models.filter(name=each.models[0]).exists()
                first, *_ = manage.add_models(provider, map(presets.known, each.models))
                # Only a new wish: what an admin chose since then stays.
                if provider.enabled and (fresh or last not in (None, asked_for)):
                    manage.set_default(first)
            if not each.models and (made or not provider.models.exists()):
                new.append(provider)
        _retire(keep=[provider.pk for provider in kept])
    _last_model_file().write_text(asked_for)
    for provider in new:
        manage.first_models(provider, seconds=LISTING_SECONDS)
    manage.ensure_default()
    return kept


def _last_model() -> str | None:
    """What the environment wanted as the default at the last start: empty for nothing, None if unknown."""
    try:
        return _last_model_file().read_text()
    except OSError:
        return None


def _last_model_file() -> Path:
    return Path(settings.DATA_DIR) / "model.asked"


def _row(each: Wanted) -> tuple[Provider | None, bool]:
    """The row for what is wanted, and whether it is new. One that a person made for the same place wins."""
    here = Provider.objects.filter(kind=each.kind, base_url=each.base_url)
    mine = here.filter(origin=Provider.Origin.ENVIRONMENT).first()
    retired = here.filter(origin=Provider.Origin.FORM, sealed_key="", enabled=False).first()
    provider = mine or retired
    if provider is None and not each.models and here.exists():
        return None, False
    made = provider is None
    if provider is None:
        provider = Provider(name=manage.free_name(each.name), kind=each.kind, base_url=each.base_url)
    if provider == retired:
        provider.enabled = True
    provider.origin = Provider.Origin.ENVIRONMENT
    if made or not _has_key(provider, each.key):
        provider.set_key(each.key)
    provider.save()
    return provider, made


def _has_key(provider: Provider, key: str) -> bool:
    try:
        return provider.key() == key
    except vault.SecretUnreadable:
        return False


def _retire(keep: list[int]) -> None:
    """Disable what the environment no longer names and drop its key; its switches stay for its return."""
    Provider.objects.filter(origin=Provider.Origin.ENVIRONMENT).exclude(pk__in=keep).update(
        origin=Provider.Origin.FORM, sealed_key="", enabled=False
    )
