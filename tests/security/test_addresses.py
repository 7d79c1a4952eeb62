"""Where a request to a provider may go: not where a redirect leads, and not inside if that is forbidden."""

import socket
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from chat.adapters import addresses, client
from chat.errors import ModelError
from chat.models import AiModel, Provider
from chat.providers import catalogue, discovery, manage
from tests.chat.adapters.exchanges import answer, failure, request_to, text_of
from tests.modelserver import ModelServer
from tests.security import hostile

OUTSIDE = "93.184.215.14"


@pytest.fixture
def outside_only(settings: Settings) -> None:
    settings.PRIVATE_PROVIDERS = False


def listing_fault(kind: str, base_url: str) -> ModelError:
    with pytest.raises(ModelError) as caught:
        client.run_alone(catalogue.models(kind, base_url, "sk-key", seconds=10))
    return caught.value


# Redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("kind", hostile.KINDS)
async def test_no_request_for_an_answer_follows_a_redirect(
    kind: str, status: int, model_server: ModelServer
) -> None:
    model_server.redirect(f"{model_server.base_url(kind)}/elsewhere", status)
    error, events = await failure(request_to(kind, model_server))
    assert (error.code, events) == ("redirect", [])
    assert len(model_server.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("kind", hostile.KINDS)
def test_no_request_for_a_list_follows_a_redirect(kind: str, status: int, model_server: ModelServer) -> None:
    model_server.error(status, headers={"Location": f"{model_server.url}/other/v1/models"}, match="models")
    assert listing_fault(kind, model_server.base_url(kind)).code == "redirect"
    assert len(model_server.requests) == 1


def test_what_a_local_server_adds_to_its_list_is_not_followed_either(model_server: ModelServer) -> None:
    row = {"id": "qwen", "object": "model", "owned_by": "llamacpp"}
    model_server.error(200, {"object": "list", "data": [row]}, match="models")
    model_server.error(302, headers={"Location": f"{model_server.url}/elsewhere"}, match="models")
    found = client.run_alone(catalogue.models("openai", model_server.base_url()))
    assert [model.name for model in found] == ["qwen"]
    assert [request.path for request in model_server.requests] == ["/v1/models", "/props"]


# Private addresses


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "0.0.0.0", "255.255.255.255", "224.0.0.1", "::1", "::", "fe80::1", "fe80::1%1", "fd00:ec2::254",
        "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "ff02::1",
        "nonsense",
    ],
)  # fmt: skip
def test_an_address_that_is_none_of_the_internets_is_inside(address: str) -> None:
    assert addresses.is_inside(address)


@pytest.mark.parametrize("address", [OUTSIDE, "2606:4700::6810:84e5", "::ffff:93.184.215.14"])
def test_an_address_of_the_internet_is_not_inside(address: str) -> None:
    assert not addresses.is_inside(address)


@pytest.mark.parametrize("kind", hostile.KINDS)
async def test_a_provider_on_this_machine_is_allowed_unless_forbidden(
    kind: str, model_server: ModelServer
) -> None:
    model_server.reply("Hello")
    assert text_of(await answer(request_to(kind, model_server))) == "Hello"


@pytest.mark.parametrize("kind", hostile.KINDS)
async def test_a_forbidden_provider_is_told_in_a_sentence_and_never_asked(
    kind: str, model_server: ModelServer, outside_only: None
) -> None:
    error, events = await failure(request_to(kind, model_server))
    assert (error.code, error.message, events) == ("unreachable", addresses.INSIDE, [])
    assert not model_server.requests


@pytest.mark.parametrize("kind", hostile.KINDS)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"])
def test_no_way_of_writing_an_address_gets_inside(
    kind: str, host: str, model_server: ModelServer, outside_only: None
) -> None:
    base_url = model_server.base_url(kind).replace("127.0.0.1", host)
    assert listing_fault(kind, base_url).message == addresses.INSIDE
    assert not model_server.requests


@pytest.mark.parametrize("address", ["169.254.169.254", "10.0.0.1", "192.168.0.1", "[fd00:ec2::254]"])
def test_an_address_inside_is_not_even_connected_to(
    address: str, outside_only: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connects(*_: object) -> None:
        raise AssertionError("A connection was tried.")

    monkeypatch.setattr(socket.socket, "connect", connects)
    monkeypatch.setattr(socket.socket, "connect_ex", connects)
    assert listing_fault("openai", f"http://{address}/v1").message == addresses.INSIDE


def test_a_name_that_changes_its_address_meanwhile_is_told_nothing(
    model_server: ModelServer, outside_only: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first look finds an address of the internet, the connection then goes to loopback."""

    async def outside(host: str) -> list[str]:
        return [OUTSIDE]

    monkeypatch.setattr(addresses, "_addresses", outside)
    base_url = model_server.base_url().replace("127.0.0.1", "localhost")
    assert listing_fault("openai", base_url).message == addresses.INSIDE
    assert not model_server.requests


def test_a_proxy_of_the_owners_may_be_inside(
    model_server: ModelServer, outside_only: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scripted server is the proxy here: it is asked for the whole address of what is outside."""
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, model_server.url)
    found = client.run_alone(catalogue.models("openai", f"http://{OUTSIDE}/v1"))
    assert [model.name for model in found] == ["scripted-mini", "scripted-model"]
    assert listing_fault("openai", "http://169.254.169.254/v1").message == addresses.INSIDE
    assert len(model_server.requests) == 1


def test_the_client_asks_before_every_request() -> None:
    async def hooks() -> list[Callable[..., Any]]:
        return client.client().event_hooks["request"]

    assert client.run_alone(hooks()) == [addresses.watch]


@pytest.mark.django_db
def test_an_admin_is_told_why_the_new_provider_has_no_models(
    admin: Client, model_server: ModelServer, outside_only: None
) -> None:
    fields = {"name": "Router", "kind": "openai", "base_url": model_server.base_url(), "enabled": "on"}
    page = admin.post(reverse("settings:new_provider"), fields, follow=True)
    assert "inside a private network" in page.content.decode()
    assert not model_server.requests


@pytest.mark.django_db
def test_what_the_machines_owner_set_up_is_allowed(
    make_provider: Callable[..., AiModel], model_server: ModelServer, outside_only: None
) -> None:
    for origin in (Provider.Origin.ENVIRONMENT, Provider.Origin.LOCAL, Provider.Origin.STARTER):
        given = make_provider(name=origin, origin=origin).provider
        assert manage.try_connection(given).ok
        assert manage.available(given)
    for origin in (Provider.Origin.FORM, Provider.Origin.FOUND):
        outcome = manage.try_connection(make_provider(name=origin, origin=origin).provider)
        assert (outcome.kind, outcome.message) == ("network", addresses.INSIDE)


def test_nothing_is_found_on_this_machine_where_it_is_forbidden(
    model_server: ModelServer, outside_only: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "PLACES", [("Ollama", model_server.base_url())])
    assert discovery.discover() == []
    assert not model_server.requests
