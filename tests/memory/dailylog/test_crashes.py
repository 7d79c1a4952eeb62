"""kill -9 at the worst moments: nothing is lost and nothing is written twice. Real processes, real files."""

import signal
from datetime import UTC, date, datetime

import pytest

from chat.models import AiModel, Session
from memory.compaction.compactor import MemoryCompactor
from memory.dailylog import DailyLogWriter
from memory.jobs.ledger import Outcome
from memory.manager import MemoryManager
from memory.models import LedgerEntry, PendingEntry
from memory.storage import log_entries
from memory.storage.files import MemoryFileStorage
from people.models import User
from tests.memory import mortal
from tests.memory.compaction.test_compactor import DUPLICATES, TIDY
from tests.memory.conftest import say, summary
from tests.modelserver import ModelServer

pytestmark = pytest.mark.django_db(transaction=True)
NOON = datetime(2026, 2, 28, 12, tzinfo=UTC)
DAY = date(2026, 2, 28)
FLUSH = """
from memory.dailylog import DailyLogWriter
print(DailyLogWriter(ada).write_daily_log({!r}).outcome)
"""


def bodies(user: User) -> list[str]:
    return [e.body for e in log_entries.entries_of(MemoryFileStorage(user).read_daily_log(DAY) or "")]


def killed_in(name: str, chat: Session) -> None:
    """A flush in a process that dies when it comes to call `name`."""
    module, _, attribute = name.rpartition(":")
    target = f"import importlib; target = importlib.import_module({module!r})\n"
    if "." in attribute:
        owner, attribute = attribute.split(".")
        target += f"target = target.{owner}\n"
    patch = f"{target}target.{attribute} = die\n"
    mortal.run(patch + FLUSH.format(str(chat.id)), expect=-signal.SIGKILL)


@pytest.mark.parametrize(
    "moment",
    [
        "memory.dailylog.commit:write_entry",  # the answer is kept, nothing is in a file
        "memory.longterm.memory:LongTermMemory.change",  # the log is written, the facts are not
        "memory.dailylog.writer:move_pointer",  # both are written, the pointer is not moved
    ],
)
def test_a_kill_between_file_and_pointer_writes_nothing_twice(
    moment, ada: User, model: AiModel, model_server: ModelServer
):
    chat = say(ada, "I keep bees", "How nice", at=NOON)
    model_server.reply(summary("Talked about bees", "- Keeps bees"))
    killed_in(moment, chat)
    assert PendingEntry.objects.count() == 1
    chat.refresh_from_db()
    assert chat.last_logged_message is None
    say(ada, "And hens", session=chat, at=NOON)
    model_server.reply(summary("Talked about hens", "- Keeps bees"))
    assert DailyLogWriter(ada).write_daily_log(chat.id).outcome == Outcome.WRITTEN
    assert bodies(ada) == ["- Talked about bees", "- Talked about hens"]
    assert MemoryManager(ada).read_long_term_memory().count("Keeps bees") == 1
    assert not PendingEntry.objects.exists()
    # The answer that was there is not asked for again.
    assert len(model_server.requests) == 2
    assert "I keep bees" not in model_server.requests[1].text


def test_a_kill_before_the_answer_is_kept_asks_again(ada: User, model: AiModel, model_server: ModelServer):
    chat = say(ada, "hello", at=NOON)
    model_server.default = summary("once")
    killed_in("memory.dailylog.writer:writable", chat)
    killed_in("memory.dailylog.summary:parse", chat)
    # The claim of the dead process holds nobody up.
    assert DailyLogWriter(ada).write_daily_log(chat.id, wait=0).outcome == Outcome.WRITTEN
    assert bodies(ada) == ["- once"]
    failed, written = LedgerEntry.objects.order_by("id")
    assert (failed.outcome, written.outcome) == ("failed", "written")
    assert "stopped before this was done" in failed.detail


def test_processes_that_flush_at_once_write_one_entry(ada: User, model: AiModel, model_server: ModelServer):
    chat = say(ada, "hello", at=NOON)
    model_server.reply(summary("once"), delay=0.1)
    started = [mortal.start(FLUSH.format(str(chat.id))) for _ in range(3)]
    said = [process.communicate(timeout=120) for process in started]
    assert sorted(out.strip() for out, _ in said) == ["nothing", "nothing", "written"], said
    assert bodies(ada) == ["- once"]
    assert len(model_server.requests) == 1


def test_a_kill_between_backup_and_write_leaves_the_file(
    ada: User, model: AiModel, model_server: ModelServer
):
    files = MemoryFileStorage(ada)
    files.write_memory_file(DUPLICATES)
    model_server.default = TIDY
    mortal.run(
        """
from memory.longterm.memory import LongTermMemory
from memory.compaction.compactor import MemoryCompactor
LongTermMemory.change = die
MemoryCompactor(ada).force_compact()
""",
        expect=-signal.SIGKILL,
    )
    assert files.read_memory_file() == DUPLICATES
    assert [files.read_backup(name) for name in files.list_backups()] == [DUPLICATES]
    assert MemoryCompactor(ada).force_compact()
    assert files.read_memory_file() == TIDY
    assert sorted(row.outcome for row in LedgerEntry.objects.all()) == ["failed", "written"]
