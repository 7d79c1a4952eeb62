"""The index follows every write that goes through the manager, and no write waits for its success."""

from datetime import UTC, date, datetime, timedelta

import pytest

from chat.models import AiModel, Session
from memory.dailylog import commit
from memory.index.index import Index
from memory.jobs.ledger import Outcome
from memory.manager import MemoryManager
from memory.models import MemoryIndex, PendingEntry, Proposal
from people.models import User
from tests.memory.compaction.test_compactor import DUPLICATES, TIDY
from tests.memory.conftest import say, summary
from tests.modelserver import ModelServer

pytestmark = pytest.mark.django_db
DAY = date(2026, 2, 28)
NOON = datetime(2026, 2, 28, 12, tzinfo=UTC)


@pytest.fixture
def manager(ada: User) -> MemoryManager:
    return MemoryManager(ada)


@pytest.fixture
def chat(ada: User) -> Session:
    return say(ada, "I keep bees", "How nice", at=NOON)


def indexed(manager: MemoryManager, *sources: str) -> set[str]:
    rows = MemoryIndex.objects.filter(owner=manager.user, source_type__in=sources)
    return set(rows.values_list("chunk_text", flat=True))


def test_a_flush(manager: MemoryManager, chat: Session, model: AiModel, model_server: ModelServer):
    model_server.reply(summary("Talked about bees", "- [interests] Keeps bees"))
    assert manager.flush_daily_log(chat.id).changed
    assert indexed(manager, "daily_log", "long_term") == {"Talked about bees", "Keeps bees"}


def test_a_flush_of_all_chats(
    manager: MemoryManager, chat: Session, model: AiModel, model_server: ModelServer
):
    say(manager.user, "I keep hens", at=NOON)
    model_server.reply(summary("Bees"), match="bees")
    model_server.reply(summary("Hens"), match="hens")
    assert [flush.outcome for flush in manager.flush_chats()] == [Outcome.WRITTEN] * 2
    assert indexed(manager, "daily_log") == {"Bees", "Hens"}


def test_a_flush_that_failed_on_its_second_day(
    manager: MemoryManager, chat: Session, model: AiModel, model_server: ModelServer
):
    say(manager.user, "And hens", session=chat, at=NOON + timedelta(days=1))
    model_server.reply(summary("Bees"), match="bees")
    model_server.error(400, match="hens")
    assert manager.flush_daily_log(chat.id).outcome == Outcome.FAILED
    assert indexed(manager, "daily_log") == {"Bees"}


def test_what_an_earlier_flush_left_unwritten(
    manager: MemoryManager,
    chat: Session,
    model: AiModel,
    model_server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
):
    def fail(*_: object) -> None:
        raise OSError("The disk is full.")

    model_server.reply(summary("Bees"))
    with monkeypatch.context() as broken:
        broken.setattr(commit, "write", fail)
        manager.flush_daily_log(chat.id)
    assert PendingEntry.objects.exists()
    assert manager.flush_daily_log(chat.id).changed
    assert indexed(manager, "daily_log") == {"Bees"}


def test_nothing_new_changes_nothing(manager: MemoryManager, model: AiModel):
    assert not manager.flush_daily_log(say(manager.user).id).changed


def test_a_day_summarised_again(
    manager: MemoryManager, chat: Session, model: AiModel, model_server: ModelServer
):
    model_server.reply(summary("Bees"))
    model_server.reply(summary("Beekeeping"))
    manager.flush_daily_log(chat.id)
    manager.redo_day(DAY)
    assert indexed(manager, "daily_log") == {"Beekeeping"}


def test_a_removal_and_its_undo(manager: MemoryManager):
    manager.files.append_to_daily_log(DAY, "- Bees")
    manager.refresh_index()
    removed = manager.remove_log_entries([DAY], lambda entry: True)
    assert removed
    assert indexed(manager, "daily_log") == set()
    assert manager.put_back_log_entries(removed) == 1
    assert indexed(manager, "daily_log") == {"Bees"}


def test_the_entries_of_a_chat_that_goes_and_comes_back(
    manager: MemoryManager, chat: Session, model: AiModel, model_server: ModelServer
):
    model_server.reply(summary("Bees"))
    manager.flush_daily_log(chat.id)
    assert manager.remove_log_entries_of([chat.id])
    assert indexed(manager, "daily_log") == set()
    assert manager.restore_log_entries(chat.id) == 1
    assert indexed(manager, "daily_log") == {"Bees"}


def test_a_compaction_and_an_accepted_proposal(
    manager: MemoryManager, model: AiModel, model_server: ModelServer
):
    model_server.default = TIDY
    for compact in (manager.run_compaction, lambda: manager.apply_compaction(proposed(manager))):
        manager.files.write_memory_file(DUPLICATES)
        manager.refresh_index()
        assert "Likes dark mode in apps" in indexed(manager, "long_term")
        assert compact().outcome == Outcome.WRITTEN
        assert "Likes dark mode in apps" not in indexed(manager, "long_term")


def proposed(manager: MemoryManager) -> Proposal:
    proposal = manager.propose_compaction().proposal
    assert proposal
    return proposal


def test_an_index_that_fails_takes_no_write_back(
    manager: MemoryManager,
    chat: Session,
    model: AiModel,
    model_server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
):
    def fail(*_: object) -> None:
        raise RuntimeError("The index is broken.")

    model_server.reply(summary("Bees"))
    model_server.reply(TIDY)
    with monkeypatch.context() as broken:
        broken.setattr(Index, "sync", fail)
        broken.setattr(Index, "index_file", fail)
        assert not manager.refresh_index()
        assert manager.flush_daily_log(chat.id).outcome == Outcome.WRITTEN
        assert manager.remove_log_entries([DAY], lambda entry: True)
        assert manager.restore_log_entries(chat.id) == 1
        manager.change_long_term_memory(lambda _: DUPLICATES, "Edited")
        assert manager.force_compact_memory()
    assert "Bees" in manager.read_log(DAY)
    assert manager.read_long_term_memory() == TIDY
    manager.search_memory("bees")
    assert indexed(manager, "daily_log") == {"Bees"}
