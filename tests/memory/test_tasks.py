"""Tasks as an installation of the first version queued them: dotted paths and arguments still run."""

from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest
from django.utils import timezone
from django_q.models import OrmQ, Schedule
from django_q.tasks import async_task

from chat.models import AiModel, Session
from memory.dailylog import unlogged
from memory.jobs import claims
from memory.manager import MemoryManager
from memory.models import Claim, IndexState, LedgerEntry, MemoryIndex, Proposal, Rebuild
from memory.storage import log_entries
from oneclaw.schedules import SCHEDULES
from people.models import User
from tests.memory.compaction.test_compactor import DUPLICATES, TIDY
from tests.memory.conftest import run_tasks, say, summary
from tests.modelserver import ModelServer

pytestmark = pytest.mark.django_db(transaction=True)
NOON = datetime(2026, 2, 28, 12, tzinfo=UTC)
DAY = date(2026, 2, 28)


@pytest.fixture
def manager(ada: User) -> MemoryManager:
    return MemoryManager(ada)


@pytest.fixture
def chat(ada: User, model: AiModel, model_server: ModelServer) -> Session:
    """A chat that is to be summarised, by a model that always answers the same."""
    model_server.default = summary("Bees")
    return say(ada, "I keep bees", at=NOON)


def asked(key: str) -> str:
    """A request that waits, as a trigger noted it before it queued the task."""
    Claim.objects.create(key=key, queued_at=timezone.now())
    return key


def logged(manager: MemoryManager) -> bool:
    entries = log_entries.entries_of(manager.files.read_daily_log(DAY) or "")
    return [entry.body for entry in entries] == ["- Bees"]


def test_a_chat_that_was_to_be_flushed(manager: MemoryManager, chat: Session):
    key = asked(f"flush:{chat.id}")
    async_task("memory.tasks.flush_session", manager.user.pk, str(chat.id), "session_end", key)
    assert run_tasks() == ["flush_session"]
    assert logged(manager)
    assert not claims.waiting(key)
    assert LedgerEntry.objects.get().trigger == "session_end"


def test_the_rest_of_a_chat(manager: MemoryManager, chat: Session):
    async_task("memory.tasks.flush_session", manager.user.pk, str(chat.id), "schedule")
    assert run_tasks() == ["flush_session"]
    assert logged(manager)


def test_a_chat_that_waited_for_its_reply(manager: MemoryManager, chat: Session):
    # As `schedule` keeps it: key and tries by their places.
    async_task("memory.tasks.flush_session", manager.user.pk, str(chat.id), "app_background", "", 3)
    assert run_tasks() == ["flush_session"]
    assert logged(manager)
    assert not Schedule.objects.filter(func="memory.tasks.flush_session").exists()


def test_all_chats_of_a_user(manager: MemoryManager, chat: Session):
    key = asked(f"all:{manager.user.pk}")
    async_task("memory.tasks.flush_user", manager.user.pk, "app_background", key)
    assert run_tasks() == ["flush_user"]
    assert logged(manager)
    assert not claims.waiting(key)


def test_chats_that_no_trigger_caught(manager: MemoryManager, chat: Session):
    other = say(manager.user, "of another day")
    async_task("memory.tasks.flush_missed", manager.user.pk, [str(chat.id)])
    assert run_tasks() == ["flush_missed"]
    assert logged(manager)
    assert list(unlogged.chats(manager.user)) == [other]


def test_a_new_day(manager: MemoryManager, chat: Session):
    key = asked(f"day:{manager.user.pk}")
    async_task("memory.tasks.change_day", manager.user.pk, "day_change", key)
    assert run_tasks() == ["change_day", "compact_daily"]
    assert logged(manager)
    assert not claims.waiting(key)


def test_the_daily_compaction(manager: MemoryManager, model: AiModel, model_server: ModelServer):
    manager.files.write_memory_file(DUPLICATES + "\n" * 3_000)
    model_server.reply(TIDY)
    async_task("memory.tasks.compact_daily", manager.user.pk, "schedule")
    assert run_tasks() == ["compact_daily"]
    assert manager.read_long_term_memory() == TIDY
    assert Claim.objects.get(key=f"compact:{manager.user.pk}").done_on == manager.user.today()


def test_compaction_by_hand(manager: MemoryManager, model: AiModel, model_server: ModelServer):
    manager.files.write_memory_file(DUPLICATES)
    model_server.reply(TIDY)
    key = asked(f"compact-now:{manager.user.pk}")
    async_task("memory.tasks.compact_now", manager.user.pk, key)
    assert run_tasks() == ["compact_now"]
    assert manager.read_long_term_memory() == TIDY
    assert not claims.waiting(key)


def test_a_proposal(manager: MemoryManager, model: AiModel, model_server: ModelServer):
    manager.files.write_memory_file(DUPLICATES)
    model_server.reply(TIDY)
    key = asked(f"propose:{manager.user.pk}")
    async_task("memory.tasks.propose_compaction", manager.user.pk, key)
    assert run_tasks() == ["propose_compaction"]
    assert Proposal.objects.get().after == TIDY
    assert not claims.waiting(key)


@pytest.mark.parametrize(("task", "claim"), [("redo_day", "redo"), ("redo_highlights", "highlights")])
def test_a_day_again(
    task: str, claim: str, ada: User, make_provider: Callable[..., AiModel], model_server: ModelServer
):
    manager = MemoryManager(ada)
    chat = say(ada, "I keep bees on the roof", at=NOON)
    manager.flush_daily_log(chat.id)
    assert "quoted" in manager.read_log(DAY)
    make_provider()
    model_server.reply(summary("Bees"))
    key = asked(f"{claim}:{ada.pk}:2026-02-28")
    async_task(f"memory.tasks.{task}", ada.pk, "2026-02-28", key)
    assert run_tasks() == [task]
    assert logged(manager)
    assert not claims.waiting(key)


def test_the_index_after_a_change(manager: MemoryManager):
    manager.files.append_to_daily_log(DAY, "- Bees")
    key = asked(f"index:{manager.user.pk}")
    async_task("memory.tasks.refresh", manager.user.pk, key)
    assert run_tasks() == ["refresh"]
    assert MemoryIndex.objects.get().chunk_text == "Bees"
    assert not claims.waiting(key)


def test_a_rebuild(manager: MemoryManager):
    manager.files.append_to_daily_log(DAY, "- Bees")
    key = asked(f"rebuild:{manager.user.pk}")
    async_task("memory.tasks.rebuild_index", manager.user.pk, key)
    assert run_tasks() == ["rebuild_index"]
    assert MemoryIndex.objects.get().embedding
    rebuilt = Rebuild.objects.get()
    assert rebuilt.finished_at
    assert not rebuilt.error
    assert not claims.waiting(key)


def test_the_embedding_of_new_chunks(manager: MemoryManager):
    manager.files.append_to_daily_log(DAY, "- Bees")
    manager.refresh_index()
    MemoryIndex.objects.update(embedding=None, embedded_by="")
    IndexState.objects.update(asked_at=timezone.now())
    async_task("memory.waiting.embed_for", manager.user.pk)
    assert run_tasks() == ["embed_for"]
    assert MemoryIndex.objects.get().embedding
    assert IndexState.objects.get().asked_at is None


def test_the_hourly_round(manager: MemoryManager, chat: Session):
    async_task("memory.tasks.every_hour")
    assert "memory.tasks.every_hour" in [each.func for each in SCHEDULES]
    assert "flush_missed" in run_tasks()
    assert logged(manager)


def test_a_user_who_is_gone_or_may_not_come_is_no_error(
    manager: MemoryManager, chat: Session, model_server: ModelServer
):
    key = asked(f"all:{manager.user.pk}")
    User.objects.update(is_active=False)
    async_task("memory.tasks.flush_user", manager.user.pk, "app_background", key)
    async_task("memory.tasks.flush_user", manager.user.pk + 1_000, "app_background", "")
    assert run_tasks() == ["flush_user"] * 2
    assert not OrmQ.objects.exists()
    assert not model_server.requests
    assert not claims.waiting(key)
