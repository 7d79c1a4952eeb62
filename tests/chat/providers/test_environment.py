"""Providers that the environment names, and servers found on this machine."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from chat.errors import ModelError
from chat.models import AiModel, Provider
from chat.providers import discovery, environment, manage
from tests.modelserver import ModelServer

pytestmark = pytest.mark.django_db
SECRET = "sk-environment-0000-wxyz"


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """The makers' own addresses are never asked from a test."""
    ask = manage.available

    def only_here(provider: Provider, **fields: Any) -> Any:
        if "127.0.0.1" not in provider.base_url:
            raise ModelError("unreachable", "Not from a test.")
        return ask(provider, **fields)

    monkeypatch.setattr(manage, "available", only_here)
    monkeypatch.setattr(discovery, "PLACES", ())


def everything() -> list[tuple[Any, ...]]:
    fields = ("id", "name", "kind", "base_url", "origin", "enabled", "send_memory", "sealed_key")
    return [*Provider.objects.values_list(*fields), *AiModel.objects.values_list("id", "name", "is_default")]


def test_nothing_named_is_nothing_made() -> None:
    assert environment.sync() == []
    assert not Provider.objects.exists()


def test_a_default_provider_without_a_click(model_server: ModelServer, settings: Any) -> None:
    settings.PROVIDER = "anthropic"
    settings.BASE_URL = model_server.base_url("anthropic")
    settings.API_KEY = SECRET
    settings.MODEL = ["claude-test", "claude-other"]
    environment.sync()
    provider = Provider.objects.get()
    assert (provider.kind, provider.origin, provider.key()) == ("anthropic", "environment", SECRET)
    assert AiModel.objects.get(is_default=True).name == "claude-test"
    assert provider.models.count() == 2
    assert SECRET not in repr(environment.wanted())


def test_an_address_alone_is_openai_and_is_asked_for_its_models(
    model_server: ModelServer, settings: Any
) -> None:
    settings.BASE_URL = f"{model_server.url}/"
    environment.sync()
    provider = Provider.objects.get()
    assert (provider.kind, provider.base_url) == ("openai", f"{model_server.url}/v1")
    assert provider.models.count() == 2


def test_a_server_that_was_down_is_asked_again_at_the_next_start(
    model_server: ModelServer, settings: Any
) -> None:
    settings.BASE_URL = model_server.base_url()
    model_server.error(404, match="models")
    environment.sync()
    assert not AiModel.objects.exists()
    environment.sync()
    assert AiModel.objects.filter(is_default=True).count() == 1


def test_well_known_keys_make_their_providers(settings: Any) -> None:
    settings.WELL_KNOWN_KEYS = {"openai": SECRET, "anthropic": "", "gemini": SECRET}
    environment.sync()
    assert set(Provider.objects.values_list("name", flat=True)) == {"OpenAI", "Gemini"}
    assert AiModel.objects.filter(is_default=True).count() == 1
    assert Provider.objects.get(name="Gemini").models.filter(name="gemini-2.5-flash").exists()


def test_the_named_one_is_the_default_and_uses_the_well_known_key(settings: Any) -> None:
    settings.WELL_KNOWN_KEYS = {"openai": "sk-other", "anthropic": SECRET, "gemini": ""}
    settings.PROVIDER, settings.MODEL = "anthropic", ["claude-x"]
    environment.sync()
    default = AiModel.objects.get(is_default=True)
    assert (default.name, default.provider.key()) == ("claude-x", SECRET)
    assert Provider.objects.count() == 2


def test_a_second_start_changes_nothing(settings: Any) -> None:
    settings.WELL_KNOWN_KEYS = {"openai": SECRET, "anthropic": SECRET, "gemini": ""}
    settings.MODEL = ["gpt-x"]
    environment.sync()
    before = everything()
    environment.sync()
    assert everything() == before


def test_what_an_admin_set_stays(settings: Any) -> None:
    settings.WELL_KNOWN_KEYS = {"openai": SECRET, "anthropic": "", "gemini": ""}
    settings.MODEL = ["gpt-x", "gpt-y"]
    environment.sync()
    Provider.objects.update(name="Mine", send_memory=False)
    manage.set_default(AiModel.objects.get(name="gpt-y"))
    environment.sync()
    provider = Provider.objects.get()
    assert (provider.name, provider.send_memory) == ("Mine", False)
    assert AiModel.objects.get(is_default=True).name == "gpt-y"
    Provider.objects.update(enabled=False)
    environment.sync()
    assert not Provider.objects.get().enabled


def test_a_model_that_is_named_later_becomes_the_default_once(settings: Any) -> None:
    settings.WELL_KNOWN_KEYS = {"openai": SECRET, "anthropic": "", "gemini": ""}
    environment.sync()
    listed = AiModel.objects.filter(is_default=False).first()
    assert listed
    settings.MODEL = [listed.name]
    environment.sync()
    assert AiModel.objects.get(is_default=True) == listed
    chosen = AiModel.objects.filter(is_default=False).first()
    assert chosen
    manage.set_default(chosen)
    environment.sync()
    assert AiModel.objects.get(is_default=True) == chosen
    settings.MODEL = [AiModel.objects.exclude(pk__in=[listed.pk, chosen.pk])[0].name]
    environment.sync()
    assert AiModel.objects.get(is_default=True).name == settings.MODEL[0]


def test_where_nobody_knows_what_was_asked_for_the_default_stays(settings: Any, data_dir: Path) -> None:
    settings.WELL_KNOWN_KEYS = {"openai": SECRET, "anthropic": "", "gemini": ""}
    settings.MODEL = ["gpt-x", "gpt-y"]
    environment.sync()
    manage.set_default(AiModel.objects.get(name="gpt-y"))
    (data_dir / "model.asked").unlink()
    environment.sync()
    assert AiModel.objects.get(is_default=True).name == "gpt-y"


def test_a_new_key_is_taken_over(settings: Any) -> None:
    settings.WELL_KNOWN_KEYS = {"openai": SECRET, "anthropic": "", "gemini": ""}
    environment.sync()
    settings.WELL_KNOWN_KEYS = {"openai": "sk-new", "anthropic": "", "gemini": ""}
    environment.sync()
    assert Provider.objects.get().key() == "sk-new"


def test_a_key_that_is_gone_from_the_environment_is_gone_here_and_the_switches_stay(settings: Any) -> None:
    settings.WELL_KNOWN_KEYS = {"openai": SECRET, "anthropic": "", "gemini": ""}
    environment.sync()
    Provider.objects.update(send_memory=False)
    settings.WELL_KNOWN_KEYS = {"openai": "", "anthropic": "", "gemini": ""}
    environment.sync()
    provider = Provider.objects.get()
    assert (provider.sealed_key, provider.enabled) == ("", False)
    assert not AiModel.objects.filter(is_default=True).exists()
    settings.WELL_KNOWN_KEYS = {"openai": SECRET, "anthropic": "", "gemini": ""}
    environment.sync()
    provider = Provider.objects.get()
    assert (provider.key(), provider.enabled, provider.send_memory) == (SECRET, True, False)
    assert AiModel.objects.filter(is_default=True).exists()


def test_a_provider_made_by_hand_is_not_doubled(settings: Any) -> None:
    made = Provider(name="Hand", kind="openai", base_url="https://api.openai.com/v1")
    made.set_key("sk-by-hand")
    made.save()
    settings.WELL_KNOWN_KEYS = {"openai": SECRET, "anthropic": "", "gemini": ""}
    environment.sync()
    assert Provider.objects.get().key() == "sk-by-hand"


def test_a_bad_address_stops_the_start_with_a_sentence(settings: Any) -> None:
    settings.BASE_URL = "ftp://nowhere"
    with pytest.raises(ImproperlyConfigured, match="ONECLAW_BASE_URL"):
        environment.sync()
    with pytest.raises(CommandError, match="ONECLAW_BASE_URL"):
        call_command("providers", "sync")


def test_a_server_on_this_machine_is_found_once(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(
        discovery, "PLACES", (("Ollama", model_server.base_url()), ("Nobody", "http://127.0.0.1:9/v1"))
    )
    settings.DISCOVER = True
    said = StringIO()
    call_command("providers", "sync", stdout=said)
    assert "Found Ollama with 2 models." in said.getvalue()
    provider = Provider.objects.get()
    assert (provider.origin, provider.name) == ("found", "Ollama")
    assert AiModel.objects.filter(is_default=True).count() == 1
    Provider.objects.update(base_url=provider.base_url.replace("127.0.0.1", "localhost"))
    assert discovery.adopt() == []


def test_nothing_is_looked_for_when_told_not_to(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(discovery, "PLACES", (("Ollama", model_server.base_url()),))
    settings.DISCOVER = False
    call_command("providers", "sync")
    assert not Provider.objects.exists()
    assert model_server.requests == []


def test_some_other_web_server_is_not_a_model(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "PLACES", (("llama.cpp", model_server.base_url()),))
    model_server.raw(b"<html>", "text/html", match="models")
    assert discovery.discover() == []


def test_the_usual_places_are_on_loopback_only() -> None:
    from chat.providers.presets import BY_KEY

    assert BY_KEY["ollama"].base_url == "http://127.0.0.1:11434/v1"
    assert BY_KEY["llamacpp"].base_url == "http://127.0.0.1:8080/v1"
    assert BY_KEY["lmstudio"].base_url == "http://127.0.0.1:1234/v1"


def test_the_command_lists_and_tests(model_server: ModelServer, settings: Any) -> None:
    settings.BASE_URL, settings.API_KEY = model_server.base_url(), SECRET
    environment.sync()
    said = StringIO()
    call_command("providers", "list", stdout=said)
    call_command("providers", "test", stdout=said)
    assert "* scripted-mini" in said.getvalue()
    assert "ok. Connected. scripted-mini replies." in said.getvalue()
    assert SECRET not in said.getvalue()
    with pytest.raises(CommandError):
        call_command("providers", "test", "Nobody")
