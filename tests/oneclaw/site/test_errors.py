"""Whatever goes wrong, there is a page that says what to do."""

import pytest
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import HttpRequest
from django.test import Client, RequestFactory
from pytest_django.fixtures import Settings

from oneclaw.site import errors
from people.models import User


@pytest.mark.django_db
def test_an_unknown_address_is_a_page_that_leads_home(client: Client) -> None:
    response = client.get("/no/such/page")
    assert response.status_code == 404
    assert b"There is nothing at this address" in response.content
    assert b'href="/"' in response.content


@pytest.mark.django_db
def test_an_unknown_host_is_told_of_the_setting(client: Client, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]
    response = client.get("/login/", headers={"host": "evil.example"})
    assert response.status_code == 400
    assert b"ONECLAW_HOSTS" in response.content


def test_a_form_that_is_too_large_is_a_page(client: Client, ada: User, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    response = client.post("/login/", {"username": "x" * 2000})
    assert response.status_code == 413
    assert b"larger than OneClaw accepts" in response.content


def test_a_crash_is_a_page_that_asks_the_database_nothing(client: Client, monkeypatch) -> None:
    def broken() -> bool:
        raise RuntimeError("boom")

    monkeypatch.setattr("people.views.first.is_needed", broken)
    client.raise_request_exception = False
    response = client.get("/login/")
    assert response.status_code == 500
    assert b"Something went wrong" in response.content
    assert b"boom" not in response.content


@pytest.fixture
def from_htmx(rf: RequestFactory) -> HttpRequest:
    request = rf.get("/")
    request.htmx = True  # type: ignore[attr-defined]
    return request


@pytest.mark.parametrize(
    ("handler", "arguments", "status"),
    [
        (errors.bad_request, [RequestDataTooBig()], 413),
        (errors.bad_request, [ValueError()], 400),
        (errors.forbidden, [PermissionDenied("This page is for admins.")], 403),
        (errors.csrf_failure, [], 403),
        (errors.not_found, [ValueError()], 404),
        (errors.server_error, [], 500),
    ],
)
def test_htmx_gets_a_sentence_instead_of_a_page(from_htmx: HttpRequest, handler, arguments, status) -> None:
    response = handler(from_htmx, *arguments)
    assert response.status_code == status
    assert response["Content-Type"].startswith("text/plain")
    assert b"<" not in response.content


@pytest.mark.django_db
def test_the_policy_lets_no_inline_script_and_no_other_host_in(client: Client) -> None:
    for address in ("/setup/", "/no/such/page"):
        response = client.get(address)
        policy = response["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert b"<script>" not in response.content
        assert b" style=" not in response.content
        assert b"https://" not in response.content
