"""Secrets grepped for in everything that the app wrote: database, files, backup, log output and pages."""

import logging
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from chat.models import Provider, Session
from connect.models import Token
from memory.manager import MemoryManager
from oneclaw.postgres import is_postgres
from people import setup
from people.models import User
from tests.chat.conftest import settle
from tests.chat.serving import in_thread
from tests.memory.conftest import run_tasks, summary
from tests.modelserver import ModelServer
from tests.running import database_of_tests

pytestmark = pytest.mark.django_db(transaction=True)

WRONG_KEY, KEY = "sk-wrong-7Qm2xV9pLd4Ks8Tz", "sk-right-3Hn6bW1cRf5Yj0Ua"
PASSWORD, MISTYPED, HERS, LATER = (
    "violet-anchor-93",
    "violet-anchro-93",
    "copper-lantern-58",
    "amber-thistle-27",
)
CARD = "4111 1111 1111 1111"
# However somebody may have rearranged it.
CARD_FORMS = (CARD, CARD.replace(" ", ""), CARD.replace(" ", "-"), "1111 1111 1111")


class Visitor:
    """A browser that keeps every page it was shown."""

    def __init__(self) -> None:
        self.client = Client(headers={"host": "localhost"})
        self.seen: dict[str, str] = {}

    def get(self, url: str) -> str:
        return self._kept(url, self.client.get(url, follow=True))

    def post(self, url: str, **fields: str) -> str:
        return self._kept(url, self.client.post(url, fields, follow=True))

    def _kept(self, url: str, answer: Any) -> str:
        content = answer.streaming_content if answer.streaming else [answer.content]
        text: str = b"".join(content).decode("utf-8", "replace")
        self.seen[url] = self.seen.get(url, "") + text
        return text


class Written:
    """Everything that was written, by where it is."""

    def __init__(self, folder: Path, backup: Path, pages: dict[str, str], log: str) -> None:
        self.places: dict[str, str] = {f"page {url}": text for url, text in pages.items()}
        self.places["log"] = log
        for table in tables():
            with connection.cursor() as cursor:
                cursor.execute(f'SELECT * FROM "{table}"')
                rows = [" ".join(map(text_of, row)) for row in cursor.fetchall()]
            self.places[f"table {table}"] = "\n".join(rows)
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path != backup:
                self.places[f"file {path.relative_to(folder)}"] = path.read_bytes().decode("latin-1")
        with zipfile.ZipFile(backup) as archive:
            for name in archive.namelist():
                self.places[f"backup {name}"] = archive.read(name).decode("latin-1")

    def holding(self, *forms: str) -> set[str]:
        wanted = {each for form in forms for each in (form, quote(form), form.encode().hex())}
        return {place for place, text in self.places.items() if any(each in text for each in wanted)}


def tables() -> list[str]:
    """Every table, those that virtual ones keep their words in included."""
    listing = (
        "SELECT tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        if is_postgres()
        else "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
    )
    with connection.cursor() as cursor:
        cursor.execute(listing)
        return sorted(name for (name,) in cursor.fetchall())


def text_of(value: object) -> str:
    return bytes(value).decode("latin-1") if isinstance(value, (bytes, memoryview)) else str(value)


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """All that is said at the most talkative level, as a terminal or a journal would keep it."""
    with caplog.at_level(logging.DEBUG):
        yield caplog


def provider_form(server: ModelServer, key: str) -> dict[str, str]:
    switches = {"enabled": "on", "send_memory": "on", "can_write_memory": "on"}
    return {"name": "Mine", "kind": "openai", "base_url": server.base_url(), "key": key, **switches}


def use_providers(ada: Visitor, server: ModelServer) -> None:
    """A wrong key, which the provider repeats in its complaint, then the right one."""
    for _ in range(4):
        server.error(401, {"error": {"message": f"Incorrect API key provided: {WRONG_KEY}"}}, match="models")
    ada.post(reverse("settings:new_provider"), **provider_form(server, WRONG_KEY))
    server.scripts.clear()
    provider = Provider.objects.first()
    if provider is None:
        ada.post(reverse("settings:new_provider"), **provider_form(server, KEY))
        provider = Provider.objects.get()
    where = reverse("settings:provider", args=[provider.pk])
    ada.post(where, **provider_form(server, KEY))
    assert Provider.objects.get().key() == KEY
    server.error(400, {"error": {"message": f"The key {KEY} is too tired"}})
    ada.post(where, **provider_form(server, KEY))
    server.scripts.clear()
    for name in ("settings:provider", "settings:available_models"):
        ada.get(reverse(name, args=[provider.pk]))
    ada.get(reverse("settings:providers"))


def use_chat(ada: Visitor, server: ModelServer) -> Session:
    """A card number in a chat, a reply that repeats it, a reply that fails with the key in it, a flush."""
    server.reply(f"Booked with {CARD}.", match=lambda request: "Book the train" in request.last_user)
    ada.post(reverse("chat:start"), text=f"Book the train to Lisbon with my card {CARD}, please.")
    settle()
    chat = Session.objects.get()
    server.error(
        400, {"error": {"message": f"No: {KEY} said {CARD}"}}, match=lambda r: "again" in r.last_user
    )
    ada.post(reverse("chat:send", args=[chat.pk]), text="And again for Friday")
    settle()
    server.scripts.clear()
    server.default = summary(f"Booked the train with {CARD}", f"- [notes] Pays trains with {CARD}")
    memory = MemoryManager(chat.owner)
    memory.flush_daily_log(chat.pk)
    run_tasks()
    memory.refresh_index()
    memory.inject("Which card did I book the train with?")
    for name in ("home", "logs", "history", "stats", "search", "forgetting", "compaction"):
        ada.get(reverse(f"memory:{name}") + "?q=train+card")
    for day in memory.files.list_daily_log_dates():
        ada.get(reverse("memory:day", args=[day]))
    return chat


def link_on(page: str) -> str:
    found = re.search(r"http://localhost/join/([\w-]+)/", page)
    assert found, "There is no link on the page."
    return found[1]


def use_accounts(ada: Visitor, ben: Visitor) -> tuple[str, ...]:
    """An invitation, a link for a new password, wrong and right passwords; returns the links' tokens."""
    joined = link_on(ada.post(reverse("settings:invite")))
    unused = link_on(ada.post(reverse("settings:invite")))
    ben.client.post(reverse("login") + f"?next=/join/{joined}/", {"username": "ada", "password": MISTYPED})
    ben.get(reverse("join", args=[joined]))
    ben.post(reverse("join", args=[joined]), username="ben", password1=HERS, password2=HERS)
    person = User.objects.get(username="ben")
    reset = link_on(ada.post(reverse("settings:person", args=[person.pk, "reset"])))
    # The page with the link shows it this once; it is what was asked for.
    for url in (reverse("settings:invite"), reverse("settings:person", args=[person.pk, "reset"])):
        del ada.seen[url]
    other = Visitor()
    other.post(reverse("join", args=[reset]), new_password1=LATER, new_password2=LATER)
    other.post(reverse("login"), username="ben", password=LATER)
    # A link that was used, and one that never was, are errors that the log tells of.
    other.get(reverse("join", args=[joined]))
    ada.get(reverse("settings:people"))
    ada.get(reverse("settings:profile"))
    ben.seen.update(other.seen)
    # A visited link is in the form that the page sends back to itself; the places' names are ours.
    return joined, unused, reset


def use_tokens(ada: Visitor, address: str) -> tuple[str, str]:
    """A token that is used by MCP and /v1, well and badly, and one that is revoked; returns both."""
    page = reverse("settings:connections")
    made = [re.findall(r"oc_[A-Za-z0-9]{43}", ada.post(page, name="PC", scope="write"))[0] for _ in range(2)]
    # The page that shows a token shows it this once; it is what was asked for.
    del ada.seen[page]
    talk = {"Accept": "application/json, text/event-stream"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    saved = {"name": "save_memory", "arguments": {"content": f"The token is {made[0]}"}}
    odd = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"clientInfo": {"name": made[0]}}}
    ada.post(reverse("settings:revoke_token", args=[Token.objects.latest("id").pk]))
    for secret in made:
        for body in (call | {"params": saved}, odd, {"messages": 7, "model": secret}):
            for path in ("/mcp", "/v1/chat/completions", "/v1/models"):
                headers = talk | {"Authorization": f"Bearer {secret}"}
                httpx.post(f"{address}{path}", json=body, headers=headers, timeout=60)
    asked = {"messages": [{"role": "user", "content": "Which card was it?"}]}
    headers = {"Authorization": f"Bearer {made[0]}"}
    httpx.post(f"{address}/v1/chat/completions", json=asked, headers=headers, timeout=60)
    settle()
    for name in ("settings:connections", "memory:history", "memory:stats", "home"):
        ada.get(reverse(name))
    return made[0], made[1]


def test_no_secret_is_written_anywhere_but_where_it_belongs(
    model_server: ModelServer, data_dir: Path, tmp_path: Path, log: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
):  # fmt: skip
    # PostgreSQL is copied into a backup by a process of its own.
    for name, value in database_of_tests().items():
        monkeypatch.setenv(name, value)
    ada, ben = Visitor(), Visitor()
    account = {"username": "ada", "password1": PASSWORD, "password2": PASSWORD}
    ada.post(reverse("setup"), code=setup.code(), **account)
    ada.post(reverse("login"), username="ada", password=MISTYPED)
    ada.post(reverse("login"), username="ada", password=PASSWORD)
    use_providers(ada, model_server)
    chat = use_chat(ada, model_server)
    tokens = use_accounts(ada, ben)
    model_server.default = "It was green."
    with in_thread() as address:
        personal = use_tokens(ada, address)
    session_key = ada.client.cookies["sessionid"].value
    backup = tmp_path / "saved.zip"
    call_command("backup", backup)
    said = capfd.readouterr()
    pages = ada.seen | {f"ben's {url}": text for url, text in ben.seen.items()}
    written = Written(data_dir, backup, pages, log.text + said.out + said.err)
    # It is really looked where it would be.
    assert "table chat_provider" in written.holding(Provider.objects.get().sealed_key)
    assert "backup db.sqlite3" in written.holding(Provider.objects.get().sealed_key)

    assert written.holding(KEY, WRONG_KEY) == set()
    assert written.holding(*personal) == set()
    assert written.holding(PASSWORD, MISTYPED, HERS, LATER) == set()
    held = {place for place in written.holding(*tokens) if not place.startswith("page")}
    # A link that was used or never was is a page not found, which the log tells of; it opens nothing.
    assert held <= {"log"}
    assert "log" not in written.holding(tokens[1])
    kept = written.holding(session_key)
    assert not [place for place in kept if place.startswith(("page", "log", "file memory"))]

    said_in = reverse("chat:session", args=[chat.pk])
    # The chat, its own search, the error that the provider wrote into it, and the page that offers to forget.
    owner = {"table chat_message", "table chat_run", "backup db.sqlite3"}
    # On SQLite the words of the search stand in a table; on PostgreSQL in an index over the messages.
    owner |= set() if is_postgres() else {"table chat_message_search_content"}
    owner.add(f"page {reverse('memory:forgetting')}?q=train+card")
    held = {place for place in written.holding(*CARD_FORMS) if not place.startswith(f"page {said_in}")}
    assert owner <= held
    assert {place for place in held - owner if place != f"page {reverse('chat:start')}"} == set()
