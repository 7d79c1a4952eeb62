"""/metrics: nothing unless asked for, nothing from afar, and the figures that are promised."""

from typing import Any

import pytest
from django.test import Client

from memory.jobs import ledger
from memory.jobs.ledger import Kind, Trigger
from memory.manager import MemoryManager
from oneclaw.server import measures
from people.models import User


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


@pytest.mark.parametrize(
    "request_from",
    [{"REMOTE_ADDR": "9.9.9.9"}, {"HTTP_X_FORWARDED_FOR": "10.0.0.1"}, {"REMOTE_ADDR": ""}],
)
def test_nobody_far_away_sees_them(counted, client: Client, db, request_from: dict[str, Any]):
    assert client.get("/metrics", **request_from).status_code == 404


def test_what_happened_is_counted(counted, client: Client, ada: User):
    MemoryManager(ada).search_memory("where is the key")
    measures.count("replies", "done")
    measures.observe("first_words", 0.3)
    ledger.start(ada, Kind.COMPACTION, Trigger.MANUAL)
    answer = client.get("/metrics")
    assert answer.status_code == 200
    text = answer.content.decode()
    assert 'oneclaw_replies_total{outcome="done"} 1.0' in text
    assert "oneclaw_search_seconds_count 1.0" in text
    assert 'oneclaw_first_words_seconds_bucket{le="0.25"} 0.0' in text
    assert 'oneclaw_memory_runs{kind="compaction",outcome="running"} 1.0' in text
    assert "oneclaw_queue 0.0" in text
    assert "ada" not in text
