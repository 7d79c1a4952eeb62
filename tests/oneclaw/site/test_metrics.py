"""/metrics: nothing unless asked for, nothing for strangers, and the figures that are promised."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django_q.models import OrmQ

from memory.jobs import ledger
from memory.jobs.ledger import Kind, Outcome, Trigger
from memory.manager import MemoryManager
from memory.models import LedgerEntry
from oneclaw.models import Total
from oneclaw.server import measures
from oneclaw.site import health
from people.models import User
from tests.neighbour import neighbour

TOKEN = "a-token-of-24-characters"
BEARER = f"Bearer {TOKEN}"


@pytest.fixture
def client() -> Iterator[Client]:
    """A program on the machine itself, under the account that OneClaw runs under."""
    with neighbour() as program:
        yield program


@pytest.fixture
def counted(settings):
    settings.METRICS = True
    measures.figures.cache_clear()
    yield
    measures.figures.cache_clear()


def test_there_are_none_unless_the_owner_turns_them_on(client: Client, ada: User):
    MemoryManager(ada).search_memory("anything at all")
    assert client.get("/metrics").status_code == 404
    assert measures.figures.cache_info().currsize == 0


STRANGERS: list[dict[str, Any]] = [
    {"REMOTE_ADDR": "9.9.9.9"},
    {"REMOTE_ADDR": "10.0.0.7"},
    {"REMOTE_ADDR": ""},
    {"HTTP_X_FORWARDED_FOR": "10.0.0.1"},
    {"HTTP_VIA": "1.1 proxy"},
    {"HTTP_HOST": "oneclaw.example.org"},
]


@pytest.mark.parametrize("request_from", STRANGERS)
def test_without_a_token_nobody_else_sees_them(
    counted, client: Client, db, settings, request_from: dict[str, Any]
):
    settings.ALLOWED_HOSTS = ["*"]
    assert client.get("/metrics", **request_from).status_code == 404


def test_without_a_token_another_account_on_the_machine_does_not_see_them(
    counted, client: Client, db, monkeypatch: pytest.MonkeyPatch
):
    """A proxy of any version with nothing but proxy_pass, behind which the whole world may be."""
    assert client.get("/metrics").status_code == 200
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert client.get("/metrics").status_code == 404


def test_where_a_proxy_is_known_to_be_they_want_a_token(counted, client: Client, db, settings):
    settings.HTTPS = True
    assert client.get("/metrics").status_code == 404
    settings.METRICS_TOKEN = TOKEN
    assert client.get("/metrics", headers={"authorization": BEARER}).status_code == 200


@pytest.mark.parametrize("request_from", [{}, *STRANGERS])
def test_the_token_is_asked_of_everybody_and_is_enough(
    counted, client: Client, db, settings, request_from: dict[str, Any]
):
    settings.METRICS_TOKEN, settings.ALLOWED_HOSTS = TOKEN, ["*"]
    brought = ["", TOKEN, f"Basic {TOKEN}", "Bearer", "Bearer ", f"Bearer {TOKEN[:-1]}", "Bearer é"]
    for refused in brought:
        assert client.get("/metrics", **request_from, HTTP_AUTHORIZATION=refused).status_code == 404, refused
    for taken in (BEARER, f"bearer {TOKEN}"):
        assert client.get("/metrics", **request_from, HTTP_AUTHORIZATION=taken).status_code == 200


def test_a_token_turns_nothing_on(client: Client, db, settings):
    settings.METRICS_TOKEN = TOKEN
    assert client.get("/metrics", headers={"authorization": BEARER}).status_code == 404


def test_what_happened_is_counted(counted, client: Client, ada: User):
    MemoryManager(ada).search_memory("where is the key")
    measures.count("replies", "done")
    measures.observe("first_words", 0.3)
    for _ in range(2):
        ledger.finish(ledger.start(ada, Kind.COMPACTION, Trigger.MANUAL), Outcome.FAILED)
    answer = client.get("/metrics")
    assert answer.status_code == 200
    text = answer.content.decode()
    assert 'oneclaw_replies_total{outcome="done"} 1.0' in text
    assert "oneclaw_search_seconds_count 1.0" in text
    assert 'oneclaw_first_words_seconds_bucket{le="0.25"} 0.0' in text
    assert 'oneclaw_memory_runs_total{kind="compaction",outcome="failed"} 2.0' in text
    assert "oneclaw_queue 0.0" in text
    assert "ada" not in text


def test_what_was_counted_only_grows(counted, client: Client, ada: User):
    """Rows of the activity go in time; a rate is reckoned from counts that never fall."""
    for _ in range(3):
        ledger.finish(ledger.start(ada, Kind.FLUSH, Trigger.MANUAL), Outcome.WRITTEN)
    ledger.start(ada, Kind.FLUSH, Trigger.MANUAL)
    # The next one finds that the process before it died at work.
    ledger.start(ada, Kind.FLUSH, Trigger.MANUAL)
    LedgerEntry.objects.all().delete()
    text = client.get("/metrics").content.decode()
    assert 'oneclaw_memory_runs_total{kind="flush",outcome="written"} 3.0' in text
    assert 'oneclaw_memory_runs_total{kind="flush",outcome="failed"} 1.0' in text


def test_nothing_is_counted_unless_the_owner_turns_them_on(ada: User):
    ledger.finish(ledger.start(ada, Kind.FLUSH, Trigger.MANUAL), Outcome.WRITTEN)
    assert not Total.objects.exists()


def test_without_a_database_there_are_figures_too(
    counted, client: Client, db: None, monkeypatch: pytest.MonkeyPatch
):
    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(health, "database", lambda: "down")
    monkeypatch.setattr(OrmQ.objects, "count", away)
    answer = client.get("/metrics")
    assert answer.status_code == 200
    text = answer.content.decode()
    assert "oneclaw_healthy 0.0" in text
    assert "process_cpu_seconds_total" in text
    assert "oneclaw_queue" not in text
    # It may go away between two questions.
    monkeypatch.setattr(health, "database", lambda: "ok")
    assert client.get("/metrics").status_code == 200
