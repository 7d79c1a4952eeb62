"""Who is let in by a token, and who is not."""

import pytest
from django.test import RequestFactory
from pytest_django.fixtures import Settings

from connect.models import Token
from connect.tokens import access, throttle
from connect.tokens.access import Refused
from people.models import User
from tests.connect.conftest import token_for

pytestmark = pytest.mark.django_db


def knock(header: str, address: str = "192.0.2.7") -> object:
    request = RequestFactory().post("/mcp", headers={"authorization": header}, REMOTE_ADDR=address)
    return access.caller_of(request).user


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_a_bearer_is_let_in(ada: User, scheme: str) -> None:
    assert knock(f"{scheme} {token_for(ada)}") == ada


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic {}", "{}", "Bearer x{}", "Bearer {} {}"])
def test_nobody_else_is(ada: User, header: str) -> None:
    secret = token_for(ada)
    with pytest.raises(Refused) as refused:
        knock(header.format(secret, secret))
    assert refused.value.status == 401
    assert "Bearer" in refused.value.headers["WWW-Authenticate"]
    assert secret not in refused.value.message


def test_an_address_that_guesses_is_told_to_wait_and_others_are_not(ada: User) -> None:
    for _ in range(throttle.MOST_FAILURES):
        with pytest.raises(Refused, match="needs a token"):
            knock("Bearer oc_" + "b" * 43)
    with pytest.raises(Refused) as refused:
        knock("Bearer oc_" + "b" * 43)
    assert refused.value.status == 429
    assert int(refused.value.headers["Retry-After"]) > 0
    with pytest.raises(Refused, match="needs a token"):
        knock("Bearer oc_" + "b" * 43, "192.0.2.8")
    # Nobody is locked out of what is theirs by a neighbour who guesses.
    assert knock(f"Bearer {token_for(ada)}") == ada


def test_a_token_that_is_used_too_often_waits_and_others_do_not(ada: User, settings: Settings) -> None:
    settings.TOKEN_RATE = 3
    busy, calm = token_for(ada), token_for(ada)
    for _ in range(3):
        knock(f"Bearer {busy}")
    with pytest.raises(Refused, match="too often") as refused:
        knock(f"Bearer {busy}")
    assert refused.value.status == 429
    assert knock(f"Bearer {calm}") == ada


def test_a_minute_later_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("connect.tokens.throttle.time.monotonic", lambda: now[0])
    window = throttle.Window(60)
    assert [window.count("a"), window.count("a"), window.count("b")] == [1, 2, 1]
    now[0] += 61
    assert window.count("a") == 1


def test_counting_takes_only_so_much_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle.Window, "MOST_KEYS", 10)
    window = throttle.Window(60)
    for number in range(100):
        window.count(str(number))
    assert len(window._counts) <= 10


@pytest.mark.parametrize(
    ("origin", "fine"),
    [
        (None, True),
        ("http://testserver", True),
        ("https://testserver", False),
        ("http://testserver:8000", False),
        ("http://evil.example", False),
        ("null", False),
        ("", False),
        ("http://[", False),
    ],
)
def test_pages_of_other_sites_are_refused(origin: str | None, fine: bool, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["testserver"]
    headers = {} if origin is None else {"origin": origin}
    request = RequestFactory().post("/mcp", headers=headers)
    if fine:
        access.refuse_other_sites(request)
        return
    with pytest.raises(Refused) as refused:
        access.refuse_other_sites(request)
    assert refused.value.status == 403


def test_scope_goes_with_the_token(ada: User) -> None:
    request = RequestFactory().get(
        "/", headers={"authorization": f"Bearer {token_for(ada, Token.Scope.READ)}"}
    )
    assert not access.caller_of(request).may_write
