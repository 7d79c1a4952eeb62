"""How much a search indexes itself in a process that serves pages, and that the worker does the rest."""

from datetime import date

import pytest

from memory.index import portions, writer
from memory.index.index import Index
from memory.manager import MemoryManager
from memory.models import IndexedSource, IndexState, MemoryIndex, Source
from memory.search.engine import HybridSearchEngine
from people.models import User
from tests.memory.conftest import run_tasks, say

pytestmark = pytest.mark.django_db

LONG = "The lighthouse keeper counts the ships. " * 15


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portions._Process, "serves_pages", False)
    monkeypatch.setattr(portions, "FEW_CHARACTERS", 300)
    portions.leave_to_worker()


def found(user: User, query: str, **limits) -> list[str]:
    return [hit.chunk_text for hit in HybridSearchEngine(user).search(query, judged=False, **limits)]


def keys(user: User) -> set[str]:
    return set(MemoryIndex.objects.filter(owner=user).values_list("source_key", flat=True))


@pytest.mark.usefixtures("serving")
def test_a_search_among_pages_indexes_a_short_message_itself(ada: User):
    say(ada, "Violin lessons start on Monday.")
    assert found(ada, "violin lessons") == ["Violin lessons start on Monday."]
    assert run_tasks() == []


@pytest.mark.usefixtures("serving")
def test_a_search_among_pages_leaves_a_long_message_to_the_worker(ada: User):
    say(ada, "The violin is new.", LONG, "Violin lessons start on Monday.")
    assert found(ada, "violin") == ["The violin is new."]
    # Asked again at once, the worker is not asked twice.
    assert found(ada, "lighthouse keeper", top_k=1) == ["The violin is new."]
    assert run_tasks()[0] == "refresh"
    assert "lighthouse" in found(ada, "lighthouse keeper", top_k=1)[0]
    assert "Violin lessons start on Monday." in found(ada, "violin lessons")


@pytest.mark.usefixtures("serving")
def test_a_search_among_pages_leaves_a_long_file_to_the_worker(ada: User):
    files = MemoryManager(ada).files
    files.append_to_daily_log(date(2026, 5, 1), "- " + "\n- ".join(f"Ship {n} came in." for n in range(30)))
    files.append_to_daily_log(date(2026, 5, 2), "- The violin is new.")
    assert found(ada, "violin", top_k=1) == ["The violin is new."]
    assert keys(ada) == {"daily/2026-05-02.md"}
    assert run_tasks()[:1] == ["refresh"]
    assert found(ada, "Ship 12 came in", top_k=1) == ["Ship 12 came in."]
    assert IndexState.objects.get(owner=ada).chunk_count == 31


@pytest.mark.usefixtures("serving")
def test_saving_into_a_long_memory_leaves_its_index_to_the_worker(ada: User):
    memory = MemoryManager(ada)
    memory.files.write_memory_file(
        "# Long-term Memory\n\n## Notes\n" + "".join(f"- Ship {n} came in.\n" for n in range(30))
    )
    memory.save_to_long_term_memory("The violin is new.", "notes")
    assert not keys(ada)
    assert run_tasks()[:1] == ["refresh"]
    assert found(ada, "violin is new", top_k=1) == ["The violin is new."]


@pytest.mark.usefixtures("serving")
def test_while_another_search_reads_the_chats_this_one_goes_by_what_there_is(ada: User):
    Index(ada).sync()
    say(ada, "Violin lessons start on Monday.")
    with portions.of_a_search().turn(ada.pk, wait=False) as mine:
        assert mine
        assert found(ada, "violin lessons") == []
    assert found(ada, "violin lessons") == ["Violin lessons start on Monday."]


@pytest.mark.usefixtures("serving")
def test_a_changed_file_is_seen_whoever_else_searches(ada: User, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(portions, "PATIENCE", 0.01)
    MemoryManager(ada).files.append_to_daily_log(date(2026, 5, 2), "- The violin is new.")
    with portions.of_a_search().turn(ada.pk, wait=False):
        assert found(ada, "violin is new", top_k=1) == ["The violin is new."]


def test_a_command_has_nobody_else_and_indexes_all(ada: User):
    say(ada, LONG)
    assert "lighthouse" in found(ada, "lighthouse keeper", top_k=1)[0]


def test_what_is_new_in_the_chat_left_out_is_not_read_for_its_own_search(ada: User):
    here, there = say(ada, "The violin is new."), say(ada, "A cello stands in the hall.")
    assert found(ada, "violin or cello", leave_out=f"chat:{here.id}") == ["A cello stands in the hall."]
    assert keys(ada) == {f"chat:{there.id}"}
    say(ada, "The cello is old.", session=there, type="user")
    assert "The cello is old." in found(ada, "cello", leave_out=f"chat:{here.id}")
    assert MemoryManager(ada).refresh_index()
    assert keys(ada) == {f"chat:{here.id}", f"chat:{there.id}"}
    assert sorted(found(ada, "violin or cello")) == [
        "A cello stands in the hall.",
        "The cello is old.",
        "The violin is new.",
    ]


def test_a_large_file_cut_short_goes_on_where_it_was(ada: User, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writer, "MOST_AT_ONCE", 10)
    files = MemoryManager(ada).files
    files.append_to_daily_log(date(2026, 5, 1), "- " + "\n- ".join(f"Ship {n} came in." for n in range(45)))
    whole, insert = 0, writer._insert

    def cut_short(owner_id: int, rows: list[MemoryIndex]) -> None:
        nonlocal whole
        if whole == 2:
            raise KeyboardInterrupt
        whole += 1
        insert(owner_id, rows)

    monkeypatch.setattr(writer, "_insert", cut_short)
    with pytest.raises(KeyboardInterrupt):
        Index(ada).sync()
    rows = MemoryIndex.objects.filter(owner=ada, source_type=Source.DAILY_LOG)
    kept = set(rows.values_list("id", flat=True))
    assert len(kept) == 20
    assert not IndexedSource.objects.filter(owner=ada).exists()
    monkeypatch.setattr(writer, "_insert", insert)
    Index(ada).sync()
    assert rows.count() == 45
    assert kept < set(rows.values_list("id", flat=True))
    assert IndexState.objects.get(owner=ada).chunk_count == 45
    # And back again: a large file that shrank.
    (files.daily_folder / "2026-05-01.md").write_text("- Ship 7 came in.\n")
    Index(ada).sync()
    assert list(rows.values_list("chunk_text", flat=True)) == ["Ship 7 came in."]
    assert IndexState.objects.get(owner=ada).chunk_count == 1
