"""Faults of the index with real processes and files: a quiet fallback, and the next call works."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from memory.index import engines, writer
from memory.index.index import Index, mend
from memory.manager import MemoryManager
from memory.models import IndexState, MemoryIndex
from oneclaw.postgres import is_postgres
from people.models import User
from tests.limits import line_of
from tests.memory import processes

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def memory(ada: User) -> MemoryManager:
    manager = MemoryManager(ada)
    manager.files.write_memory_file("# Long-term Memory\n\n## Notes\n- The spare key is under the blue pot\n")
    for n in range(4):
        manager.files.append_to_daily_log(
            date(2026, 1, 1) + timedelta(days=n), f"- Walked {n} miles\n- Ate soup {n}"
        )
    return manager


@pytest.fixture(autouse=True)
def whole_tables() -> Iterator[None]:
    """What a test breaks is whole again for the next one, also where clearing tables does not reach."""
    yield
    mend()
    engines.fulltext().make_again()
    engines.vectors().drop_all()


def best(memory: MemoryManager, query: str = "Where is the spare key?") -> str:
    return memory.search_memory(query)[0].chunk_text


KEY = "The spare key is under the blue pot"


def damage(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.mark.parametrize(
    "statements",
    [
        ["DELETE FROM memory_fulltext"],
        ["DELETE FROM memory_vocabulary"],
        ["UPDATE memory_fulltext SET terms = '{}'"],
        ["DROP TABLE memory_vocabulary"],
        ["DROP TABLE memory_fulltext, memory_vocabulary"],
        ["DELETE FROM memory_vectors_384"],
        ["DROP TABLE memory_vectors_384"],
    ]
    if is_postgres()
    else [
        ["DELETE FROM memory_fulltext_data"],
        ["UPDATE memory_fulltext_data SET block = randomblob(40)"],
        ["DROP TABLE memory_fulltext_idx"],
        ["DROP TABLE memory_vocabulary"],
        ["DROP TABLE memory_vocabulary", "DROP TABLE memory_fulltext"],
        ["DELETE FROM memory_vectors_384_chunks"],
        ["UPDATE memory_vectors_384_vector_chunks00 SET vectors = zeroblob(3)"],
        ["DROP TABLE memory_vectors_384"],
    ],
)
def test_a_damaged_search_table_is_survived_and_mended(memory: MemoryManager, statements: list[str]):
    memory.rebuild_index()
    assert best(memory) == KEY
    damage(*statements)
    assert best(memory) == KEY
    memory.files.append_to_daily_log("2026-02-01", "- Planted a lemon tree")
    assert best(memory, "lemon tree") == "Planted a lemon tree"
    memory.rebuild_index()
    assert engines.fulltext().is_sound()
    assert best(memory) == KEY
    assert any(hit.vector_score for hit in memory.search_memory("lemon tree"))


def test_without_the_index_table_files_are_searched_and_a_rebuild_makes_it_again(memory: MemoryManager):
    memory.rebuild_index()
    count = MemoryIndex.objects.count()
    damage("DROP TABLE memory_memoryindex")
    hits = memory.search_memory("Where is the spare key?")
    assert hits[0].chunk_text == KEY
    memory.rebuild_index()
    assert MemoryIndex.objects.count() == count == IndexState.objects.get().chunk_count
    assert best(memory) == KEY


def test_a_rebuild_killed_in_the_middle_goes_on_where_it_was(memory: MemoryManager, data_dir: Path):
    for n in range(40):
        memory.files.append_to_daily_log(
            date(2026, 2, 1) + timedelta(days=n), f"- Day {n} was sunny and long"
        )
    process = processes.start(
        """
from memory.index import backfill
from memory.manager import MemoryManager
from people.models import User
backfill.BATCH = 5
def slowly(done, total):
    print(done, flush=True)
    time.sleep(0.2)
MemoryManager(User.objects.get()).rebuild_index(slowly)
""",
        data_dir,
    )
    assert process.stdout is not None
    assert line_of(process, 120).strip() == "5"
    assert best(memory) == KEY
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    process.stdout.close()
    assert best(memory) == KEY
    memory.rebuild_index()
    assert MemoryIndex.objects.filter(embedding=None).count() == 0
    assert MemoryIndex.objects.count() == 49
    assert engines.fulltext().is_sound()


def test_two_who_index_a_file_at_once_add_it_once(memory: MemoryManager, monkeypatch: pytest.MonkeyPatch):
    compare, both = writer.difference, threading.Barrier(2)

    def slowly(*what: Any) -> writer.Difference:
        """Both have compared before either writes, unless one has to wait for the other."""
        found = compare(*what)
        with suppress(threading.BrokenBarrierError):
            both.wait(1.0)
        return found

    def index() -> None:
        Index(memory.user).index_file("MEMORY.md")
        connection.close()

    Index(memory.user).state()
    monkeypatch.setattr(writer, "difference", slowly)
    threads = [threading.Thread(target=index) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [row.chunk_text for row in MemoryIndex.objects.all()] == [KEY]
    assert IndexState.objects.get().chunk_count == 1


def test_two_rebuilds_at_once_make_one_index(memory: MemoryManager, data_dir: Path):
    script = """
from memory.manager import MemoryManager
from people.models import User
MemoryManager(User.objects.get()).rebuild_index()
"""
    running = [processes.start(script, data_dir) for _ in range(2)]
    for process in running:
        assert process.communicate(timeout=240)[1].find("Traceback") == -1
        assert process.returncode == 0
    assert MemoryIndex.objects.count() == 9
    assert IndexState.objects.get().chunk_count == 9
    assert engines.fulltext().is_sound()
    assert best(memory) == KEY


def test_a_log_that_is_not_utf_8_is_indexed_as_far_as_it_can_be_read(memory: MemoryManager):
    memory.files.daily_path("2026-02-02").write_bytes("- Café crème\n- Bought a kite\n".encode("latin-1"))
    assert best(memory, "bought a kite") == "Bought a kite"


def test_a_log_that_cannot_be_read_hides_no_other(memory: MemoryManager):
    path = memory.files.daily_path("2026-02-03")
    path.symlink_to(path.with_name("2026-02-04.md"))
    path.with_name("2026-02-04.md").symlink_to(path)
    assert best(memory) == KEY


def test_five_megabytes_of_memory_are_searchable_by_words_at_once(
    memory: MemoryManager, settings, tmp_path: Path
):
    settings.EMBEDDING_MODEL = tmp_path / "nowhere"
    line = "- {0} is a fact about thing number {0}, with more to say of it than fits into a line\n"
    text = "".join(line.format(n) for n in range(5_000_000 // len(line)))
    memory.files.write_memory_file(f"# Long-term Memory\n\n## Notes\n{text}")
    assert best(memory, "thing 31415").startswith("31415 is a fact")


def test_a_database_that_cannot_be_written_is_still_searched(memory: MemoryManager):
    memory.rebuild_index()
    memory.files.append_to_daily_log("2026-02-05", "- Something new")
    # As on a standby, or with a full disk under it.
    setting = "SET default_transaction_read_only = {}" if is_postgres() else "PRAGMA query_only = {}"
    damage(setting.format("on"))
    try:
        assert best(memory) == KEY
    finally:
        damage(setting.format("off"))
    assert best(memory, "something new") == "Something new"


def test_a_memory_folder_that_may_not_be_written_is_still_indexed(memory: MemoryManager):
    if os.geteuid() != 0:
        memory.files.root.chmod(0o500)
    try:
        Index(memory.user).rebuild()
        assert best(memory) == KEY
    finally:
        memory.files.root.chmod(0o700)
