"""Logging in and out, throttling, and coming back to where one was."""

from datetime import timedelta

import pytest
import time_machine
from axes.models import AccessAttempt
from django.test import Client, RequestFactory
from django.utils import timezone

from people import throttle
from people.models import User

PASSWORD = "correct horse battery"


def attempt(client: Client, username: str, password: str, **extra: str):
    return client.post("/login/", {"username": username, "password": password}, **extra)  # type: ignore[arg-type]


def test_a_name_is_found_however_it_is_capitalised(client: Client, ada: User) -> None:
    assert attempt(client, "ADA", PASSWORD).status_code == 302
    assert client.session["_auth_user_id"] == str(ada.pk)


def test_a_wrong_password_comes_back_with_the_name(client: Client, ada: User) -> None:
    response = attempt(client, "ada", "wrong")
    assert response.status_code == 200
    assert b'value="ada"' in response.content
    assert b"Wrong username or password" in response.content


def test_the_sixth_attempt_is_refused_with_a_page_even_with_the_right_password(
    client: Client, ada: User
) -> None:
    # Writing the name otherwise earns no further attempts.
    for name in ("ada", "ADA", "Ada", " ada", "ａda"):
        response = attempt(client, name, "wrong")
    assert response.status_code == 429
    response = attempt(client, "ada", PASSWORD)
    assert response.status_code == 429
    assert b"Too many attempts" in response.content
    assert "_auth_user_id" not in client.session


def test_others_can_log_in_meanwhile(client: Client, ada: User, ben: User) -> None:
    for _ in range(6):
        attempt(client, "ada", "wrong")
    assert attempt(client, "ben", PASSWORD).status_code == 302
    assert attempt(Client(), "ada", PASSWORD, REMOTE_ADDR="192.0.2.9").status_code == 302


def test_log_in_returns_to_the_page_that_asked_for_it(client: Client, ada: User) -> None:
    response = client.get("/settings/profile/?tab=2")
    assert response.url == "/login/?next=/settings/profile/%3Ftab%3D2"  # type: ignore[attr-defined]
    page = client.get(response.url)  # type: ignore[attr-defined]
    assert page.context["next"] == "/settings/profile/?tab=2"


def test_log_in_never_leads_to_another_site(client: Client, ada: User) -> None:
    form = {"username": "ada", "password": PASSWORD, "next": "https://evil.example/"}
    assert client.post("/login/", form).url == "/"  # type: ignore[attr-defined]


def test_an_expired_session_takes_htmx_to_the_log_in_as_a_whole_page(client: Client, ada: User) -> None:
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/chat/1/?q=x"}
    response = client.post("/settings/profile/", headers=headers)
    assert response.status_code == 204
    assert response["HX-Redirect"] == "/login/?next=/chat/1/%3Fq%3Dx"


def test_an_expired_session_takes_a_form_back_to_its_page(client: Client, ada: User) -> None:
    here, elsewhere = "http://testserver/settings/profile/", "https://evil.example/trap"
    response = client.post("/people/zone/", headers={"Referer": here})
    assert response.url == "/login/?next=/settings/profile/"  # type: ignore[attr-defined]
    response = client.post("/people/zone/", headers={"Referer": elsewhere})
    assert response.url == "/login/?next=/"  # type: ignore[attr-defined]


def test_log_out_wants_a_post(client: Client, ada: User) -> None:
    client.force_login(ada)
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/").status_code == 302
    assert "_auth_user_id" not in client.session


def test_the_session_cookie_is_kept_from_scripts_and_other_sites(client: Client, ada: User) -> None:
    cookie = attempt(client, "ada", PASSWORD).cookies["sessionid"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


def test_a_forged_form_is_refused_with_a_page(ada: User) -> None:
    client = Client(enforce_csrf_checks=True)
    response = attempt(client, "ada", PASSWORD)
    assert response.status_code == 403
    assert b"This page is out of date" in response.content


@pytest.mark.django_db
def test_before_there_is_anybody_log_in_leads_to_the_set_up(client: Client) -> None:
    assert client.get("/login/").url == "/setup/"  # type: ignore[attr-defined]


def guess(count: int, address: str, start: int = 0) -> None:
    """Wrong passwords for as many names, from one address."""
    for number in range(start, start + count):
        attempt(Client(), f"name{number}", "wrong", REMOTE_ADDR=address)


def test_one_address_may_not_try_names_without_end(client: Client, ada: User) -> None:
    guess(throttle.MOST_FROM_AN_ADDRESS, "192.0.2.7")
    response = attempt(client, "ada", PASSWORD, REMOTE_ADDR="192.0.2.7")
    assert response.status_code == 429
    assert b"Too many attempts" in response.content
    assert "_auth_user_id" not in client.session
    assert attempt(Client(), "ada", PASSWORD, REMOTE_ADDR="192.0.2.8").status_code == 302


def test_a_household_mistypes_without_being_shut_out(client: Client, ada: User, ben: User) -> None:
    for number in range(4):
        attempt(Client(), "ada", f"wrong{number}", REMOTE_ADDR="192.0.2.7")
        attempt(Client(), "ben", f"wrong{number}", REMOTE_ADDR="192.0.2.7")
    assert attempt(client, "ada", PASSWORD, REMOTE_ADDR="192.0.2.7").status_code == 302


def test_a_browser_that_logged_in_before_gets_in_while_others_there_guess(ada: User, ben: User) -> None:
    device = Client()
    for name in ("ada", "ben"):
        assert attempt(device, name, PASSWORD, REMOTE_ADDR="192.0.2.7").status_code == 302
        device.post("/logout/")
    guess(throttle.MOST_FROM_AN_ADDRESS, "192.0.2.7")
    assert attempt(device, "Ada", PASSWORD, REMOTE_ADDR="192.0.2.7").status_code == 302
    device.post("/logout/")
    assert attempt(device, "eve", PASSWORD, REMOTE_ADDR="192.0.2.7").status_code == 429
    device.cookies[throttle.DEVICE] = "ada:forged"
    assert attempt(device, "ada", PASSWORD, REMOTE_ADDR="192.0.2.7").status_code == 429


def test_the_addresses_of_one_network_count_together(client: Client, ada: User) -> None:
    for number in range(throttle.MOST_FROM_AN_ADDRESS):
        guess(1, f"2001:db8:1:2::{number:x}", start=number)
    assert attempt(client, "ada", PASSWORD, REMOTE_ADDR="2001:db8:1:2:ffff::1").status_code == 429
    assert attempt(client, "ada", PASSWORD, REMOTE_ADDR="2001:db8:1:3::1").status_code == 302


def test_an_address_is_free_again_after_a_while(client: Client, ada: User) -> None:
    guess(throttle.MOST_FROM_AN_ADDRESS, "192.0.2.7")
    with time_machine.travel(timezone.now() + timedelta(minutes=16), tick=False):
        assert attempt(client, "ada", PASSWORD, REMOTE_ADDR="192.0.2.7").status_code == 302


def test_an_admin_lifts_the_limit(client: Client, ada: User) -> None:
    guess(throttle.MOST_FROM_AN_ADDRESS, "192.0.2.7")
    client.force_login(ada)
    rows = [str(key) for key in AccessAttempt.objects.values_list("pk", flat=True)]
    chosen = {"action": "delete_selected", "_selected_action": rows, "post": "yes"}
    client.post("/admin/axes/accessattempt/", chosen)
    assert attempt(Client(), "ada", PASSWORD, REMOTE_ADDR="192.0.2.7").status_code == 302


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("", None),
        ("unix:", None),
    ],
)
def test_an_address_stands_for_its_network(rf: RequestFactory, said: str, meant: str | None) -> None:
    assert throttle.address(rf.get("/", REMOTE_ADDR=said)) == meant


def test_a_password_typed_as_the_name_is_not_kept(client: Client, ada: User) -> None:
    attempt(client, PASSWORD, "ada")
    attempt(client, "ada", "another secret")
    kept = str(list(AccessAttempt.objects.values()))
    assert PASSWORD not in kept
    assert "another secret" not in kept
    assert "'ada'" in kept
