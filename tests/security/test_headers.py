"""What every answer says to the browser: keep nothing private, frame nothing, come back by HTTPS."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from django.test import Client

from people.models import User
from tests.running import Running, oneclaw
from tests.security.victim import DAY, Victim

# May be kept by a browser: the same for everybody, and nothing in it is anybody's.
PUBLIC = ("/manifest.webmanifest", "/service-worker.js", "/offline/")


def pages(victim: Victim) -> list[str]:
    chat = f"/chat/{victim.session.pk}"
    return [
        "/",
        f"{chat}/",
        f"{chat}/older/",
        f"{chat}/export.json",
        f"{chat}/messages/{victim.message.pk}/text/",
        "/chat/search/?q=x",
        "/memory/",
        f"/memory/logs/{DAY}/",
        f"/memory/history/{victim.revision.pk}/",
        "/memory/stats/",
        "/settings/profile/",
        "/settings/agents/",
        "/no/such/page/",
    ]


@pytest.mark.parametrize("htmx", [False, True])
def test_no_private_page_is_kept_by_the_browser(client: Client, victim: Victim, htmx: bool) -> None:
    headers = {"HX-Request": "true"} if htmx else {}
    assert "no-store" in client.get("/login/")["Cache-Control"]
    client.force_login(victim.user)
    for page in pages(victim):
        answer = client.get(page, headers=headers)
        assert "no-store" in answer["Cache-Control"], page
    answer = client.post(f"/chat/{victim.session.pk}/rename/", {"title": "Trains"}, headers=headers)
    assert "no-store" in answer["Cache-Control"]


def test_what_is_everybodys_may_be_kept(client: Client, ada: User) -> None:
    client.force_login(ada)
    for page in PUBLIC:
        answer = client.get(page)
        assert answer.status_code == 200
        assert "no-store" not in answer["Cache-Control"], page


def test_pages_are_neither_framed_nor_guessed_at(client: Client, victim: Victim) -> None:
    client.force_login(victim.user)
    for page in pages(victim):
        answer = client.get(page)
        assert answer["X-Frame-Options"] == "DENY"
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Referrer-Policy"] == "same-origin"
        policy = answer["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A OneClaw that is told of a proxy with HTTPS in front of it."""
    folder: Path = tmp_path_factory.mktemp("secure")
    with oneclaw(folder, ONECLAW_HTTPS="1", ONECLAW_HOSTS="oneclaw.example.org") as running:
        yield running


FORWARDED = {
    "X-Forwarded-Proto": "https",
    "X-Forwarded-For": "203.0.113.9",
    "X-Forwarded-Host": "oneclaw.example.org",
}


def test_behind_https_the_browser_is_told_to_stay_there(secure: Running) -> None:
    by_proxy = httpx.get(f"{secure.url}/setup/", headers=FORWARDED, timeout=60)
    assert by_proxy.status_code == 200
    assert "max-age=15552000" in by_proxy.headers["Strict-Transport-Security"]
    assert all("Secure" in cookie for cookie in by_proxy.headers.get_list("set-cookie"))
    # Never over plain HTTP, where it would mean nothing.
    assert "Strict-Transport-Security" not in httpx.get(f"{secure.url}/setup/", timeout=60).headers


def test_behind_https_the_set_up_always_wants_the_code(secure: Running) -> None:
    for headers in ({}, FORWARDED):
        assert "Set-up code" in httpx.get(f"{secure.url}/setup/", headers=headers, timeout=60).text


def test_static_files_are_kept_as_before(secure: Running) -> None:
    page = httpx.get(f"{secure.url}/setup/", headers=FORWARDED, timeout=60).text
    style = page.split('rel="stylesheet" href="')[1].split('"')[0]
    assert "immutable" in httpx.get(f"{secure.url}{style}", timeout=60).headers["Cache-Control"]
