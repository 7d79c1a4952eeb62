"""ONECLAW_DATABASE_URL: what is read from it, and what is said of a wrong one."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from oneclaw.postgres import address


def test_an_address_becomes_djangos_settings():
    found = address.database("postgres://ada:p%40ss@db.example.org:6432/memory?sslmode=require", 12)
    assert found["ENGINE"] == "oneclaw.postgres"
    assert (found["NAME"], found["USER"], found["PASSWORD"]) == ("memory", "ada", "p@ss")
    assert (found["HOST"], found["PORT"]) == ("db.example.org", "6432")
    assert found["OPTIONS"]["sslmode"] == "require"
    assert found["OPTIONS"]["pool"]["max_size"] == 12


def test_a_socket_on_this_machine_is_an_address_too():
    found = address.database("postgresql:///oneclaw?host=/var/run/postgresql", 5)
    assert (found["NAME"], found["HOST"]) == ("oneclaw", "/var/run/postgresql")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://ada@db/oneclaw", "must begin with postgres://"),
        ("oneclaw", "must begin with postgres://"),
        ("postgres://ada:sesame@db", "names no database"),
        ("postgres://ada:ses ame@db:port/oneclaw?what=ever", "can't be read"),
    ],
)
def test_a_wrong_address_is_told_without_its_password(url: str, said: str):
    with pytest.raises(ImproperlyConfigured, match=said) as caught:
        address.database(url, 5)
    assert "sesame" not in str(caught.value)
    assert "ses ame" not in str(caught.value)
