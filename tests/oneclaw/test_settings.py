"""Settings: loud about bad values, safe by default, and told in the README."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings as configured
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from pytest_django.fixtures import Settings

from oneclaw import env
from oneclaw.keyfile import made_once
from oneclaw.management.commands.settings import renewed
from oneclaw.server import lan
from tests.running import ROOT, environment


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that a test makes up are forgotten after it."""
    monkeypatch.setattr(env, "KNOWN", dict(env.KNOWN))


def test_the_readme_tells_every_setting_as_the_code_has_it() -> None:
    readme = (ROOT / "README.md").read_text()
    assert renewed(readme) == readme, "run `make format`"
    told = set(re.findall(r"^\| `(ONECLAW_\w+)` \|", readme, re.MULTILINE))
    assert told == set(env.KNOWN)
    assert all(known.help for known in env.KNOWN.values())


def test_a_setting_is_named_as_its_variable_without_the_prefix() -> None:
    assert [name for name in env.KNOWN if not hasattr(configured, name.removeprefix("ONECLAW_"))] == []


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("read", "value", "said"),
    [
        (lambda: env.integer("ONECLAW_X", 1), "many", "must be a whole number"),
        (lambda: env.integer("ONECLAW_X", 1, most=9), "10", "from 0 to 9"),
        (lambda: env.decimal("ONECLAW_X", 0.1), "a", "must be a number"),
        (lambda: env.decimal("ONECLAW_X", 0.1), "nan", "from 0.0 to 1.0"),
        (lambda: env.flag("ONECLAW_X", False), "perhaps", "must be 1 or 0"),
        (lambda: env.text("ONECLAW_X", "a", choices=("a", "b")), "c", "must be one of 'a', 'b'"),
    ],
)
def test_a_bad_value_is_refused_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, read, value: str, said: str
) -> None:
    monkeypatch.setenv("ONECLAW_X", value)
    with pytest.raises(ImproperlyConfigured, match=f"ONECLAW_X='{value}': .*{re.escape(said)}"):
        read()


@pytest.mark.usefixtures("known")
def test_values_are_read_as_people_write_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONECLAW_X", " Yes ")
    assert env.flag("ONECLAW_X", False)
    monkeypatch.setenv("ONECLAW_X", "a.example, b.example  c.example")
    assert env.words("ONECLAW_X") == ["a.example", "b.example", "c.example"]


def test_nothing_is_open_by_default() -> None:
    assert not configured.DEBUG
    assert configured.HOST == "127.0.0.1"
    assert "*" not in configured.ALLOWED_HOSTS
    assert not run_checks()


@pytest.mark.parametrize(
    ("host", "allowed", "strange"),
    [
        ("127.0.0.1", ["localhost", "127.0.0.1", "[::1]"], "192.168.1.5"),
        ("192.168.1.5", ["localhost", "192.168.1.5"], "192.168.1.6"),
        ("::", ["localhost", *map(lan.in_url, lan.addresses())], "evil.example"),
        ("0.0.0.0", ["localhost", *lan.addresses("0.0.0.0")], "evil.example"),
    ],
)
def test_the_hosts_answered_to_are_those_listened_on(host: str, allowed: list[str], strange: str) -> None:
    own = lan.own_hosts(host)
    assert set(allowed) <= set(own)
    assert strange not in own


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("localhost", True),
        ("localhost:8000", True),
        ("127.0.0.1:8000", True),
        ("::1", True),
        ("[::1]:8000", True),
        ("::ffff:127.0.0.1", True),
        ("::ffff:192.168.1.5", False),
        ("192.168.1.5:8000", False),
        ("localhost.evil.example", False),
        ("", False),
    ],
)
def test_loopback_is_told_from_everywhere_else(host: str, here: bool) -> None:
    assert lan.is_loopback(host) is here


def test_the_secret_key_is_made_once_and_for_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "new" / "secret.key"
    first = made_once(file, lambda: "one")
    assert first == made_once(file, lambda: "two") == "one"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in file.parent.iterdir()] == ["secret.key"]


def checked(settings: Settings, **changes: object) -> list[str | None]:
    for name, value in changes.items():
        setattr(settings, name, value)
    return [message.id for message in run_checks()]


def test_a_misspelt_variable_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONECLAW_PROT", "9000")
    [warning] = run_checks()
    assert (warning.id, "ONECLAW_PROT" in warning.msg) == ("oneclaw.W001", True)


def test_https_without_a_host_is_an_error(settings: Settings) -> None:
    assert "oneclaw.E001" in checked(settings, HTTPS=True, HOSTS=[])


def test_figures_without_a_token_and_one_that_can_be_guessed_are_noticed(settings: Settings) -> None:
    assert "oneclaw.W004" in checked(settings, METRICS=True)
    assert "oneclaw.W004" not in checked(settings, METRICS_TOKEN="x" * 16)
    assert "oneclaw.E003" in checked(settings, METRICS_TOKEN="x" * 15)


def test_a_missing_embedding_model_is_noticed(settings: Settings, tmp_path: Path) -> None:
    assert "oneclaw.W003" in checked(settings, EMBEDDING_MODEL=tmp_path)


def test_behind_a_proxy_cookies_are_secure_and_its_headers_count(tmp_path: Path) -> None:
    code = (
        "from django.conf import settings as s; print(s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, "
        "s.CSRF_TRUSTED_ORIGINS, s.SECURE_PROXY_SSL_HEADER)"
    )
    told = environment(
        tmp_path, ONECLAW_HTTPS="1", ONECLAW_HOSTS="claw.example", DJANGO_SETTINGS_MODULE="oneclaw.settings"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, timeout=120)
    assert done.stdout == ("True True ['https://claw.example'] ('HTTP_X_FORWARDED_PROTO', 'https')\n"), (
        done.stderr
    )
