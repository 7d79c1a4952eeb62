"""The index follows the files, embeds only what is new, and can always be made again."""

import os
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.db import connection

from memory import embedding
from memory.index import backfill, engines
from memory.index.index import Index
from memory.index.sources import files
from memory.index.sources.files import FileSource
from memory.manager import MemoryManager
from memory.models import IndexState, MemoryIndex, Source
from memory.search.engine import HybridSearchEngine
from memory.search.results import MemorySearchResult
from people.models import User
from tests.memory.conftest import run_tasks, say

pytestmark = pytest.mark.django_db


@pytest.fixture
def memory(ada: User) -> MemoryManager:
    manager = MemoryManager(ada)
    manager.files.write_memory_file("# Long-term Memory\n\n## Preferences\n- Likes green tea\n- Hates mint\n")
    manager.files.append_to_daily_log("2026-01-05", "- Bought a red bicycle\n- Called the dentist")
    manager.files.append_to_daily_log("2026-01-06", "- Read about volcanoes")
    return manager


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that the real engine is asked for from here on."""
    asked: list[str] = []
    real = embedding.EmbeddingEngine.embed_many

    def noting(self: embedding.EmbeddingEngine, texts: Any) -> Any:
        asked.extend(texts)
        return real(self, texts)

    monkeypatch.setattr(embedding.EmbeddingEngine, "embed_many", noting)
    return asked


def texts(user: User) -> set[str]:
    return set(MemoryIndex.objects.filter(owner=user).values_list("chunk_text", flat=True))


def answers(user: User) -> list[list[tuple[Any, ...]]]:
    def plain(hit: MemorySearchResult) -> tuple[Any, ...]:
        return hit.chunk_text, hit.source_date, round(hit.score, 6), hit.source_key, hit.anchor

    questions = ["bicycle", "what does she drink?", "volcanoes", "dentist", "violin"]
    return [
        [plain(hit) for hit in HybridSearchEngine(user).search(question, judged=False)]
        for question in questions
    ]


def test_a_rebuild_indexes_every_file_with_its_date(memory: MemoryManager):
    memory.rebuild_index()
    rows = {row.chunk_text: row for row in MemoryIndex.objects.all()}
    assert set(rows) == {
        "Likes green tea",
        "Hates mint",
        "Bought a red bicycle",
        "Called the dentist",
        "Read about volcanoes",
    }
    assert rows["Hates mint"].source_type == Source.LONG_TERM
    assert rows["Hates mint"].context == "Preferences"
    assert rows["Hates mint"].source_date is None
    bicycle = rows["Bought a red bicycle"]
    assert bicycle.source_type == Source.DAILY_LOG
    assert bicycle.source_date == date(2026, 1, 5)
    assert bicycle.source_key == "daily/2026-01-05.md"
    assert memory.user.local_date(bicycle.created_at) == date(2026, 1, 5)
    assert all(len(row.embedding or b"") == 384 * 4 for row in rows.values())


def test_unchanged_chunks_are_not_embedded_again(memory: MemoryManager, embedded: list[str]):
    memory.rebuild_index()
    assert len(embedded) == 10  # each with its date and context, and alone
    kept = dict(MemoryIndex.objects.values_list("chunk_text", "id"))
    memory.files.append_to_daily_log("2026-01-05", "- Fixed the gate")
    del embedded[:]
    Index(memory.user).sync()
    assert embedded == ["5 January 2026: Fixed the gate", "Fixed the gate"]
    assert (
        dict(MemoryIndex.objects.exclude(chunk_text="Fixed the gate").values_list("chunk_text", "id")) == kept
    )
    memory.rebuild_index()
    assert len(embedded) == 2


def test_nothing_changed_means_nothing_is_read(memory: MemoryManager, monkeypatch: pytest.MonkeyPatch):
    index = Index(memory.user)
    index.sync()
    monkeypatch.setattr(FileSource, "index", lambda *_: pytest.fail("a file was read again"))
    index.sync()


def test_an_outside_edit_is_noticed_by_the_next_search(memory: MemoryManager):
    memory.search_memory("tea")
    path = memory.files.memory_path
    path.write_text(path.read_text().replace("green tea", "black coffee"))
    assert memory.search_memory("coffee")[0].chunk_text == "Likes black coffee"
    assert "Likes green tea" not in texts(memory.user)


def test_an_edit_that_keeps_size_and_time_is_noticed_when_the_file_is_replaced(memory: MemoryManager):
    memory.search_memory("tea")
    path = memory.files.memory_path
    before = path.stat()
    other = path.with_name("other")
    other.write_text(path.read_text().replace("mint", "milk"))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)
    memory.search_memory("milk")
    assert "Hates milk" in texts(memory.user)


def test_a_removed_file_leaves_the_index(memory: MemoryManager):
    memory.search_memory("volcanoes")
    memory.files.daily_path("2026-01-06").unlink()
    assert "Read about volcanoes" not in {hit.chunk_text for hit in memory.search_memory("volcanoes")}
    assert "Read about volcanoes" not in texts(memory.user)


def test_only_a_real_date_names_a_log(memory: MemoryManager):
    folder = memory.files.daily_folder
    for name in ("2026-13-01.md", "notes.md", "2026-01-07.txt", "2026-01-07.md.bak", "../secret.md"):
        (folder / name).write_text("- zebra crossing")
    (folder / "2026-01-08.md").mkdir()
    assert all("zebra" not in hit.chunk_text for hit in memory.search_memory("zebra crossing"))


def test_a_deleted_and_rebuilt_index_gives_the_same_answers(memory: MemoryManager):
    say(memory.user, "My violin is in repair.", "I hope it is ready soon.")
    memory.rebuild_index()
    before = answers(memory.user)
    assert all(before)
    MemoryIndex.objects.all().delete()
    IndexState.objects.all().delete()
    memory.rebuild_index()
    assert answers(memory.user) == before


def test_a_rebuild_never_stamps_rows_with_today(memory: MemoryManager):
    memory.rebuild_index()
    made = dict(MemoryIndex.objects.values_list("chunk_text", "created_at"))
    MemoryIndex.objects.all().delete()
    memory.rebuild_index()
    assert dict(MemoryIndex.objects.values_list("chunk_text", "created_at")) == made


def test_a_rebuild_reports_progress_to_its_end(memory: MemoryManager):
    steps: list[tuple[int, int]] = []
    memory.rebuild_index(lambda done, total: steps.append((done, total)))
    assert steps[-1] == (5, 5)


def test_searches_answer_while_a_rebuild_goes_on(memory: MemoryManager):
    memory.rebuild_index()
    MemoryIndex.objects.update(embedding=None, embedded_by="")
    seen: list[str] = []
    memory.rebuild_index(lambda *_: seen.append(memory.search_memory("bicycle")[0].chunk_text))
    assert seen == ["Bought a red bicycle"]


def test_a_long_file_is_searchable_by_words_at_once_and_embedded_by_the_worker(memory: MemoryManager):
    items = "\n".join(f"- Recipe {n} with ingredient{n}" for n in range(backfill.FEW * 4))
    memory.files.append_to_daily_log("2026-01-07", items)
    (hit,) = memory.search_memory("ingredient17")
    assert (hit.chunk_text, hit.vector_score) == ("Recipe 17 with ingredient17", 0.0)
    assert MemoryIndex.objects.filter(embedded_by="").exists()
    memory.search_memory("ingredient17")
    assert run_tasks() == ["embed_for"]
    assert not MemoryIndex.objects.filter(embedding=None).exists()
    assert all(hit.vector_score for hit in memory.search_memory("ingredient17"))


def test_the_counts_stay_those_of_the_rows(memory: MemoryManager):
    memory.rebuild_index()
    memory.files.append_to_daily_log("2026-01-06", "- One more")
    memory.files.daily_path("2026-01-05").unlink()
    Index(memory.user).sync()
    state = IndexState.objects.get()
    counts = list(MemoryIndex.objects.values_list("term_count", flat=True))
    assert (state.chunk_count, state.term_total) == (len(counts), sum(counts))
    assert engines.fulltext().is_sound()
    with connection.cursor() as cursor:
        cursor.execute("SELECT chunk_id FROM memory_vectors_384 ORDER BY 1")
        assert [row[0] for row in cursor.fetchall()] == sorted(
            MemoryIndex.objects.values_list("id", flat=True)
        )


def test_another_model_searches_by_words_until_all_is_embedded_again(
    memory: MemoryManager, settings: Any, tmp_path: Path
):
    memory.files.append_to_daily_log(
        "2026-01-07", "\n".join(f"- Fact number {n}" for n in range(backfill.FEW * 2))
    )
    memory.rebuild_index()
    assert any(hit.vector_score for hit in memory.search_memory("bicycle"))
    other = tmp_path / "other-model"
    shutil.copytree(configured.EMBEDDING_MODEL, other)
    settings.EMBEDDING_MODEL = other
    hits = memory.search_memory("bicycle")
    assert [(hit.chunk_text, hit.vector_score) for hit in hits] == [("Bought a red bicycle", 0.0)]
    assert run_tasks() == ["embed_for"]
    assert set(MemoryIndex.objects.values_list("embedded_by", flat=True)) == {backfill.kind()}
    assert any(hit.vector_score for hit in memory.search_memory("bicycle"))


def test_without_a_model_words_do_and_vectors_come_with_it(
    memory: MemoryManager, settings: Any, tmp_path: Path
):
    whole = settings.EMBEDDING_MODEL
    settings.EMBEDDING_MODEL = tmp_path / "nowhere"
    memory.rebuild_index()
    (hit,) = memory.search_memory("bicycle")
    assert (hit.chunk_text, hit.bm25_score, hit.vector_score) == ("Bought a red bicycle", 1.0, 0.0)
    settings.EMBEDDING_MODEL = whole
    assert any(hit.vector_score for hit in memory.search_memory("bicycle"))


def test_a_damaged_vector_is_made_again_by_a_rebuild(memory: MemoryManager):
    memory.rebuild_index()
    row = MemoryIndex.objects.get(chunk_text="Hates mint")
    good = row.embedding
    for damage in (b"", b"\x00" * 7, b"\x7f" * 1536):
        MemoryIndex.objects.filter(pk=row.pk).update(embedding=damage)
        memory.search_memory("mint")
        memory.rebuild_index()
        assert MemoryIndex.objects.get(pk=row.pk).embedding == good


def test_embedding_twice_at_once_does_no_harm(memory: MemoryManager):
    Index(memory.user).sync()
    backfill.embed_for(memory.user.pk)
    backfill.embed_for(memory.user.pk)
    backfill.embed_for(0)
    assert MemoryIndex.objects.filter(embedding=None).count() == 0


def test_a_sync_that_stores_late_what_it_read_early_does_not_last(
    memory: MemoryManager, monkeypatch: pytest.MonkeyPatch
):
    memory.rebuild_index()
    early = FileSource(memory.user)
    old = memory.files.read_memory_file()
    memory.files.write_memory_file("- Likes black coffee\n")
    index = FileSource.index

    def index_and_be_overtaken(self: FileSource, name: str) -> None:
        index(self, name)
        if name == "MEMORY.md":
            # The other one read the file before it changed.
            with monkeypatch.context() as before:
                before.setattr(FileSource, "_text", lambda *_: old)
                before.setattr(files, "fingerprint", lambda *_: "as it was")
                index(early, name)

    with monkeypatch.context() as racing:
        racing.setattr(FileSource, "index", index_and_be_overtaken)
        Index(memory.user).sync()
    assert "Likes black coffee" not in texts(memory.user)
    assert memory.search_memory("coffee")[0].chunk_text == "Likes black coffee"


def test_an_index_of_another_recipe_is_searched_by_words_until_it_is_embedded_again(
    memory: MemoryManager, monkeypatch: pytest.MonkeyPatch
):
    memory.files.append_to_daily_log("2026-01-07", "\n".join(f"- Note {n} about gardens" for n in range(40)))
    memory.rebuild_index()
    old = backfill.kind()
    monkeypatch.setattr(backfill, "RECIPE", 99)
    (hit,) = memory.search_memory("bicycle")
    assert (hit.chunk_text, hit.vector_score) == ("Bought a red bicycle", 0.0)
    assert run_tasks() == ["embed_for"]
    assert set(MemoryIndex.objects.values_list("embedded_by", flat=True)) == {backfill.kind()} != {old}
    assert memory.search_memory("bicycle")[0].vector_score
