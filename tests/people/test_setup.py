"""The first account is made once, by somebody at the machine or somebody who was told the code."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client

from chat.models import Provider
from oneclaw.server import peers
from people import setup
from people.models import User
from tests.neighbour import neighbour

FORM = {"username": "ada", "password1": "correct horse battery", "password2": "correct horse battery"}


@pytest.fixture
def client() -> Iterator[Client]:
    """A browser on the machine itself."""
    with neighbour() as browser:
        yield browser


@pytest.mark.django_db
def test_the_first_visit_leads_to_the_set_up(client: Client) -> None:
    assert client.get("/", follow=True).redirect_chain[-1] == ("/setup/", 302)
    assert b"Set-up code" not in client.get("/setup/").content


@pytest.mark.django_db
def test_the_set_up_makes_an_admin_and_logs_in(client: Client) -> None:
    response = client.post("/setup/", FORM)
    assert response.status_code == 302
    user = User.objects.get()
    assert (user.username, user.is_staff, user.is_superuser) == ("ada", True, True)
    assert client.session["_auth_user_id"] == str(user.pk)


@pytest.mark.django_db
def test_after_the_set_up_comes_a_provider_unless_there_is_one(client: Client) -> None:
    assert client.post("/setup/", FORM).url == "/settings/providers/"  # type: ignore[attr-defined]
    User.objects.all().delete()
    Provider.objects.create(name="A", kind="openai", base_url="http://127.0.0.1:1/v1")
    assert client.post("/setup/", FORM).url == "/"  # type: ignore[attr-defined]


@pytest.mark.django_db
def test_the_set_up_is_closed_once_there_is_an_account(client: Client, ada: User) -> None:
    for response in (client.get("/setup/"), client.post("/setup/", FORM | {"username": "eve"})):
        assert response.url == "/login/"  # type: ignore[attr-defined]
    assert User.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    "elsewhere",
    [
        {"REMOTE_ADDR": "192.168.1.20"},
        {"HTTP_X_FORWARDED_FOR": "203.0.113.9"},
        {"HTTP_HOST": "oneclaw.example"},
        {"HTTP_X_FORWARDED_PROTO": "https"},
        {"HTTP_X_FORWARDED_PREFIX": "/x"},
        {"HTTP_X_REAL_IP": "127.0.0.1"},
        {"HTTP_FORWARDED": "for=127.0.0.1"},
        {"HTTP_VIA": "1.1 proxy"},
        {"HTTP_CF_CONNECTING_IP": "203.0.113.9"},
        {"HTTP_TRUE_CLIENT_IP": "203.0.113.9"},
        {"HTTP_X_CLIENT_IP": "203.0.113.9"},
        # What nginx sends when nothing but proxy_pass is set: its own address as host, in HTTP 1.0.
        {"SERVER_PROTOCOL": "HTTP/1.0"},
        # A browser tells where it is, whatever the proxy makes of the host.
        {"HTTP_ORIGIN": "https://oneclaw.example"},
        {"HTTP_REFERER": "https://oneclaw.example/"},
    ],
)
def test_from_elsewhere_the_set_up_wants_the_code(
    client: Client, settings, elsewhere: dict[str, str]
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    settings.CSRF_TRUSTED_ORIGINS = ["https://oneclaw.example"]
    assert b"Set-up code" in client.get("/setup/", **elsewhere).content  # type: ignore[arg-type]
    for code in ("", "AAAA-AAAA-AAAA"):
        response = client.post("/setup/", FORM | {"code": code}, **elsewhere)  # type: ignore[arg-type]
        assert response.status_code == 200
        assert b"ada" in response.content  # what was typed is not lost
    assert not User.objects.exists()
    typed = setup.code().lower().replace("-", " ")
    response = client.post("/setup/", FORM | {"code": typed}, **elsewhere)  # type: ignore[arg-type]
    assert response.status_code == 302
    assert User.objects.get().is_superuser
    assert not setup.code_file().exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "here",
    [
        {},
        {"REMOTE_ADDR": "::1", "HTTP_HOST": "[::1]:8000"},
        {"HTTP_ORIGIN": "http://localhost:8000", "HTTP_REFERER": "http://localhost:8000/setup/"},
        {"HTTP_ORIGIN": "null"},
        {"HTTP_CONNECTION": "close"},
    ],
)
def test_at_the_machine_itself_it_does_not(client: Client, here: dict[str, str]) -> None:
    assert b"Set-up code" not in client.get("/setup/", **here).content  # type: ignore[arg-type]


@pytest.mark.django_db
def test_another_account_on_the_machine_wants_the_code(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy of any version with nothing but proxy_pass: it is local in every way, but it is not you."""
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert b"Set-up code" in client.get("/setup/").content
    client.post("/setup/", FORM)
    assert not User.objects.exists()


@pytest.mark.django_db
def test_where_the_system_does_not_tell_whose_a_connection_is_the_code_is_wanted(
    client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for table in ("", "sl local\n0: nonsense\n", "sl local\n 0: ZZ:1 ZZ:2 01 0 0 0 0 0\n"):
        (tmp_path / "tcp").write_text(table)
        monkeypatch.setattr(peers, "TABLES", (tmp_path / "tcp", tmp_path / "missing"))
        assert b"Set-up code" in client.get("/setup/").content


@pytest.mark.django_db
def test_a_link_brings_the_code_along(client: Client) -> None:
    page = client.get("/setup/?code=ABCD-EFGH-JKMN", headers={"via": "1.1 proxy"}).content.decode()
    assert 'value="ABCD-EFGH-JKMN"' in page


@pytest.mark.django_db
def test_a_code_that_is_asked_for_lies_in_the_data_folder(client: Client) -> None:
    client.get("/setup/")
    assert not setup.code_file().exists()
    client.get("/setup/", headers={"via": "1.1 proxy"})
    assert setup.is_code(setup.code_file().read_text())


def test_the_code_is_kept_for_its_owner_alone() -> None:
    assert setup.code() == setup.code()
    assert setup.code_file().stat().st_mode & 0o777 == 0o600


@pytest.mark.django_db
@pytest.mark.parametrize(
    "change",
    [{"password1": "123", "password2": "123"}, {"password2": "different horse"}, {"username": ".hidden"}],
)
def test_a_bad_first_account_comes_back_with_the_form(client: Client, change: dict[str, str]) -> None:
    response = client.post("/setup/", FORM | change)
    assert response.status_code == 200
    assert response.context["form"].errors
    assert not User.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_two_first_admins_at_once_only_one_is_made() -> None:
    start, outcomes = threading.Barrier(2), []

    def make(name: str) -> None:
        start.wait(60)
        try:
            outcomes.append(setup.create_first_admin(name, "correct horse battery").username)
        except setup.AlreadySetUp:
            outcomes.append("late")
        finally:
            connection.close()

    threads = [threading.Thread(target=make, args=[name]) for name in ("ada", "eve")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert User.objects.count() == 1
    assert sorted(outcomes) == sorted(["late", User.objects.get().username])
