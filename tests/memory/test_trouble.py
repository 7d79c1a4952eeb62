"""When memory can't be written, the person sees it; and what is no trouble stays quiet."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
import time_machine
from django.test import Client
from django.urls import reverse

from chat.models import AiModel, Provider
from memory.compaction.compactor import Compaction
from memory.jobs import ledger
from memory.jobs.ledger import Kind, Outcome, Trigger
from memory.manager import MemoryManager
from memory.models import LedgerEntry
from memory.triggers import MemoryTriggers
from memory.views import frame
from oneclaw import datafolder
from oneclaw.site import health
from people.models import User
from tests.memory.conftest import say, summary
from tests.modelserver import ModelServer

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 2, 28, 12, tzinfo=UTC)


@pytest.fixture
def page(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


@pytest.fixture(autouse=True)
def asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "_asked", {})


def flushed(user: User, *outcomes: str) -> None:
    for outcome in outcomes:
        ledger.finish(ledger.start(user, Kind.FLUSH, Trigger.MANUAL), outcome, "The provider is down.")


def test_with_no_model_enabled_nothing_is_written_and_the_pointer_waits(
    ada: User, model: AiModel, model_server: ModelServer
):
    Provider.objects.update(enabled=False)
    chat = say(ada, "I love night trains", "Noted.", at=NOON)
    memory = MemoryManager(ada)
    flush = memory.flush_daily_log(chat.id)
    chat.refresh_from_db()
    assert (flush.outcome, chat.last_logged_message_id) == (Outcome.FAILED, None)
    assert "No model is enabled" in LedgerEntry.objects.get().detail
    assert memory.files.list_daily_log_dates() == []
    Provider.objects.update(enabled=True)
    model_server.reply(summary("Loves night trains"))
    assert memory.flush_daily_log(chat.id).ok
    assert "night trains" in memory.read_log("2026-02-28")


def test_without_any_provider_the_users_own_sentences_are_kept(ada: User):
    chat = say(ada, "I love night trains and will take one to Lisbon in May", "Noted.", at=NOON)
    assert MemoryManager(ada).flush_daily_log(chat.id).outcome == Outcome.WRITTEN
    assert "Lisbon" in MemoryManager(ada).read_log("2026-02-28")


@pytest.mark.parametrize(
    ("outcomes", "shown"),
    [
        (["failed", "failed"], False),
        (["failed", "failed", "failed"], True),
        (["failed", "failed", "nothing", "failed"], True),
        (["failed", "failed", "failed", "written"], False),
        (["failed", "written", "failed", "failed"], False),
    ],
)
def test_three_failures_in_a_row_are_said_on_every_page(
    page: Client, ada: User, outcomes: list[str], shown: bool
):
    flushed(ada, *outcomes)
    for address in (reverse("home"), reverse("memory:home")):
        said = page.get(address).content.decode()
        assert ("three times in a row" in said) is shown
    assert (health.report()["memory"] == "failing") is shown
    if shown:
        assert "The provider is down." in said
        assert health.report()["status"] == "degraded"


def test_anothers_failures_are_not_mine(page: Client, ben: User):
    flushed(ben, "failed", "failed", "failed")
    assert "three times in a row" not in page.get(reverse("home")).content.decode()


@pytest.mark.parametrize("state", ["full", "not writable"])
def test_a_disk_that_takes_nothing_is_said(page: Client, monkeypatch: pytest.MonkeyPatch, state: str):
    monkeypatch.setattr(datafolder, "disk", lambda folder: state)
    assert (
        datafolder.DISK_TROUBLES[state].replace("'", "&#x27;") in page.get(reverse("home")).content.decode()
    )


def test_a_folder_that_is_gone_is_said(page: Client, settings, tmp_path: Path):
    settings.DATA_DIR = tmp_path / "gone"
    assert "Mount its volume again" in page.get(reverse("home")).content.decode()


def test_a_first_visit_east_of_utc_is_no_change_of_day(page: Client, ada: User):
    with time_machine.travel(datetime(2026, 2, 28, 20, tzinfo=UTC), tick=False):
        MemoryTriggers(ada).on_return()
        page.post(reverse("people:zone"), {"zone": "Asia/Tokyo"})
        ada = User.objects.get(pk=ada.pk)
        assert ada.today().isoformat() == "2026-03-01"
        assert not MemoryTriggers(ada).on_return()
    with time_machine.travel(datetime(2026, 3, 1, 20, tzinfo=UTC), tick=False):
        assert MemoryTriggers(User.objects.get(pk=ada.pk)).on_return()


def test_a_compaction_with_nothing_to_do_has_no_diff():
    assert Compaction(Outcome.NOTHING, "Nothing to merge.", "- a\n").diff == ""
