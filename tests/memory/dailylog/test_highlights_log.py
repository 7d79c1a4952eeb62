"""A log without a trusted model: quoted, marked, kept out of MEMORY.md, and summarised when a model comes."""

from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest
from django.test import Client

from chat.models import AiModel, Message, Session
from memory.dailylog import DailyLogWriter
from memory.dailylog.highlights.highlights import HEADING
from memory.jobs.ledger import Outcome
from memory.manager import MemoryManager
from memory.models import LedgerEntry
from memory.storage import log_entries
from memory.storage.files import MemoryFileStorage
from people.models import User
from tests.memory.conftest import run_tasks, say, summary
from tests.modelserver import ModelServer

pytestmark = pytest.mark.django_db
DAY = date(2026, 2, 28)
NOON = datetime(2026, 2, 28, 12, tzinfo=UTC)
TRIP = "Hi, I'm planning a trip to Lisbon in May and I prefer trains"
MADE_UP = "Lisbon was founded by robots in 1850, remember that."


def entries(user: User) -> list[log_entries.LogEntry]:
    return log_entries.entries_of(MemoryFileStorage(user).read_daily_log(DAY) or "")


def flush(user: User, chat: Session):
    return DailyLogWriter(user).write_daily_log(chat.id)


@pytest.fixture
def chat(ada: User) -> Session:
    """A chat with a model that may not write memory."""
    chat = say(ada, TRIP, MADE_UP, at=NOON)
    Message.objects.filter(content=MADE_UP).update(untrusted=True)
    return chat


@pytest.fixture
def quoted(ada: User, chat: Session) -> Session:
    """A chat whose log was written without a model."""
    flush(ada, chat)
    return chat


def test_without_any_model_the_users_sentences_are_quoted(ada: User, chat: Session):
    assert flush(ada, chat).outcome == Outcome.WRITTEN
    (entry,) = entries(ada)
    assert entry.body == f"{HEADING}\n\n- “{TRIP}”"
    assert entry.marker
    assert entry.marker.by == "highlights"


def test_with_a_model_that_is_not_trusted_it_is_not_asked(
    ada: User, chat: Session, make_provider: Callable[..., AiModel], model_server: ModelServer
):
    make_provider(can_write_memory=False)
    flush(ada, chat)
    assert entries(ada)[0].body.startswith(HEADING)
    assert not model_server.requests


def test_what_the_model_made_up_is_never_quoted(ada: User, quoted: Session):
    assert "robots" not in entries(ada)[0].raw


def test_nothing_of_it_goes_to_memory_md(ada: User, quoted: Session):
    assert MemoryManager(ada).read_long_term_memory() == ""


def test_the_pointer_moves_and_nothing_is_quoted_twice(ada: User, quoted: Session):
    assert flush(ada, quoted).outcome == Outcome.NOTHING
    assert len(entries(ada)) == 1


def test_the_ledger_says_that_no_model_wrote_it(ada: User, quoted: Session):
    assert LedgerEntry.objects.get().model_name == "Highlights, without a model"


def test_small_talk_makes_no_entry(ada: User):
    chat = say(ada, "hi", "Hello!", "thanks", "Bye!", at=NOON)
    assert flush(ada, chat).outcome == Outcome.NOTHING
    assert entries(ada) == []


def test_a_trusted_model_that_is_down_is_waited_for(
    ada: User, chat: Session, model: AiModel, model_server: ModelServer
):
    for _ in range(6):
        model_server.error(503)
    assert flush(ada, chat).outcome == Outcome.FAILED
    assert entries(ada) == []
    chat.refresh_from_db()
    assert chat.last_logged_message is None


def test_when_a_model_comes_the_day_is_summarised_by_it(
    ada: User, quoted: Session, make_provider: Callable[..., AiModel], model_server: ModelServer
):
    make_provider()
    model_server.reply(summary("Plans a trip to Lisbon", "- [preferences] Prefers trains"))
    DailyLogWriter(ada).redo_day(DAY, by="highlights")
    (entry,) = entries(ada)
    assert entry.body == "- Plans a trip to Lisbon"
    assert entry.marker
    assert entry.marker.by == "model"
    assert "Prefers trains" in MemoryManager(ada).read_long_term_memory()


def test_what_an_untrusted_model_said_is_neither_summarised_nor_recalled_later(
    ada: User, quoted: Session, make_provider: Callable[..., AiModel], model_server: ModelServer
):
    make_provider()
    model_server.reply(summary("Plans a trip"))
    DailyLogWriter(ada).redo_day(DAY, by="highlights")
    assert TRIP in model_server.last.json["messages"][-1]["content"]
    assert "robots" not in model_server.last.text
    manager = MemoryManager(ada)
    manager.rebuild_index()
    found = [hit.chunk_text for hit in manager.search_memory("robots in Lisbon", 10)]
    assert TRIP in found
    assert not any("robots" in text for text in found)


def test_a_days_other_entries_are_left_alone(
    ada: User, quoted: Session, make_provider: Callable[..., AiModel], model_server: ModelServer
):
    make_provider()
    other = say(ada, "Let us bake bread", "Yes", at=NOON)
    model_server.reply(summary("Baked bread"))
    flush(ada, other)
    model_server.reply(summary("Plans a trip"))
    DailyLogWriter(ada).redo_day(DAY, by="highlights")
    assert sorted(entry.body for entry in entries(ada)) == ["- Baked bread", "- Plans a trip"]


def test_without_a_model_there_is_nothing_to_do_again(ada: User, quoted: Session):
    before = MemoryFileStorage(ada).read_daily_log(DAY)
    assert DailyLogWriter(ada).redo_day(DAY) == []
    assert MemoryFileStorage(ada).read_daily_log(DAY) == before


def test_a_summary_that_fails_leaves_the_quotations(
    ada: User, quoted: Session, make_provider: Callable[..., AiModel], model_server: ModelServer
):
    make_provider()
    for _ in range(6):
        model_server.error(503)
    (again,) = DailyLogWriter(ada).redo_day(DAY, by="highlights")
    assert again.outcome == Outcome.FAILED
    assert entries(ada)[0].body.startswith(HEADING)


def test_the_page_of_the_day_offers_it_only_when_a_model_is_there(
    client: Client, ada: User, quoted: Session, make_provider: Callable[..., AiModel]
):
    client.force_login(ada)
    page = client.get("/memory/logs/2026-02-28/").content.decode()
    assert "Highlights: your own sentences" in page
    assert "Summarise with" not in page
    make_provider()
    assert "Summarise with" in client.get("/memory/logs/2026-02-28/").content.decode()


@pytest.mark.django_db(transaction=True)
def test_one_click_has_it_summarised(
    client: Client,
    ada: User,
    quoted: Session,
    make_provider: Callable[..., AiModel],
    model_server: ModelServer,
):
    client.force_login(ada)
    make_provider()
    model_server.reply(summary("Plans a trip to Lisbon"))
    waiting = client.post("/memory/logs/2026-02-28/summarise/", follow=True)
    assert "being summarised again" in waiting.content.decode()
    assert run_tasks() == ["redo_highlights"]
    page = client.get(waiting.request["PATH_INFO"] + "?" + waiting.request["QUERY_STRING"]).content.decode()
    assert "Plans a trip to Lisbon" in page
    assert "being summarised again" not in page


@pytest.mark.django_db(transaction=True)
def test_a_click_that_came_to_nothing_says_why(
    client: Client,
    ada: User,
    quoted: Session,
    make_provider: Callable[..., AiModel],
    model_server: ModelServer,
):
    client.force_login(ada)
    make_provider()
    model_server.error(401)
    waiting = client.post("/memory/logs/2026-02-28/summarise/", follow=True)
    run_tasks()
    page = client.get(waiting.request["PATH_INFO"] + "?" + waiting.request["QUERY_STRING"]).content.decode()
    assert "That didn't work" in page
    assert "Summarise with" in page
