"""Settings → Connections: a token is shown once, with configuration that programs understand."""

import html
import json
import re
import sys
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from connect.models import Token
from connect.tokens import keys
from connect.views import tokens
from oneclaw import vault
from people.models import User
from tests.connect.conftest import token_for

pytestmark = pytest.mark.django_db
PAGE = "/settings/connections/"


@pytest.fixture
def page(ada: User) -> Client:
    client = Client(headers={"host": "localhost:8000"})
    client.force_login(ada)
    return client


def made(page: Client, **fields: str) -> str:
    return page.post(PAGE, {"name": "Laptop", "scope": "write"} | fields, follow=True).content.decode()


def pasted(text: str, id: str) -> str:
    """What a Copy button would copy."""
    found = re.search(rf'<pre id="{id}"[^>]*>(.*?)</pre>', text, re.DOTALL)
    assert found, id
    return html.unescape(found[1])


def configured(text: str, id: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(pasted(text, id))
    return value


def test_a_token_is_shown_once(page: Client) -> None:
    text = made(page)
    secret = re.findall(r"oc_[A-Za-z0-9]{43}", text)[0]
    assert keys.find(secret) is not None
    again = page.get(PAGE).content.decode()
    assert "Laptop" in again
    assert "oc_" not in again


def test_a_reload_makes_no_second_token(page: Client) -> None:
    answer = page.post(PAGE, {"name": "Laptop", "scope": "write"})
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    for _ in range(3):
        page.get(PAGE)
    assert Token.objects.count() == 1


def test_until_it_is_shown_it_waits_sealed_and_then_nowhere(page: Client) -> None:
    answer = page.post(PAGE, {"name": "Laptop", "scope": "write"})
    held = page.session[tokens.NEW]
    secret = vault.unseal(held["secret"])
    assert keys.find(secret) is not None
    assert secret not in str(held) + str(answer.headers) + str(page.cookies) + answer.content.decode()
    assert secret in page.get(PAGE).content.decode()
    assert tokens.NEW not in page.session


def test_one_that_was_revoked_before_it_was_shown_is_not_shown(page: Client) -> None:
    page.post(PAGE, {"name": "Laptop", "scope": "write"})
    page.post(reverse("settings:revoke_token", args=[Token.objects.get().pk]))
    assert "oc_" not in page.get(PAGE).content.decode()


def test_another_browser_of_mine_is_not_shown_it(page: Client, ada: User) -> None:
    page.post(PAGE, {"name": "Laptop", "scope": "write"})
    other = Client(headers={"host": "localhost:8000"})
    other.force_login(ada)
    assert "oc_" not in other.get(PAGE).content.decode()
    assert "oc_" in page.get(PAGE).content.decode()


def test_another_page_of_mine_never_shows_it(page: Client, ada: User) -> None:
    secret = token_for(ada)
    assert secret not in page.get(PAGE).content.decode()


def test_every_file_has_the_shape_that_its_program_documents(page: Client) -> None:
    text = made(page)
    secret = re.findall(r"oc_[A-Za-z0-9]{43}", text)[0]
    bearer = {"Authorization": f"Bearer {secret}"}
    url = "http://localhost:8000/mcp"
    assert configured(text, "claude-code-http") == {
        "mcpServers": {"oneclaw": {"type": "http", "url": url, "headers": bearer}}
    }
    assert configured(text, "cursor-http") == {"mcpServers": {"oneclaw": {"url": url, "headers": bearer}}}
    assert configured(text, "vs-code-http") == {
        "servers": {"oneclaw": {"type": "http", "url": url, "headers": bearer}}
    }
    desktop = configured(text, "claude-desktop-http")["mcpServers"]["oneclaw"]
    assert desktop["command"] == "npx"
    assert desktop["args"][:3] == ["-y", "mcp-remote", url]
    assert "--allow-http" in desktop["args"]
    assert desktop["env"] == {"AUTH_HEADER": f"Bearer {secret}"}
    assert all(" " not in argument for argument in desktop["args"])
    for id, top in (
        ("claude-code", "mcpServers"),
        ("claude-desktop", "mcpServers"),
        ("cursor", "mcpServers"),
        ("vs-code", "servers"),
    ):
        local = configured(text, f"{id}-stdio")[top]["oneclaw"]
        assert local["command"] == sys.executable
        assert local["args"][1:] == ["mcp", "--user", "ada"]
        assert local.get("type", "stdio") == "stdio"
        assert "ONECLAW_DATA_DIR" in local["env"]
    command = pasted(text, "claude-code-command")
    assert command.startswith("claude mcp add --transport http oneclaw http://localhost:8000/mcp --header ")
    assert pasted(text, "openai-url") == "http://localhost:8000/v1"


def test_on_postgresql_the_program_is_told_of_it_without_the_password(page: Client, settings: Any) -> None:
    settings.DATABASE_URL = "postgres://oneclaw:h%40rd@db.example.org:5433/claw?sslmode=require&password=h2"
    text = made(page)
    for id, top in (("claude-code", "mcpServers"), ("vs-code", "servers")):
        env = configured(text, f"{id}-stdio")[top]["oneclaw"]["env"]
        told = "postgres://oneclaw@db.example.org:5433/claw?sslmode=require"
        assert env["ONECLAW_DATABASE_URL"] == told
        assert "ONECLAW_DATA_DIR" in env
    assert "~/.pgpass" in text
    assert "h%40rd" not in text


def test_without_a_new_token_a_placeholder_stands_there(page: Client) -> None:
    text = page.get(PAGE).content.decode()
    headers = configured(text, "cursor-http")["mcpServers"]["oneclaw"]["headers"]
    assert headers == {"Authorization": "Bearer YOUR_TOKEN"}


def test_a_read_tokens_program_starts_read_only(page: Client) -> None:
    text = made(page, scope="read")
    assert "--read-only" in configured(text, "cursor-stdio")["mcpServers"]["oneclaw"]["args"]


def test_who_is_no_admin_sees_no_paths_of_the_machine(ben: User) -> None:
    client = Client(headers={"host": "localhost"})
    client.force_login(ben)
    text = made(client)
    assert "manage.py" not in text
    assert "claude-code-http" in text


@pytest.mark.parametrize("fields", [{"name": ""}, {"name": "x" * 61}, {"scope": "everything"}])
def test_a_form_with_nonsense_makes_none(page: Client, fields: dict[str, str]) -> None:
    made(page, **fields)
    assert not Token.objects.exists()


def test_a_name_is_text(page: Client) -> None:
    text = made(page, name="<script>alert(1)</script>")
    assert "<script>alert" not in text


def test_revoking(page: Client, ada: User) -> None:
    secret = token_for(ada)
    page.post(reverse("settings:revoke_token", args=[Token.objects.get().pk]))
    assert keys.find(secret) is None


def test_nobody_revokes_anothers(page: Client, ben: User) -> None:
    token_for(ben)
    answer = page.post(reverse("settings:revoke_token", args=[Token.objects.get().pk]))
    assert answer.status_code == 404
    assert Token.objects.exists()


def test_too_many_are_said(page: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "MOST", 0)
    assert "revoke one" in made(page)
