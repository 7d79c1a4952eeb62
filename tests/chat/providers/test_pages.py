"""The providers' pages: for admins alone, and a key that never comes out."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from chat.models import AiModel, Provider
from chat.providers import discovery
from chat.providers.forms import ProviderForm
from chat.providers.presets import same_place, tidy
from people.models import User
from tests.modelserver import ModelServer

SECRET = "sk-typed-0123456789-wxyz"
pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client, ada: User) -> Client:
    client.force_login(ada)
    return client


def typed(server: ModelServer, **fields: Any) -> dict[str, Any]:
    return {
        "name": "Mine",
        "kind": "openai",
        "base_url": server.base_url(),
        "key": SECRET,
        "enabled": "on",
        "send_memory": "on",
        "can_write_memory": "on",
        **fields,
    }


@pytest.fixture
def model(make_provider: Callable[..., AiModel]) -> AiModel:
    return make_provider()


def pages(model: AiModel) -> list[tuple[str, str]]:
    one, other = [model.provider_id], [model.pk]
    return [
        ("get", reverse("settings:providers")),
        ("get", reverse("settings:new_provider")),
        ("post", reverse("settings:new_provider")),
        ("post", reverse("settings:find_providers")),
        ("get", reverse("settings:provider", args=one)),
        ("post", reverse("settings:provider", args=one)),
        ("post", reverse("settings:delete_provider", args=one)),
        ("post", reverse("settings:test_provider", args=one)),
        ("get", reverse("settings:available_models", args=one)),
        ("post", reverse("settings:add_models", args=one)),
        ("get", reverse("settings:model", args=other)),
        ("post", reverse("settings:delete_model", args=other)),
        ("post", reverse("settings:default_model", args=other)),
    ]


def test_only_admins_come_in(client: Client, ben: User, model: AiModel, model_server: ModelServer) -> None:
    for method, url in pages(model):
        answer = getattr(client, method)(url)
        assert answer.status_code == 302
        assert answer.url.startswith(reverse("login"))
    client.force_login(ben)
    for method, url in pages(model):
        assert getattr(client, method)(url).status_code == 403
    assert Provider.objects.count() == AiModel.objects.count() == 1
    assert model_server.requests == []


def test_a_provider_is_added_and_its_models_with_it(admin: Client, model_server: ModelServer) -> None:
    answer = admin.post(reverse("settings:new_provider"), typed(model_server), follow=True)
    provider = Provider.objects.get()
    assert provider.key() == SECRET
    assert AiModel.objects.filter(provider=provider).count() == 2
    assert AiModel.objects.filter(is_default=True).count() == 1
    assert "ready, with 2 models" in answer.content.decode()
    assert SECRET not in answer.content.decode()


def test_a_provider_that_can_not_be_asked_is_saved_and_says_why(
    admin: Client, model_server: ModelServer
) -> None:
    model_server.error(401, match="models")
    answer = admin.post(reverse("settings:new_provider"), typed(model_server), follow=True)
    assert Provider.objects.count() == 1
    assert "rejected the API key" in answer.content.decode()


@pytest.mark.parametrize("template", ["openai", "anthropic", "ollama", "custom", "no-such"])
def test_a_template_fills_in_the_form(admin: Client, template: str) -> None:
    answer = admin.get(reverse("settings:new_provider"), {"template": template})
    assert answer.status_code == 200
    expected = {"anthropic": "https://api.anthropic.com", "ollama": "http://127.0.0.1:11434/v1"}
    assert expected.get(template, "") in answer.content.decode()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"base_url": "ftp://x"}, "base_url"),
        ({"base_url": "http://user:pass@x/v1"}, "base_url"),
        ({"base_url": "javascript:alert(1)"}, "base_url"),
        ({"base_url": "http://x/v1?key=1"}, "base_url"),
        ({"base_url": "http://x:99999/v1"}, "base_url"),
        ({"base_url": "http://[broken/v1"}, "base_url"),
        ({"base_url": "h" * 600}, "base_url"),
        ({"base_url": ""}, "base_url"),
        ({"key": "sk-ключ"}, "key"),
        ({"key": "two words"}, "key"),
        ({"key": "", "base_url": "https://api.openai.com/v1"}, "key"),
        ({"kind": "telepathy"}, "kind"),
        ({"name": ""}, "name"),
        ({"name": "n" * 101}, "name"),
        ({"name": "nul\0"}, "name"),
        ({"name": "Scripted openai"}, "name"),
    ],
)
def test_what_can_not_be_is_refused_on_the_form(
    admin: Client, model: AiModel, model_server: ModelServer, fields: dict[str, str], field: str
) -> None:
    answer = admin.post(reverse("settings:new_provider"), typed(model_server, **fields))
    assert answer.status_code == 200
    assert field in answer.context["form"].errors
    assert Provider.objects.count() == 1
    assert SECRET not in answer.content.decode()


def test_an_empty_key_keeps_the_stored_one(admin: Client, model: AiModel, model_server: ModelServer) -> None:
    url = reverse("settings:provider", args=[model.provider_id])
    before = model.provider.key()
    page = admin.get(url).content.decode()
    assert f"••••{before[-4:]}" in page
    assert before not in page
    assert model.provider.sealed_key not in page
    answer = admin.post(url, typed(model_server, key="", name="Renamed", send_memory=""))
    assert answer.status_code == 302
    provider = Provider.objects.get()
    assert (provider.name, provider.key(), provider.send_memory) == ("Renamed", before, False)
    admin.post(url, typed(model_server))
    assert Provider.objects.get().key() == SECRET
    admin.post(url, typed(model_server, key="", forget_key="on"))
    assert Provider.objects.get().key() == ""


def test_a_stored_key_is_not_sent_to_another_address(
    admin: Client, model: AiModel, model_server: ModelServer
) -> None:
    url = reverse("settings:provider", args=[model.provider_id])
    answer = admin.post(url, typed(model_server, key="", base_url="http://elsewhere.example/v1"))
    assert "Enter the key again" in answer.content.decode()
    assert Provider.objects.get().base_url == model_server.base_url()
    answer = admin.post(url, typed(model_server, base_url="http://elsewhere.example/v1"))
    assert Provider.objects.get().key() == SECRET


def test_what_the_environment_gives_is_not_on_the_form(admin: Client, model: AiModel) -> None:
    Provider.objects.update(origin=Provider.Origin.ENVIRONMENT)
    form = ProviderForm(instance=Provider.objects.get())
    assert set(form.fields) == {"name", "enabled", "send_memory", "can_write_memory"}
    url = reverse("settings:provider", args=[model.provider_id])
    admin.post(url, {"name": "Env", "enabled": "on", "base_url": "http://evil.example", "key": "x"})
    provider = Provider.objects.get()
    assert (provider.name, provider.base_url) == ("Env", model.provider.base_url)


def test_switching_a_provider_off_moves_the_default(
    admin: Client, make_provider: Callable[..., AiModel], model_server: ModelServer
) -> None:
    first, second = make_provider(), make_provider(name="Second")
    url = reverse("settings:provider", args=[first.provider_id])
    admin.post(url, typed(model_server, enabled=""))
    assert AiModel.objects.get(is_default=True) == second
    answer = admin.post(reverse("settings:default_model", args=[first.pk]), follow=True)
    assert "is disabled" in answer.content.decode()
    assert AiModel.objects.get(is_default=True) == second


def test_a_connection_is_tested_from_the_page(
    admin: Client, model: AiModel, model_server: ModelServer
) -> None:
    url = reverse("settings:test_provider", args=[model.provider_id])
    page = admin.post(url, headers={"hx-request": "true"}).content.decode()
    assert "scripted-model replies." in page
    assert "<html" not in page
    model_server.error(401)
    assert "Key:" in admin.post(url, headers={"hx-request": "true"}).content.decode()
    model_server.error(401)
    assert "rejected the API key" in admin.post(url, follow=True).content.decode()
    model_server.close()
    assert "Network:" in admin.post(url, headers={"hx-request": "true"}).content.decode()


def test_models_are_listed_and_added(admin: Client, model: AiModel, model_server: ModelServer) -> None:
    model_server.models = ["scripted-model", "new-one", "<b>bold</b>"]
    url = reverse("settings:available_models", args=[model.provider_id])
    page = admin.get(url, headers={"hx-request": "true"}).content.decode()
    assert 'value="new-one"' in page
    assert 'value="scripted-model"' not in page
    assert "<b>" not in page
    assert "<html" in admin.get(url).content.decode()
    add = reverse("settings:add_models", args=[model.provider_id])
    admin.post(add, {"name": ["new-one", " typed-by-hand ", "", "x" * 300, "nul\0"]})
    names = set(AiModel.objects.values_list("name", flat=True))
    assert names == {"scripted-model", "new-one", "typed-by-hand"}
    assert "Select a model" in admin.post(add, {"name": [""]}, follow=True).content.decode()


def test_a_list_that_fails_says_why_on_the_page(
    admin: Client, model: AiModel, model_server: ModelServer
) -> None:
    model_server.raw(b"<html>", "text/html", match="models")
    url = reverse("settings:available_models", args=[model.provider_id])
    assert "list of models" in admin.get(url, headers={"hx-request": "true"}).content.decode()


def test_a_model_is_changed_made_default_and_removed(
    admin: Client, make_provider: Callable[..., AiModel]
) -> None:
    first, second = make_provider(), make_provider(name="Second")
    url = reverse("settings:model", args=[second.pk])
    assert admin.get(url).status_code == 200
    assert admin.post(url, {"context_window": "3"}).status_code == 200
    admin.post(url, {"label": "Big", "context_window": "9000", "supports_tools": "on"})
    second.refresh_from_db()
    assert (second.label, second.context_window, second.supports_thinking) == ("Big", 9000, False)
    admin.post(reverse("settings:default_model", args=[second.pk]))
    assert AiModel.objects.get(is_default=True) == second
    admin.post(reverse("settings:delete_model", args=[second.pk]))
    assert AiModel.objects.get(is_default=True) == first


def test_a_provider_is_deleted(admin: Client, model: AiModel) -> None:
    answer = admin.post(reverse("settings:delete_provider", args=[model.provider_id]), follow=True)
    assert "key were deleted" in answer.content.decode()
    assert not Provider.objects.exists()
    assert admin.get(reverse("settings:provider", args=[model.provider_id])).status_code == 404


def test_what_the_next_start_brings_back_is_switched_off_instead(admin: Client, model: AiModel) -> None:
    Provider.objects.update(origin=Provider.Origin.ENVIRONMENT)
    url = reverse("settings:delete_provider", args=[model.provider_id])
    assert url not in admin.get(reverse("settings:provider", args=[model.provider_id])).content.decode()
    assert "disable it instead" in admin.post(url, follow=True).content.decode()
    assert Provider.objects.exists()


def test_a_server_on_this_machine_is_found_from_the_page(
    admin: Client, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "PLACES", (("Ollama", model_server.base_url()),))
    page = admin.get(reverse("settings:providers")).content.decode()
    assert 'hx-trigger="load"' in page
    page = admin.post(reverse("settings:find_providers"), headers={"hx-request": "true"}).content.decode()
    assert "Found Ollama" in page
    assert 'hx-trigger="load"' not in page
    answer = admin.post(reverse("settings:find_providers"), follow=True)
    assert "No other model server" in answer.content.decode()
    assert 'hx-trigger="load"' not in answer.content.decode()
    assert Provider.objects.count() == 1


@pytest.mark.parametrize(
    ("given", "kind", "kept"),
    [
        ("localhost:11434", "openai", "http://localhost:11434/v1"),
        ("http://ollama:11434/", "openai", "http://ollama:11434/v1"),
        ("https://API.Example.org/v1/chat/completions", "openai", "https://api.example.org/v1"),
        ("api.anthropic.com/v1/messages", "anthropic", "https://api.anthropic.com/v1"),
        (
            "https://generativelanguage.googleapis.com",
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta",
        ),
        ("https://x.example/openai/v1/models", "openai", "https://x.example/openai/v1"),
    ],
)
def test_addresses_are_tidied(given: str, kind: str, kept: str) -> None:
    assert tidy(given, kind) == kept


def test_a_place_is_scheme_host_and_port() -> None:
    assert same_place("https://a/v1", "https://A/v2")
    assert not same_place("https://a/v1", "http://a/v1")
    assert not same_place("https://a/v1", "https://a:8/v1")
