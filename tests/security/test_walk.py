"""Every address of the map, asked by those who have no business there: nothing is seen or changed."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.http import HttpResponseBase
from django.test import Client

from chat.models import AiModel, Provider
from people.models import User
from tests.security.urls import Address, addresses, form, patterns
from tests.security.victim import SECRET, Victim, unfilled

# Open to everybody: log-in, set-up, and what lets a phone install the app.
OPEN = {"setup/", "login/", "logout/", "manifest.webmanifest", "service-worker.js", "offline/", "healthz"}
# For programs: a token lets in, and a log-in does not.
BY_TOKEN = {"v1/models", "v1/models/<path:model_name>", "v1/chat/completions"}
# What else such programs may ask for: nothing is there for anybody.
NOT_THERE = {"v1", "v1/", "v1/<path:rest>"}
HTMX: tuple[dict[str, str], ...] = ({}, {"HX-Request": "true", "HX-Current-URL": "http://localhost/"})


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Thousands of refusals are no news."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def model(db: None) -> AiModel:
    """A provider that nobody answers for."""
    provider = Provider.objects.create(name="Nobody", kind="openai", base_url="http://127.0.0.1:9/v1")
    return AiModel.objects.create(provider=provider, name="a-model")


def ask(
    client: Client, method: str, address: Address, sent: dict[str, Any], htmx: dict[str, str]
) -> HttpResponseBase:
    send: Callable[..., HttpResponseBase] = getattr(client, method)
    return send(address.path, sent if method == "post" else None, headers={"host": "localhost", **htmx})


def body(answer: HttpResponseBase) -> str:
    """All that an answer tells, headers too."""
    assert not answer.streaming, "A stream was opened for a stranger."
    content: bytes = getattr(answer, "content", b"")
    return content.decode("utf-8", "replace") + str(dict(answer.items()))


def walk(
    client: Callable[[], Client], victim: Victim, all_of: list[Address], fine: Callable[[Address, int], bool]
) -> None:
    """Ask for each address in each way, and look at what came back and what became of the victim's things."""
    before, sent, wrong = victim.snapshot(), form(victim), list[str]()
    for address in all_of:
        for method in ("get", "post"):
            for htmx in HTMX:
                answer = ask(client(), method, address, sent, htmx)
                told = f"{method} {address.path} {'htmx ' if htmx else ''}→ {answer.status_code}"
                if not fine(address, answer.status_code):
                    wrong.append(told)
                elif SECRET in body(answer):
                    wrong.append(f"{told} told the secret")
    after = victim.snapshot()
    wrong += [f"{name} was changed" for name in before if before[name] != after.get(name)]
    wrong += [f"{name} was made" for name in after if name not in before]
    assert not wrong, "\n".join(wrong)


def always(user: User) -> Callable[[], Client]:
    """A client that is logged in again whenever it was logged out on the way."""
    client = Client(raise_request_exception=False)
    client.force_login(user)
    cookie = client.cookies["sessionid"].value

    def get() -> Client:
        if client.cookies["sessionid"].value != cookie or not client.session.get("_auth_user_id"):
            # Another device's log-in may have been ended meanwhile, and with it this row's salt.
            user.refresh_from_db()
            client.force_login(user)
        return client

    return get


def test_there_is_something_to_find(victim: Victim) -> None:
    assert unfilled() == []
    client = Client(headers={"host": "localhost"})
    client.force_login(victim.user)
    for page in (f"/chat/{victim.session.pk}/", "/memory/", f"/settings/agents/{victim.agent.pk}/"):
        assert SECRET in client.get(page).content.decode()


def test_every_address_is_walked(victim: Victim, model: AiModel) -> None:
    found = addresses(victim, model)
    assert {address.route for address in found} == {route for route, _ in patterns()}
    assert sum(address.personal for address in found) > 100


def test_nobody_sees_or_changes_anything(victim: Victim, model: AiModel) -> None:
    def fine(address: Address, status: int) -> bool:
        # Strangers are led to the log-in: by a redirect, or as htmx understands it.
        if address.route in BY_TOKEN:
            return status in (401, 405)
        if address.route in NOT_THERE:
            return status == 404
        return status in ((200, 302, 405) if address.route in OPEN else (204, 302, 403, 404, 405))

    walk(lambda: Client(raise_request_exception=False), victim, addresses(victim, model), fine)


def test_another_user_sees_and_changes_nothing(victim: Victim, model: AiModel, ben: User) -> None:
    def fine(address: Address, status: int) -> bool:
        if address.route.startswith(
            ("admin/", "settings/providers/", "settings/models/", "settings/people/")
        ):
            return status in (302, 403, 404, 405)
        # The same day and file name may be asked for of one's own.
        own = address.route.startswith(("memory/logs/", "memory/backups/"))
        return status in (404, 405) or (status == 302 and own) if address.personal else status < 500

    walk(always(ben), victim, addresses(victim, model), fine)


def test_an_admin_sees_and_changes_nothing_of_anothers(victim: Victim, model: AiModel, ada: User) -> None:
    # Accounts are an admin's to disable and to help with a new password; what is in them is not.
    theirs = ("admin/", "settings/people/<int:person_id>/")
    found = [address for address in addresses(victim, model) if not address.route.startswith(theirs)]

    def fine(address: Address, status: int) -> bool:
        own = address.route.startswith(("memory/logs/", "memory/backups/"))
        return status in (404, 405) or (status == 302 and own) if address.personal else status < 500

    walk(always(ada), victim, found, fine)


def test_every_post_wants_the_token_of_its_form(victim: Victim, model: AiModel, ada: User) -> None:
    """As the owner and as an admin, from another site's page: refused before any view is asked."""
    client = Client(enforce_csrf_checks=True, headers={"host": "localhost"})
    wrong, sent = list[str](), form(victim)
    for user, methods in ((victim.user, ("post", "put", "patch", "delete")), (ada, ("post",))):
        client.force_login(user)
        before = victim.snapshot()
        for address in addresses(victim, model):
            for method in methods:
                answer = getattr(client, method)(address.path, sent if method == "post" else "")
                if address.route in BY_TOKEN and answer.status_code in (401, 405):
                    continue
                if address.route in NOT_THERE and answer.status_code == 404:
                    continue
                if answer.status_code != 403 or b"out of date" not in answer.content:
                    wrong.append(f"{method} {address.path} → {answer.status_code}")
        assert victim.snapshot() == before
    assert not wrong, "\n".join(wrong)


def test_no_view_is_exempt_from_the_token() -> None:
    exempt = {route for route, pattern in patterns() if getattr(pattern.callback, "csrf_exempt", False)}
    assert exempt <= BY_TOKEN | NOT_THERE


@pytest.mark.parametrize("token", ["", "x", "x" * 32, "x" * 64])
def test_a_guessed_token_is_none(victim: Victim, token: str) -> None:
    client = Client(enforce_csrf_checks=True, headers={"host": "localhost"})
    client.force_login(victim.user)
    client.get("/")
    client.cookies["csrftoken"] = "y" * 32
    for sent, headers in (({"csrfmiddlewaretoken": token}, {}), ({}, {"X-CSRFToken": token})):
        answer = client.post(f"/chat/{victim.session.pk}/rename/", {"title": "mine", **sent}, headers=headers)
        assert answer.status_code == 403


def test_another_sites_form_is_refused_even_with_the_token(victim: Victim) -> None:
    client = Client(enforce_csrf_checks=True, headers={"host": "localhost"})
    client.force_login(victim.user)
    client.cookies["csrftoken"] = "y" * 32
    sent = {"title": "mine", "csrfmiddlewaretoken": "y" * 32}
    page = f"/chat/{victim.session.pk}/rename/"
    assert client.post(page, sent, headers={"Origin": "https://evil.example"}).status_code == 403
    assert client.post(page, sent, headers={"Origin": "http://localhost"}).status_code == 302
