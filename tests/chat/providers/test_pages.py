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


def test_a_provider_that_refuses_its_key_stays_on_the_form_until_it_is_saved_anyway(
    admin: Client, model_server: ModelServer
) -> None:
    model_server.error(401, match="models")
    answer = admin.post(reverse("settings:new_provider"), typed(model_server, name="My own"))
    assert "rejected the API key" in answer.context["form"].errors["key"][0]
    page = answer.content.decode()
    assert 'value="My own"' in page
    assert "Save anyway" in page
    assert SECRET not in page
    assert not Provider.objects.exists()
    answer = admin.post(reverse("settings:new_provider"), typed(model_server, action="anyway"), follow=True)
    assert Provider.objects.get().key() == SECRET
    assert "was saved. Test the connection" in answer.content.decode()


def test_a_provider_that_is_not_to_blame_on_the_form_is_saved_and_says_why(
    admin: Client, model_server: ModelServer
) -> None:
    for _ in range(3):
        model_server.error(402, match="models")
    answer = admin.post(reverse("settings:new_provider"), typed(model_server), follow=True)
    assert Provider.objects.count() == 1
    assert "quota or credit" in answer.content.decode()


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


def check(admin: Client, url: str, fields: dict[str, Any]) -> Any:
    return admin.post(url, {**fields, "action": "test"}, headers={"hx-request": "true"})


def test_a_new_provider_is_tested_before_it_is_saved(admin: Client, model_server: ModelServer) -> None:
    answer = check(admin, reverse("settings:new_provider"), typed(model_server, name=""))
    page = answer.content.decode()
    assert "It offers 2 models." in page
    assert "<html" not in page
    assert not answer.context["form"].errors
    assert SECRET not in page
    assert f"Bearer {SECRET}" == model_server.requests[0].headers["authorization"]
    assert page.count("checked") >= 2
    assert 'value="scripted-mini"' in page
    assert not Provider.objects.exists()


def test_the_models_that_were_ticked_are_saved_with_the_provider(
    admin: Client, model_server: ModelServer
) -> None:
    fields = typed(model_server, models=["scripted-mini", "x" * 300])
    nameless = admin.post(reverse("settings:new_provider"), {**fields, "name": ""})
    assert [model.name for model in nameless.context["listed"]] == ["scripted-mini"]
    answer = admin.post(reverse("settings:new_provider"), fields, headers={"hx-request": "true"})
    assert answer.headers["HX-Redirect"] == reverse("settings:provider", args=[Provider.objects.get().pk])
    assert [model.name for model in AiModel.objects.all()] == ["scripted-mini"]
    url = reverse("settings:provider", args=[Provider.objects.get().pk])
    page = check(admin, url, typed(model_server, key="")).content.decode()
    assert 'value="scripted-model"' in page
    assert 'value="scripted-mini"' not in page
    admin.post(url, typed(model_server, key="", models=["scripted-model"]))
    assert AiModel.objects.count() == 2


@pytest.mark.parametrize(
    ("status", "field"), [(401, "key"), (403, "key"), (404, "base_url"), (302, "base_url")]
)
def test_what_a_test_finds_is_said_at_its_field(
    admin: Client, model_server: ModelServer, status: int, field: str
) -> None:
    model_server.error(status, match="models")
    answer = check(admin, reverse("settings:new_provider"), typed(model_server))
    assert list(answer.context["form"].errors) == [field]
    shown = answer.content.decode()
    assert f'id="id_{field}_error"' in shown
    assert shown.count('aria-invalid="true"') == 1
    assert 'class="banner bad"' not in shown


def test_an_address_where_nobody_is_is_said_at_the_address(admin: Client, model_server: ModelServer) -> None:
    model_server.close()
    answer = check(admin, reverse("settings:new_provider"), typed(model_server))
    assert list(answer.context["form"].errors) == ["base_url"]
    assert "<details" in answer.content.decode()
    assert "open>" in answer.content.decode()


def test_a_test_takes_the_form_for_what_it_says_and_stores_nothing(
    admin: Client, model: AiModel, model_server: ModelServer
) -> None:
    url = reverse("settings:provider", args=[model.provider_id])
    before = Provider.objects.values().get()
    page = check(admin, url, typed(model_server, name="Other")).content.decode()
    assert "scripted-model replies." in page
    assert {request.headers["authorization"] for request in model_server.requests} == {f"Bearer {SECRET}"}
    model_server.requests.clear()
    check(admin, url, typed(model_server, kind="anthropic", base_url=model_server.base_url("anthropic")))
    assert {request.headers["x-api-key"] for request in model_server.requests} == {SECRET}
    assert Provider.objects.values().get() == before


def test_a_test_with_an_empty_key_sends_the_stored_one_to_the_stored_address_alone(
    admin: Client, model: AiModel, model_server: ModelServer
) -> None:
    url = reverse("settings:provider", args=[model.provider_id])
    stored = model.provider.key()
    check(admin, url, typed(model_server, key=""))
    assert {request.headers["authorization"] for request in model_server.requests} == {f"Bearer {stored}"}
    other = ModelServer()
    try:
        answer = check(admin, url, typed(other, key=""))
        assert "Enter the key again" in answer.context["form"].errors["key"][0]
        assert other.requests == []
        check(admin, url, typed(other, key="", forget_key="on"))
        assert other.requests
        assert all(stored not in str(request.headers) for request in other.requests)
    finally:
        other.close()
    assert Provider.objects.get().key() == stored


def test_a_provider_of_the_environment_is_tested_as_it_is(
    admin: Client, model: AiModel, model_server: ModelServer
) -> None:
    Provider.objects.update(origin=Provider.Origin.ENVIRONMENT)
    url = reverse("settings:provider", args=[model.provider_id])
    assert "scripted-model replies." in check(admin, url, typed(model_server)).content.decode()
    assert SECRET not in str([request.headers for request in model_server.requests])
    model_server.error(401)
    page = admin.post(url, {"action": "test"}).content.decode()
    assert "Key:" in page
    assert "<html" in page


def test_long_lists_of_models_have_a_search_box(
    admin: Client, model: AiModel, model_server: ModelServer
) -> None:
    url = reverse("settings:available_models", args=[model.provider_id])
    assert "data-filters" not in admin.get(url).content.decode()
    model_server.models = [f"model-{number}" for number in range(30)]
    assert 'aria-label="Search 30 models"' in admin.get(url).content.decode()


def test_providers_in_the_cloud_and_on_this_machine_stand_apart(admin: Client) -> None:
    answer = admin.get(reverse("settings:providers"))
    places = {title: {template.key for template in those} for title, those in answer.context["places"]}
    assert {"openai", "anthropic", "openrouter"} <= places["In the cloud"]
    assert places["On this machine"] == {"ollama", "lmstudio", "llamacpp", "vllm"}
    assert places["Anywhere else"] == {"custom"}
    assert 'aria-current="step">Provider' in answer.content.decode()


def test_the_key_comes_first_and_the_rest_is_advanced(admin: Client, model: AiModel) -> None:
    page = admin.get(reverse("settings:new_provider"), {"template": "openai"}).content.decode()
    assert page.index("id_key") < page.index('class="advanced"') < page.index("id_base_url")
    assert ' class="advanced" >' in page
    page = admin.get(reverse("settings:new_provider"), {"template": "ollama"}).content.decode()
    assert ' class="advanced" open>' in page


def test_models_are_listed_and_added(admin: Client, model: AiModel, model_server: ModelServer) -> None:
    model_server.models = ["scripted-model", "new-one", "<b>bold</b>"]
    url = reverse("settings:available_models", args=[model.provider_id])
    page = admin.get(url, headers={"hx-request": "true"}).content.decode()
    assert 'value="new-one"' in page
    assert 'value="scripted-model"' not in page
    assert "<b>" not in page
    assert "<html" in admin.get(url).content.decode()
    add = reverse("settings:add_models", args=[model.provider_id])
    admin.post(add, {"name": ["new-one", " typed-by-hand ", "", "x" * 300]})
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
