"""Logs of imported chats: an estimate, the oldest first, resumable, and old facts beat nothing newer."""

from datetime import UTC, date, datetime

import pytest

from connect.importing import pastlogs, uploads, work
from connect.models import Import, LogWriting
from memory.longterm import dates
from memory.longterm.dates import Saying
from memory.manager import MemoryManager
from tests.connect import exports
from tests.connect.conftest import Bring

pytestmark = pytest.mark.django_db
Status = LogWriting.Status


@pytest.fixture(autouse=True)
def no_queue(monkeypatch):
    for place in ("pastlogs", "uploads"):
        monkeypatch.setattr(f"connect.importing.{place}.async_task", lambda *args: None)


@pytest.fixture
def came(ada, tmp_path, bring: Bring) -> Import:
    chats = [
        exports.plain(
            "new", "New", "I moved to Lyon last week", "Nice.", when=datetime(2026, 3, 2, 9, tzinfo=UTC)
        ),
        exports.plain("old", "Old", "I live in Delft", "Good.", when=datetime(2025, 3, 2, 9, tzinfo=UTC)),
    ]
    return bring(ada, exports.chatgpt(tmp_path / "a.zip", chats))


def test_the_estimate_counts_chats_calls_and_tokens(came):
    found = pastlogs.estimate(came)
    assert (found.chats, found.calls) == (2, 2)
    assert found.tokens > 2 * pastlogs.BESIDES
    assert found.minutes >= 1


def test_without_a_model_highlights_are_written_on_the_days_they_were_said(ada, came):
    writing = pastlogs.start(came, None)
    assert pastlogs.write(writing)
    assert (writing.status, writing.done) == (Status.DONE, 2)
    files = MemoryManager(ada).files
    assert "Delft" in (files.read_daily_log("2025-03-02") or "")
    assert "Lyon" in (files.read_daily_log("2026-03-02") or "")
    assert pastlogs.estimate(came).chats == 0
    before = files.read_daily_log("2025-03-02")
    assert pastlogs.write(pastlogs.start(came, None))
    assert files.read_daily_log("2025-03-02") == before


def test_stop_and_go_on_write_nothing_twice(ada, came):
    writing = pastlogs.start(came, None)
    assert pastlogs.write(writing, seconds=-1.0) is False
    pastlogs.stop(came)
    assert pastlogs.write(writing)
    assert writing.status == Status.STOPPED
    assert MemoryManager(ada).files.list_daily_log_dates() == []
    pastlogs.write(pastlogs.start(came, None))
    assert len(MemoryManager(ada).files.list_daily_log_dates()) == 2


def test_a_model_writes_logs_and_facts_the_oldest_first(ada, came, model_server, make_provider):
    model = make_provider()
    model_server.reply("## Daily Summary\n- Lives in Delft\n\n## Long-term Facts\n- [profile] Lives in Delft")
    model_server.reply("## Daily Summary\n- Moved to Lyon\n\n## Long-term Facts\n- [profile] Moved to Lyon")
    writing = pastlogs.start(came, model)
    assert pastlogs.write(writing, pace=0)
    assert (writing.status, writing.error) == (Status.DONE, "")
    text = MemoryManager(ada).read_long_term_memory()
    said = {each.entry.content: str(each.said.day) for each in dates.dated(ada, text) if each.said}
    assert said == {"Lives in Delft": "2025-03-02", "Moved to Lyon": "2026-03-02"}


def test_what_is_known_now_is_not_overwritten_by_what_was_so_then(ada, came, model_server, make_provider):
    manager = MemoryManager(ada)
    manager.save_to_long_term_memory("Lives in Porto", "profile")
    dates.note(ada, {"Lives in Porto": Saying(date(2026, 6, 1))})
    old = "## Daily Summary\n- Delft\n\n## Long-term Facts\n- [profile] Lives in Delft (replaces 1)"
    model_server.reply(old)
    model_server.reply("## Daily Summary\n- Lyon\n\n## Long-term Facts\nNone")
    pastlogs.write(pastlogs.start(came, make_provider()), pace=0)
    assert "Lives in Porto" in manager.read_long_term_memory()


def test_a_provider_that_is_down_ends_it_with_a_reason(ada, came, model_server, make_provider):
    model = make_provider()
    for _ in range(6):
        model_server.error(503)
    writing = pastlogs.start(came, model)
    assert pastlogs.write(writing, pace=0)
    assert writing.status == Status.FAILED
    assert "Start again" in writing.error
    assert pastlogs.estimate(came).chats == 2


def test_undoing_the_import_takes_its_logs_back(ada, came):
    pastlogs.write(pastlogs.start(came, None))
    uploads.undo(came)
    work.undo(came)
    assert MemoryManager(ada).files.list_daily_log_dates() == []
