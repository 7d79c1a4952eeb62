"""Providers: lists of models, tests of the connection, and the one default."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chat.adapters import client
from chat.errors import ModelError
from chat.models import AiModel, Provider
from chat.providers import catalogue, manage, presets
from chat.providers.presets import BY_KEY, TEMPLATES, Known, is_for_chat, known
from tests.chat.adapters.exchanges import KINDS, SECRET
from tests.modelserver import ModelServer

pytestmark = pytest.mark.django_db


def listed(kind: str, server: ModelServer, **fields: Any) -> list[Known]:
    return client.run_alone(catalogue.models(kind, server.base_url(kind), SECRET, **fields))


@pytest.mark.parametrize("kind", KINDS)
def test_a_provider_lists_its_models(kind: str, model_server: ModelServer) -> None:
    model_server.models = ["zeta", "text-embedding-3-small", "Alpha", "whisper-1"]
    assert [model.name for model in listed(kind, model_server)] == ["Alpha", "zeta"]
    sent = model_server.last
    assert SECRET in str(sent.headers)
    assert SECRET not in sent.path


def test_what_a_list_tells_is_taken(model_server: ModelServer) -> None:
    rows = [
        {"id": "or/x", "name": "X: Big", "context_length": 9000, "supported_parameters": ["tools"]},
        {"id": "or/eye", "architecture": {"input_modalities": ["text", "image"]}},
        {"id": "or/claude-blind-5", "architecture": {"input_modalities": ["text"]}},
        {"id": "pix", "capabilities": {"vision": True}},
        {"id": "m", "max_context_length": 7, "capabilities": {"function_calling": False}},
        {"id": "mistral-ocr", "capabilities": {"completion_chat": False}},
        {"id": "v", "max_model_len": 5},
        {"id": "l", "meta": {"n_ctx_train": 6}},
        {"id": "claude-sonnet-4-6"},
        {"id": 7},
        {"no": "id"},
        "odd",
    ]
    model_server.error(200, {"data": rows}, match="models")
    found = {model.name: model for model in listed("openai", model_server)}
    assert found == {
        "or/x": Known("or/x", "X: Big", 9000, True, False),
        "or/eye": Known("or/eye", images=True),
        "or/claude-blind-5": Known("or/claude-blind-5", "", 200_000, True, True, False),
        "pix": Known("pix", images=True),
        "m": Known("m", "", 7, False, None),
        "v": Known("v", "", 5),
        "l": Known("l", "", 6),
        "claude-sonnet-4-6": Known("claude-sonnet-4-6", "", 200_000, True, True, True),
    }


def test_what_anthropic_tells_of_its_models_is_taken(model_server: ModelServer) -> None:
    able = {"thinking": {"supported": False}}
    row = {"id": "claude-x", "display_name": "Claude X", "max_input_tokens": 1_000_000, "capabilities": able}
    model_server.error(200, {"data": [row]}, match="models")
    assert listed("anthropic", model_server) == [Known("claude-x", "Claude X", 1_000_000, True, False, True)]


@pytest.mark.parametrize(
    ("status", "body", "content_type", "code"),
    [
        (401, b'{"error": {"message": "bad key"}}', "application/json", "auth"),
        (200, b"<html>", "text/html", "not_json"),
        (200, b'{"hello": 1}', "application/json", "not_json"),
        (302, b"", "text/html", "redirect"),
        (200, b"[" * 50_000, "application/json", "not_json"),
    ],
)
def test_a_list_that_is_none(
    status: int, body: bytes, content_type: str, code: str, model_server: ModelServer
) -> None:
    model_server.raw(body, content_type, status, match="models")
    with pytest.raises(ModelError) as caught:
        listed("openai", model_server)
    assert caught.value.code == code


def test_names_alone_tell_something() -> None:
    assert known("anthropic/claude-opus-4-6").thinking
    assert known("models/gemini-2.5-pro").context_window == 1_048_576
    assert known("gemma2:9b").tools is False
    assert known("gpt-5.6-terra").images
    assert known("qwen3-vl:8b").images
    assert known("gpt-oss-20b").images is False
    assert known("mystery") == Known("mystery")
    assert not is_for_chat("text-embedding-3-large")
    assert is_for_chat("gpt-5.1")


@pytest.mark.parametrize(
    "name", ["Qwen/Qwen3-30B-A3B-Instruct-2507", "mistral-nemo-instruct-2407", "qwen3-4b-instruct-2507"]
)
def test_a_date_after_instruct_hides_no_chat_model(name: str) -> None:
    assert is_for_chat(name)


@pytest.mark.parametrize("name", ["gpt-3.5-turbo-instruct", "gpt-3.5-turbo-instruct-0914"])
def test_the_one_instruct_model_that_can_not_chat_is_hidden(name: str) -> None:
    assert not is_for_chat(name)


def test_every_template_knows_its_models() -> None:
    for template in TEMPLATES:
        for name in template.models:
            assert is_for_chat(name)
            assert known(name).context_window or name == "openrouter/auto"


def provider_at(server: ModelServer, kind: str = "openai", **fields: Any) -> Provider:
    values = {"name": "P", "base_url": server.base_url(kind), **fields}
    provider = Provider(kind=kind, **values)
    provider.set_key(SECRET)
    provider.save()
    return provider


def test_a_new_provider_gets_what_its_server_lists(model_server: ModelServer) -> None:
    provider = provider_at(model_server)
    assert manage.first_models(provider) == ""
    assert [model.name for model in provider.models.all()] == ["scripted-mini", "scripted-model"]
    assert AiModel.objects.filter(is_default=True).count() == 1


def test_a_provider_that_can_not_be_asked_gets_its_presets(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: Any, **__: Any) -> list[Known]:
        raise ModelError("unreachable", "Nobody there.")

    monkeypatch.setattr(manage, "available", unreachable)
    provider = Provider.objects.create(name="A", kind="anthropic", base_url="https://api.anthropic.com")
    assert manage.first_models(provider) == "Nobody there."
    model = provider.models.get(name="claude-sonnet-4-6")
    assert (model.context_window, model.supports_tools, model.supports_thinking) == (200_000, True, True)


def test_adding_again_changes_nothing(model_server: ModelServer) -> None:
    provider = provider_at(model_server)
    (model,) = manage.add_models(provider, [Known("x", context_window=10)])
    model.context_window = 20
    model.save()
    manage.add_models(provider, [Known("x", context_window=10)])
    assert provider.models.get().context_window == 20


@pytest.mark.parametrize("kind", KINDS)
def test_a_good_connection(
    kind: str, model_server: ModelServer, make_provider: Callable[..., AiModel]
) -> None:
    outcome = manage.try_connection(make_provider(kind).provider)
    assert (outcome.kind, outcome.message) == ("ok", "Connected. scripted-model replies.")


def test_without_a_model_the_list_is_the_test(model_server: ModelServer) -> None:
    outcome = manage.try_connection(provider_at(model_server))
    assert outcome.ok
    assert "2 models" in outcome.message


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_key_is_told_from_a_dead_network_and_the_rest(
    kind: str, model_server: ModelServer, make_provider: Callable[..., AiModel]
) -> None:
    provider = make_provider(kind).provider
    model_server.error(401, {"error": {"message": f"bad key {SECRET}"}})
    wrong_key = manage.try_connection(provider)
    assert wrong_key.kind == "key"
    model_server.error(404, {"error": {"message": "model not found"}})
    assert manage.try_connection(provider).kind == "other"
    model_server.close()
    dead = manage.try_connection(provider)
    assert dead.kind == "network"
    assert SECRET not in wrong_key.message + dead.message


def test_a_list_that_is_not_there_blames_the_address_unless_a_model_answers(
    model_server: ModelServer, make_provider: Callable[..., AiModel]
) -> None:
    provider = make_provider().provider
    model_server.error(404, match="models")
    assert manage.try_connection(provider).ok
    model_server.error(404, match="models")
    model_server.error(404)
    outcome = manage.try_connection(provider)
    assert (outcome.kind, outcome.field) == ("address", "base_url")


def test_a_key_is_tried_with_a_model_where_the_list_is_for_everybody(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = replace(BY_KEY["openrouter"], base_url=model_server.base_url(), models=("scripted-mini",))
    monkeypatch.setattr(presets, "TEMPLATES", (template,))
    provider = Provider(name="Draft", kind="openai", base_url=model_server.base_url())
    provider.set_key(SECRET)
    assert manage.try_connection(provider).message == "Connected. scripted-mini replies."
    model_server.error(401)
    outcome = manage.try_connection(provider)
    assert (outcome.kind, len(outcome.models)) == ("key", 2)


def test_a_test_takes_no_longer_than_it_may(
    model_server: ModelServer, make_provider: Callable[..., AiModel]
) -> None:
    model_server.hang()
    outcome = manage.try_connection(make_provider().provider, seconds=0.6)
    assert outcome.ok
    assert "loading" in outcome.message


def test_an_unreadable_key_is_a_fault_of_the_key(
    make_provider: Callable[..., AiModel], settings: Any
) -> None:
    provider = make_provider().provider
    settings.SECRET_KEY = "another"
    assert manage.try_connection(provider).kind == "key"


def defaults() -> list[AiModel]:
    return list(AiModel.objects.filter(is_default=True))


def test_there_is_exactly_one_default(make_provider: Callable[..., AiModel]) -> None:
    first, second, third = (make_provider(name=f"P{n}") for n in range(3))
    assert defaults() == [first]
    assert manage.set_default(second)
    assert defaults() == [second]
    manage.remove_model(second)
    assert defaults() == [first]
    manage.remove(first.provider)
    assert defaults() == [third]
    Provider.objects.filter(pk=third.provider_id).update(enabled=False)
    assert manage.ensure_default() is None
    assert defaults() == []
    assert not manage.set_default(third)
    Provider.objects.filter(pk=third.provider_id).update(enabled=True)
    assert manage.ensure_default() == third


def test_the_starter_gives_way_to_a_real_model(make_provider: Callable[..., AiModel]) -> None:
    starter = make_provider(name="Starter", origin=Provider.Origin.STARTER)
    assert manage.ensure_default() == starter
    real = make_provider(name="Real")
    assert manage.ensure_default() == real
    assert defaults() == [real]


def test_names_are_free(make_provider: Callable[..., AiModel]) -> None:
    assert manage.free_name("Ollama") == "Ollama"
    make_provider(name="Ollama")
    make_provider(name="Ollama 2")
    assert manage.free_name("Ollama") == "Ollama 3"
