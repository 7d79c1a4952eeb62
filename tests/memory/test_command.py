"""`manage.py memory`: each action for people and for programs."""

import io
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chat.models import AiModel
from connect.management.commands.memory import Bar
from memory.longterm import dates
from memory.longterm.dates import Saying
from memory.manager import MemoryManager
from memory.models import LastSaid
from people.models import User
from tests.memory.conftest import say, summary
from tests.modelserver import ModelServer

pytestmark = pytest.mark.django_db

BACKUP = "MEMORY_backup_2026-03-02_14-30-00.md"


@pytest.fixture
def manager(ada: User) -> MemoryManager:
    return MemoryManager(ada)


def memory(*arguments: str) -> str:
    out = io.StringIO()
    call_command("memory", *arguments, stdout=out)
    return out.getvalue()


def answer(*arguments: str) -> Any:
    return json.loads(memory(*arguments, "--json"))


# Whose memory


def test_the_only_user_need_not_be_named(manager: MemoryManager):
    assert answer("status")["user"] == "ada"


def test_one_of_several_must_be_named(manager: MemoryManager, ben: User):
    with pytest.raises(CommandError, match="--user NAME: ada, ben"):
        memory("status")
    assert answer("status", "--user", "Ben")["user"] == "ben"


def test_an_unknown_user_is_said_so(manager: MemoryManager):
    with pytest.raises(CommandError, match="no user eve"):
        memory("status", "--user", "eve")


def test_without_users_it_says_how_to_make_one():
    with pytest.raises(CommandError, match="no users yet"):
        memory("status")


def test_an_unknown_action_is_refused(manager: MemoryManager):
    with pytest.raises(CommandError, match="invalid choice"):
        memory("polish")


# Actions


def test_status_counts_files_and_index(manager: MemoryManager):
    manager.files.append_to_daily_log("2026-02-28", "- tea")
    manager.save_to_long_term_memory("Likes tea")
    status = answer("status")
    assert status["daily_log_count"] == 1
    assert status["total_size_bytes"] == manager.files.total_size() > 0
    assert status["embedding_model_loaded"] is True
    assert status["search"] == "hybrid"
    assert status["indexed_chunk_count"] == manager.get_stats().indexed_chunk_count
    assert status["revision_count"] == 1
    assert "daily log count          1\n" in memory("status")


def test_without_its_model_status_says_keyword_only(manager: MemoryManager, settings, tmp_path):
    settings.EMBEDDING_MODEL = tmp_path / "nowhere"
    status = answer("status")
    assert status["embedding_model_loaded"] is False
    assert status["search"] == "keyword-only"
    assert "nowhere" in status["embedding_problem"]


def test_inject_prints_the_block(manager: MemoryManager):
    manager.save_to_long_term_memory("Likes tea", "preferences")
    content = manager.get_injection_content("drinks?")
    assert memory("inject", "drinks?") == f"{content}\n"
    assert answer("inject", "drinks?") == {"query": "drinks?", "content": content}
    assert answer("inject", "drinks?", "--receipt")["receipt"]["long_term"]["lines"] > 0
    assert answer("inject", "drinks?", "--budget", "0")["content"] == ""


def test_inject_keeps_to_the_tokens_that_messages_may_have(manager: MemoryManager, settings):
    manager.save_to_long_term_memory("Likes tea", "preferences")
    settings.MEMORY_TOKENS = 5
    assert answer("inject", "drinks?")["content"] == ""
    assert "Likes tea" in answer("inject", "drinks?", "--budget", "200")["content"]


def test_inject_reads_queries_from_standard_input(manager: MemoryManager, monkeypatch):
    manager.save_to_long_term_memory("喜欢茶")
    monkeypatch.setattr("sys.stdin", io.StringIO("drinks?\n\n饮料？\r\n"))
    lines = [json.loads(line) for line in memory("inject", "-").splitlines()]
    assert [line["query"] for line in lines] == ["drinks?", "", "饮料？"]
    assert all("喜欢茶" in line["content"] for line in lines)
    assert [set(line) for line in lines] == [{"query", "content"}] * 3


def test_backups_are_listed_and_restored(manager: MemoryManager):
    assert memory("backups") == "There are no backups.\n"
    manager.long_term.write("- now\n")
    (manager.files.root / BACKUP).write_text("- then\n")
    assert answer("backups") == {"backups": [BACKUP]}
    assert answer("restore", BACKUP) == {"restored": BACKUP}
    assert manager.read_long_term_memory() == "- then\n"
    assert list(manager.user.revisions.values_list("author", flat=True)) == ["restore", "user"]


@pytest.mark.parametrize("name", ["MEMORY.md", "../ben/MEMORY.md", "MEMORY_backup_1999-01-01_00-00-00.md"])
def test_what_is_no_backup_is_not_restored(manager: MemoryManager, name: str):
    manager.long_term.write("- now\n")
    with pytest.raises(CommandError, match="memory backups"):
        memory("restore", name)
    assert manager.read_long_term_memory() == "- now\n"


def test_a_broken_disk_is_a_sentence(manager: MemoryManager):
    manager.files.memory_path.mkdir(parents=True)
    with pytest.raises(CommandError, match=r"MEMORY\.md could not be read"):
        memory("status")


def test_a_source_that_does_not_exist_is_refused(manager: MemoryManager):
    with pytest.raises(CommandError, match="--source takes daily_log, long_term, transcript, not email"):
        memory("search", "tea", "--source", "daily_log,email")
    with pytest.raises(CommandError, match="--top-k"):
        memory("search", "tea", "--top-k", "0")


# Flush and compaction, by a scripted model

LONG = "# Long-term Memory\n\n## Notes\n- Likes green tea a lot\n- Has a cat\n- Likes green tea a lot\n"
SHORT = "# Long-term Memory\n\n## Notes\n- Likes green tea a lot\n- Has a cat\n"


def test_flush_writes_what_is_new(manager: MemoryManager, model: AiModel, model_server: ModelServer):
    say(manager.user, "Hello", "Hi")
    other = say(manager.user, "Tea?", "Yes.")
    model_server.reply(summary("Talked about tea"))
    flushed = answer("flush", "--session", str(other.id))["flushed"]
    assert [(each["outcome"], each["messages"]) for each in flushed] == [("written", 2)]
    model_server.reply(summary("Said hello"))
    assert memory("flush") == "Logged 1 of 1 chats with something new.\n"
    log = manager.files.read_daily_log(manager.user.today()) or ""
    assert "Talked about tea" in log
    assert "Said hello" in log


def test_a_flush_that_fails_says_why(manager: MemoryManager, model: AiModel, model_server: ModelServer):
    say(manager.user, "Hello", "Hi")
    model_server.error(401)
    with pytest.raises(CommandError):
        memory("flush")
    assert manager.files.list_daily_log_dates() == []


def test_a_chat_of_somebody_else_is_not_flushed(manager: MemoryManager, ben: User):
    theirs = say(ben, "Hello", "Hi")
    with pytest.raises(CommandError, match="ada has no chat"):
        memory("flush", "--user", "ada", "--session", str(theirs.id))


def test_a_dry_run_prints_the_diff_and_writes_nothing(
    manager: MemoryManager, model: AiModel, model_server: ModelServer
):
    manager.long_term.write(LONG)
    model_server.reply(SHORT)
    assert "\n-- Likes green tea a lot\n" in memory("compact", "--dry-run")
    assert manager.read_long_term_memory() == LONG
    assert manager.files.list_backups() == []


def test_compact_writes_and_keeps_a_backup(manager: MemoryManager, model: AiModel, model_server: ModelServer):
    manager.long_term.write(LONG)
    model_server.reply(SHORT)
    assert answer("compact")["compacted"] is True
    assert manager.read_long_term_memory() == SHORT
    (backup,) = answer("backups")["backups"]
    memory("restore", backup)
    assert manager.read_long_term_memory() == LONG


def test_a_refused_compaction_says_why(manager: MemoryManager, model: AiModel, model_server: ModelServer):
    manager.long_term.write(LONG)
    model_server.reply("")
    with pytest.raises(CommandError, match=r"\w"):
        memory("compact")
    assert manager.read_long_term_memory() == LONG


# Progress


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_drawn_where_somebody_looks():
    screen, pipe = Screen(), io.StringIO()
    for stream in (screen, pipe):
        bar = Bar("Indexing", stream)
        bar(1, 2)
        bar(2, 2)
        bar.close()
    assert screen.getvalue().endswith(f"[{'#' * 30}] 2/2\n")
    assert pipe.getvalue() == ""


def test_a_doubtful_compaction_is_written_only_when_asked_for(
    manager: MemoryManager, model: AiModel, model_server: ModelServer
):
    manager.long_term.write(LONG)
    doubtful = SHORT + "- Owns a red sailing boat in Lisbon harbour\n"
    for _ in range(3):
        model_server.reply(doubtful)
    assert "In doubt: It says something that no entry said" in memory("compact", "--dry-run")
    with pytest.raises(CommandError, match="no entry said"):
        memory("compact")
    assert manager.read_long_term_memory() == LONG
    assert answer("compact", "--even-in-doubt")["compacted"] is True
    assert manager.read_long_term_memory() == doubtful


def test_entries_are_listed_with_their_days_and_the_days_can_be_loaded(
    manager: MemoryManager, tmp_path: Path
):
    manager.files.write_memory_file("- Likes tea\n- Sings\n")
    dates.note(manager.user, {"Likes tea": Saying(date(2026, 5, 3))})
    assert memory("entries") == "2026-05-03  Likes tea\nunknown     Sings\n"
    file = tmp_path / "entries.json"
    file.write_text(json.dumps(answer("entries")))
    LastSaid.objects.all().delete()
    assert answer("entries", "--load", str(file))["loaded"] == 1
    assert memory("entries").startswith("2026-05-03  Likes tea")
    file.write_text("[]")
    with pytest.raises(CommandError, match="not such a list"):
        memory("entries", "--load", str(file))
