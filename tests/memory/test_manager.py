"""The facade with everything real behind it: files, index, embedding model, search, injection."""

import io
import json

import pytest
from django.core.management import call_command

from memory.manager import MemoryManager
from memory.models import MemoryIndex
from memory.tools import TOOLS
from oneclaw.toolkit import ToolContext
from people.models import User
from tests.memory.conftest import say

pytestmark = pytest.mark.django_db


@pytest.fixture
def manager(ada: User) -> MemoryManager:
    return MemoryManager(ada)


@pytest.fixture
def lived(manager: MemoryManager) -> MemoryManager:
    """A few days of logs and a chat."""
    files = manager.files
    files.append_to_daily_log("2026-02-26", "- Adopted a grey cat called Miso\n- Repaired the bicycle")
    files.append_to_daily_log("2026-02-27", "- Booked a train to Lisbon for the conference")
    files.append_to_daily_log("2026-02-28", "- Baked rye bread with caraway")
    say(manager.user, "Which flour did I use for the pizza?", "You used tipo 00 from the mill.")
    return manager


def indexed(manager: MemoryManager) -> dict[int, str]:
    found = MemoryIndex.objects.filter(owner=manager.user, source_type="long_term")
    return dict(found.values_list("id", "chunk_text"))


def test_a_saved_entry_is_found_at_once(manager: MemoryManager):
    manager.save_to_long_term_memory("Plays the cello in an orchestra", "interests")
    best = manager.search_memory("musical instrument")[0]
    assert best.chunk_text == "Plays the cello in an orchestra"
    assert best.source_type == "long_term"
    assert best.score > 0


def test_an_updated_entry_is_indexed_as_it_is_now(manager: MemoryManager):
    manager.save_to_long_term_memory("Prefers dark mode", "preferences")
    assert manager.update_long_term_memory("dark mode", "light mode") == 1
    assert list(indexed(manager).values()) == ["Prefers light mode"]


def test_an_update_that_changes_nothing_leaves_the_index(manager: MemoryManager):
    manager.long_term.write("- Likes tea\n- Likes teapots\n")
    manager.refresh_index()
    before = indexed(manager)
    assert manager.update_long_term_memory("Likes coffee", "x") == 0
    assert manager.update_long_term_memory("Likes tea", "x") == 2
    assert indexed(manager) == before


def test_a_restored_backup_is_indexed(manager: MemoryManager):
    manager.save_to_long_term_memory("Lives in Porto")
    name = manager.files.create_backup()
    assert name is not None
    manager.update_long_term_memory("Lives in Porto", "Lives in Oslo")
    assert manager.restore_backup(name) is True
    assert list(indexed(manager).values()) == ["Lives in Porto"]


def test_results_say_where_and_when(lived: MemoryManager):
    best = lived.search_memory("Where does the train go?")[0]
    assert best.chunk_text == "Booked a train to Lisbon for the conference"
    assert (best.source_type, best.source_date) == ("daily_log", "2026-02-27")


def test_injection_recalls_logs_and_chats_beside_long_term_memory(lived: MemoryManager):
    lived.save_to_long_term_memory("Works as a pilot", "profile")
    content = lived.get_injection_content("What is the cat's name?")
    assert "- Works as a pilot\n" in content
    assert "### 2026-02-26\n- Adopted a grey cat called Miso\n" in content
    assert "tipo 00" in lived.get_injection_content("pizza flour")


def test_the_message_itself_is_not_what_it_recalls(lived: MemoryManager):
    chat = say(lived.user, "What is the name of my cat?")
    injection = lived.inject("What is the name of my cat?", session_id=chat.id)
    assert "Miso" in injection.variable
    assert "What is the name of my cat?" not in injection.text


def test_an_outside_edit_is_recalled_by_the_next_message(lived: MemoryManager):
    lived.get_injection_content("anything")
    lived.files.daily_path("2026-02-28").write_text("# Mine\n\n- Sold the accordion to Jonas\n")
    content = lived.get_injection_content("What happened to the accordion?")
    assert "Sold the accordion to Jonas" in content
    assert "caraway" not in content


def test_a_forgotten_chat_is_not_recalled(lived: MemoryManager):
    chat = lived.user.sessions.get()
    assert lived.search_memory("pizza flour", sources=["transcript"])
    chat.delete()
    lived.forget_session(chat.id)
    assert lived.search_memory("pizza flour", sources=["transcript"]) == []


def test_one_users_memory_is_not_anothers(lived: MemoryManager, ben: User):
    theirs = MemoryManager(ben)
    theirs.save_to_long_term_memory("Has a secret boat", "notes")
    assert "boat" not in lived.get_injection_content("boat")
    assert theirs.search_memory("cat Miso bicycle") == [
        hit for hit in theirs.search_memory("cat Miso bicycle") if hit.chunk_text == "Has a secret boat"
    ]


def test_a_rebuilt_index_gives_the_same_answers(lived: MemoryManager):
    before = [(hit.chunk_text, round(hit.score, 6)) for hit in lived.search_memory("bread and bicycle")]
    MemoryIndex.objects.all().delete()
    lived.rebuild_index()
    after = [(hit.chunk_text, round(hit.score, 6)) for hit in lived.search_memory("bread and bicycle")]
    assert before == after
    assert before


def test_stats_count_logs_bytes_and_chunks(lived: MemoryManager):
    lived.rebuild_index()
    stats = lived.get_stats()
    assert stats.daily_log_count == 3
    assert stats.total_size_bytes == lived.files.total_size()
    assert stats.indexed_chunk_count == 6
    assert stats.embedding_model_loaded is True


def test_without_the_model_keywords_still_answer(lived: MemoryManager, settings, tmp_path):
    settings.EMBEDDING_MODEL = tmp_path / "nowhere"
    assert lived.search_memory("bicycle")[0].chunk_text == "Repaired the bicycle"
    assert lived.inject("bicycle").receipt["keyword_only"] is True
    assert lived.get_stats().embedding_model_loaded is False


# The search tool and the search command


def test_the_tool_finds_and_says_where(lived: MemoryManager):
    (search,) = (tool.run for tool in TOOLS if tool.name == "search_memory")
    context = ToolContext(lived.user)
    result = search(context, {"query": "grey cat", "top_k": 1})
    assert "- [Daily log 2026-02-26] Adopted a grey cat called Miso (match " in result.content
    assert result.data["results"][0]["source_date"] == "2026-02-26"
    late = search(context, {"query": "grey cat", "since": "2026-02-27", "sources": ["daily_log"]})
    assert "Miso" not in late.content
    early = search(context, {"query": "bread", "until": "2026-02-27", "sources": ["daily_log"]})
    assert "rye" not in early.content


def test_the_tool_does_not_find_the_question_in_its_own_chat(lived: MemoryManager):
    (search,) = (tool.run for tool in TOOLS if tool.name == "search_memory")
    chat = say(lived.user, "Do you know the submarine's name?")
    result = search(ToolContext(lived.user, session_id=chat.id), {"query": "submarine's name"})
    assert "submarine" not in result.content


def search(*arguments: str) -> str:
    out = io.StringIO()
    call_command("memory", "search", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_answers_people(lived: MemoryManager):
    first = search("grey cat").splitlines()[0]
    assert first.split("  ")[1:3] == ["2026-02-26", "Daily log"]
    assert first.endswith("Adopted a grey cat called Miso")
    assert len(search("grey cat", "--all", "--top-k", "2").splitlines()) == 2
    assert search("   ") == "Nothing in memory matches.\n"


def test_the_command_answers_programs(lived: MemoryManager, monkeypatch):
    answer = json.loads(search("grey cat", "--json", "--source", "daily_log"))
    assert answer["query"] == "grey cat"
    assert {hit["source_type"] for hit in answer["results"]} == {"daily_log"}
    fields = {"chunk_id", "chunk_text", "source_type", "source_date", "score"}
    assert fields | {"bm25_score", "vector_score", "age_in_days"} <= set(answer["results"][0])
    monkeypatch.setattr("sys.stdin", io.StringIO("grey cat\nLisbon\n"))
    lines = [json.loads(line) for line in search("-", "--top-k", "1").splitlines()]
    assert [line["results"][0]["source_date"] for line in lines] == ["2026-02-26", "2026-02-27"]


def test_the_command_rebuilds(lived: MemoryManager):
    out = io.StringIO()
    call_command("memory", "rebuild", "--json", stdout=out)
    assert json.loads(out.getvalue()) == {"indexed_chunk_count": 6}
