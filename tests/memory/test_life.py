"""A few days with memory, from the first chat to the compacted file, as the worker would run them."""

from datetime import UTC, date, datetime, timedelta

import pytest
import time_machine

from chat.models import AiModel
from memory import tasks
from memory.dailylog import unlogged
from memory.manager import MemoryManager
from memory.models import LedgerEntry, MemoryIndex, Revision
from memory.storage import log_entries
from memory.storage.files import MemoryFileStorage
from memory.triggers import MemoryTriggers
from people.models import User
from tests.memory.conftest import run_tasks, say, summary
from tests.modelserver import ModelServer, Recorded, Script

pytestmark = pytest.mark.django_db(transaction=True)
NOON = datetime(2026, 2, 28, 12, tzinfo=UTC)
DAY, NEXT = date(2026, 2, 28), date(2026, 3, 1)


def bodies(user: User, day: date) -> list[str]:
    return [e.body for e in log_entries.entries_of(MemoryFileStorage(user).read_daily_log(day) or "")]


def retell(request: Recorded) -> str:
    """A model that says which words it was told."""
    words = [line.removeprefix("> ") for line in request.last_user.splitlines() if line.startswith("> ")]
    return summary("Heard " + " ".join(words))


def test_two_chats_a_switch_a_hidden_tab_and_a_new_day(ada: User, model: AiModel, model_server: ModelServer):
    model_server.default = Script(function=retell)
    with time_machine.travel(NOON):
        triggers = MemoryTriggers(User.objects.get(pk=ada.pk))
        triggers.on_return()
        one = say(ada, "w1", "w2", at=NOON)
        two = say(ada, "w3", at=NOON)
        triggers.on_session_switch(one.id, two.id)
        run_tasks()
        say(ada, "w4", session=two, at=NOON)
        triggers.on_app_background(two.id)
        run_tasks()
        say(ada, "w5", session=one, at=NOON)
    tomorrow = NOON + timedelta(days=1)
    with time_machine.travel(tomorrow):
        say(ada, "w6", session=two, at=tomorrow)
        MemoryTriggers(User.objects.get(pk=ada.pk)).on_return()
        run_tasks()
    assert MemoryFileStorage(ada).list_daily_log_dates() == [NEXT.isoformat(), DAY.isoformat()]
    assert bodies(ada, DAY) == ["- Heard w1 w2", "- Heard w3 w4", "- Heard w5"]
    assert bodies(ada, NEXT) == ["- Heard w6"]
    assert not unlogged.chats(ada).exists()
    asked = [row.trigger for row in LedgerEntry.objects.order_by("id")]
    assert asked == ["session_switch", "app_background", "day_change", "day_change"]


def test_new_facts_are_found_at_once(ada: User, model: AiModel, model_server: ModelServer):
    chat = say(ada, "I keep bees on the roof")
    model_server.reply(summary("Talked about beekeeping", "- [interests] Keeps bees on the roof"))
    MemoryManager(ada).flush_daily_log(chat.id)
    kinds = set(MemoryIndex.objects.filter(owner=ada).values_list("source_type", flat=True))
    assert {"daily_log", "long_term"} <= kinds
    found = MemoryManager(ada).search_memory("beekeeping bees")
    assert {"daily_log", "long_term"} <= {hit.source_type for hit in found}
    assert not any("oneclaw:entry" in hit.chunk_text for hit in found)


def test_a_flush_indexes_what_is_new_and_stamps_it_with_its_day(
    ada: User, model: AiModel, model_server: ModelServer
):
    model_server.default = Script(function=retell)
    chat = say(ada, "alpha", at=NOON - timedelta(days=40))
    MemoryManager(ada).flush_daily_log(chat.id)
    first = MemoryIndex.objects.filter(owner=ada, source_type="daily_log").get()
    assert first.source_date == DAY - timedelta(days=40)
    assert first.created_at.date() == first.source_date
    say(ada, "beta", session=chat, at=NOON)
    MemoryManager(ada).flush_daily_log(chat.id)
    assert MemoryIndex.objects.filter(pk=first.pk, updated_at=first.updated_at).exists()


def test_a_compaction_is_searchable_and_can_be_restored(ada: User, model: AiModel, model_server: ModelServer):
    manager = MemoryManager(ada)
    for text in ("Prefers dark mode", "Likes dark mode a lot", "Keeps bees on the roof"):
        manager.save_to_long_term_memory(text, "preferences")
    before = manager.read_long_term_memory()
    model_server.reply(
        "# Long-term Memory\n\n## Preferences\n- Prefers dark mode a lot\n- Keeps bees on the roof\n"
    )
    assert manager.force_compact_memory()
    texts = MemoryIndex.objects.filter(owner=ada, source_type="long_term").values_list(
        "chunk_text", flat=True
    )
    assert any("Prefers dark mode a lot" in text for text in texts)
    assert not any("Likes dark mode" in text for text in texts)
    assert Revision.objects.filter(author=Revision.Author.COMPACTION).exists()
    assert manager.restore_backup(manager.files.list_backups()[0])
    assert manager.read_long_term_memory() == before


def test_three_days_without_a_provider_heal_by_the_hour(ada: User, model: AiModel, model_server: ModelServer):
    chat = say(ada)
    model_server.default = Script(status=401, body=b"{}")
    for day in range(3):
        with time_machine.travel(NOON + timedelta(days=day)):
            say(ada, f"w{day}", session=chat, at=NOON + timedelta(days=day))
            MemoryTriggers(ada).on_app_background(chat.id)
            tasks.every_hour()
            run_tasks()
    assert MemoryFileStorage(ada).list_daily_log_dates() == []
    model_server.default = Script(function=retell)
    with time_machine.travel(NOON + timedelta(days=3)):
        tasks.every_hour()
        run_tasks()
    for day in range(3):
        assert bodies(ada, DAY + timedelta(days=day)) == [f"- Heard w{day}"]
