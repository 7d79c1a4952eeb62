"""Odd values in addresses, forms and files are no error of a page: whoever wrote them, it opens."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from django.utils.http import urlencode

from chat.models import AiModel, Provider
from memory.manager import MemoryManager
from tests.security.urls import Address, addresses, form, parameters_read, switches_read
from tests.security.victim import DAY, Victim

VALUES = ["9" * 5_000, "-1", "\0", "٣", "²", "99999999999999999999", "\ud83d"]
# They end the reader's own log-in, or a stream that has no end of its own.
NOT_HERE = ("logout/", "stream/", "admin/", "self-test")
# Works in threads of its own, which do not see what a test has not committed.
THREADED = "<uuid:session_id>/compact/"
KIND = "application/x-www-form-urlencoded"
PAGES = (
    "/",
    "/chat/",
    "/memory/",
    "/memory/logs/",
    f"/memory/logs/{DAY}/",
    "/memory/stats/",
    "/memory/history/",
)
MARKERS = (
    '{"session": 1e999, "first": 1e999, "last": -1e999}',
    '{"session": "x", "first": 1, "last": 2, "trigger": [], "at": {}}',
    '{"first": ' + "9" * 5_000 + "}",
    '{"at": "99999-99-99T99:99"}',
    "[" * 5_000,
    '{"a":' * 3_000,
    "null",
)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def herself(victim: Victim) -> Client:
    client = Client(headers={"host": "localhost"}, raise_request_exception=False)
    client.force_login(victim.user)
    return client


@pytest.fixture
def all_of(victim: Victim) -> list[Address]:
    provider = Provider.objects.create(name="Nobody", kind="openai", base_url="http://127.0.0.1:9/v1")
    model = AiModel.objects.create(provider=provider, name="a-model")
    found = addresses(victim, model)
    return [address for address in found if not any(part in address.route for part in NOT_HERE)]


def opens(client: Client) -> None:
    assert {path: client.get(path).status_code for path in PAGES} == dict.fromkeys(PAGES, 200)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: ascii(value[:12]))
def test_no_value_in_an_address_is_an_error(herself: Client, all_of: list[Address], value: str) -> None:
    assert {"before", "q", "at"} <= parameters_read()
    query = dict.fromkeys(parameters_read(), value.encode("utf-8", "surrogatepass"))
    answers = {str(address): herself.get(address.path, query).status_code for address in all_of}
    assert {path: status for path, status in answers.items() if status >= 500} == {}


@pytest.mark.parametrize("value", VALUES, ids=lambda value: ascii(value[:12]))
def test_no_value_in_a_form_is_an_error(
    herself: Client, all_of: list[Address], victim: Victim, value: str
) -> None:
    assert "stop" in switches_read()
    odd = value.encode("utf-8", "surrogatepass")
    query = urlencode(dict.fromkeys(parameters_read(), odd))
    posted = [address for address in all_of if not address.route.endswith(THREADED)]
    answers = list[tuple[str, int]]()
    for fields, after in ((set(form(victim)), ""), (set(form(victim)) - switches_read(), f"?{query}")):
        sent = urlencode(dict.fromkeys(fields, odd))
        answers += [(str(at), herself.post(at.path + after, sent, KIND).status_code) for at in posted]
    # 503 is said by what wants a file, or a model, that is not there.
    assert [(route, status) for route, status in answers if status == 500] == []


def test_no_nul_is_an_error_wherever_it_stands(
    client: Client, herself: Client, all_of: list[Address]
) -> None:
    """PostgreSQL takes it in no text, so it is gone before anything is asked; no address holds it."""
    named = {"username": "\0ben", "password": "\0"}
    client.raise_request_exception = False
    assert client.post("/login/?next=%00", named).status_code == 200
    client.cookies["sessionid"] = "\0" * 32
    assert client.get("/").status_code == 302
    answers = {str(address): herself.get(f"{address.path}%00").status_code for address in all_of}
    assert {path: status for path, status in answers.items() if status >= 500} == {}


def test_what_was_typed_around_a_nul_stays(herself: Client, victim: Victim) -> None:
    entry = {"action": "add", "section": "Notes", "words": "Likes %00 and\0 tea"}
    herself.post("/memory/entry/", entry)
    text = MemoryManager(victim.user).files.read_memory_file() or ""
    assert "Likes %00 and tea" in text


def test_no_marker_in_a_log_is_an_error(herself: Client, victim: Victim) -> None:
    files = MemoryManager(victim.user).files
    forged = "".join(f"<!-- oneclaw:entry {marker} -->\n- a\n\n---\n\n" for marker in MARKERS)
    path: Path = files.daily_folder / f"{DAY}.md"
    path.write_text(path.read_text() + "\n" + forged)
    opens(herself)
    assert herself.get("/memory/search/", {"q": "a"}).status_code == 200


def test_links_that_lead_to_themselves_hide_nothing(herself: Client, victim: Victim) -> None:
    files = MemoryManager(victim.user).files
    os.symlink(files.root, files.root / "loop")
    os.symlink(files.daily_folder, files.daily_folder / "again")
    os.symlink("self.md", files.daily_folder / "self.md")
    os.symlink("2026-03-02.md", files.daily_folder / "2026-03-02.md")
    opens(herself)
    assert files.list_daily_log_dates() == [str(DAY)]


@pytest.mark.parametrize("end", ["\u2028", "\x0b", "\x85", "\x0c", "\x1e", "\r"])
def test_all_readers_of_a_log_agree_where_a_line_ends(victim: Victim, end: str) -> None:
    """What looks like the end of an entry inside of a line ends it for nobody: forgetting leaves no rest."""
    memory = MemoryManager(victim.user)
    path = memory.files.daily_folder / "2026-03-05.md"
    marker = f'<!-- oneclaw:entry {{"session": "{victim.session.pk}", "first": 1, "last": 2}} -->'
    path.write_text(f"# Daily Log - 2026-03-05\n\n{marker}\n- before{end}---{end}{end}- behind\n\n---\n\n")
    memory.remove_log_entries_of([victim.session.pk])
    assert "behind" not in (path.read_text() if path.exists() else "")
