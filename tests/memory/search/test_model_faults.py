"""Search with a model that is damaged, another, or switched: it goes on by words and recovers by itself."""

import base64
import shutil
import threading
from datetime import date
from pathlib import Path

import pytest
from django.conf import settings as configured
from django.db import connection
from django.test import Client

from memory.embedding import engine, local
from memory.index import backfill
from memory.manager import MemoryManager
from memory.models import IndexState, MemoryIndex
from people.models import User
from tests.memory.conftest import run_tasks

BUNDLED = Path(configured.EMBEDDING_MODEL)
LINES = ["Bought a red bicycle", "Mia adopted a grey cat", "The train to Leeds leaves at nine"]
# A graph of five operators that makes eight numbers of the word pieces.
TINY = (
    "CAk6sAIKHwoJaW5wdXRfaWRzEgFmIgRDYXN0KgkKAnRvGAGgAQIKFQoBZgoCYXgSAWciCVVuc3F1ZWV6ZQoOCgFnCgF3EgFoIgNNdWwK"
    "CwoBaBIBcyIDU2luCjkKAXMKA29uZRISc2VudGVuY2VfZW1iZWRkaW5nIgpSZWR1Y2VNZWFuKg8KCGtlZXBkaW1zGACgAQISBHRpbnkq"
    "KQgIEAFCAXdKIG3I4z/+EjhAHENcP67IN0A8yaM/53bHP7NuJECY8cI/KhIIARAHQgJheEoIAgAAAAAAAAAqEwgBEAdCA29uZUoIAQAA"
    "AAAAAABaHQoJaW5wdXRfaWRzEhAKDggHEgoKAxIBYgoDEgFuYiUKEnNlbnRlbmNlX2VtYmVkZGluZxIPCg0IARIJCgMSAWIKAggIQgQK"
    "ABAS"
)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A model folder whose vectors have eight numbers."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(base64.b64decode(TINY))
    shutil.copy(BUNDLED / "tokenizer.json", folder)
    return folder


@pytest.fixture
def memory(ada: User) -> MemoryManager:
    manager = MemoryManager(ada)
    manager.files.append_to_daily_log(date(2026, 1, 5), "\n".join(f"- {line}" for line in LINES))
    # More than a search embeds while somebody waits.
    manager.files.append_to_daily_log(
        date(2026, 1, 6), "\n".join(f"- Note {number} about gardens" for number in range(40))
    )
    manager.rebuild_index()
    return manager


def test_a_model_of_other_dimensions_is_searched_by_words_then_by_its_own_vectors(memory, tiny, settings):
    settings.EMBEDDING_MODEL = tiny
    vector = engine().embed("hello")
    assert vector is not None
    assert vector.shape == (8,)
    (hit,) = memory.search_memory("bicycle", judged=False)
    assert (hit.chunk_text, hit.vector_score) == (LINES[0], 0.0)
    assert run_tasks() == ["embed_for"]
    assert {len(row.embedding or b"") for row in MemoryIndex.objects.all()} == {8 * 4}
    hits = memory.search_memory("bicycle", judged=False)
    assert max(hit.vector_score for hit in hits) == pytest.approx(1)


def test_switching_back_and_forth_always_finds_the_words(memory, tiny, settings):
    for folder in (tiny, BUNDLED, tiny, BUNDLED):
        settings.EMBEDDING_MODEL = folder
        assert memory.search_memory("bicycle", judged=False)[0].chunk_text == LINES[0]
        run_tasks()
        assert set(MemoryIndex.objects.values_list("embedded_by", flat=True)) == {backfill.kind()}
        assert IndexState.objects.get().model_name == backfill.kind()
    assert memory.search_memory("Which pet does Mia have?")[0].chunk_text == LINES[1]
    with connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM memory_vectors_384")
        assert cursor.fetchone() == (MemoryIndex.objects.count(),)
        cursor.execute("SELECT COUNT(*) FROM memory_vectors_8")
        assert cursor.fetchone() == (0,)


@pytest.mark.django_db(transaction=True)
def test_switching_while_others_search_breaks_nobody(memory, tiny, settings):
    faults, done = list[BaseException](), threading.Event()

    def search() -> None:
        try:
            while not done.is_set():
                assert memory.search_memory("bicycle", judged=False)[0].chunk_text == LINES[0]
        except BaseException as fault:
            faults.append(fault)
        finally:
            connection.close()

    searching = [threading.Thread(target=search) for _ in range(2)]
    for thread in searching:
        thread.start()
    for folder in (tiny, BUNDLED, tiny, BUNDLED):
        settings.EMBEDDING_MODEL = folder
        backfill.embed(memory.user)
    done.set()
    for thread in searching:
        thread.join(60)
    assert not faults
    backfill.embed(memory.user)
    assert set(MemoryIndex.objects.values_list("embedded_by", flat=True)) == {backfill.kind()}
    assert {len(row.embedding or b"") for row in MemoryIndex.objects.all()} == {384 * 4}


def test_a_damaged_model_is_named_on_the_stats_page_and_used_again_once_mended(
    memory, tmp_path, settings, client: Client, monkeypatch
):
    folder = tmp_path / "model"
    shutil.copytree(BUNDLED, folder)
    whole = (folder / "model.onnx").read_bytes()
    (folder / "model.onnx").write_bytes(whole[:1000])
    settings.EMBEDDING_MODEL = folder
    assert memory.search_memory("bicycle")[0].chunk_text == LINES[0]
    client.force_login(memory.user)
    assert "does not match its checksum" in client.get("/memory/stats/").text
    (folder / "model.onnx").write_bytes(whole)
    monkeypatch.setattr(local, "RETRY", 0)
    memory.search_memory("bicycle")
    run_tasks()
    assert memory.search_memory("Which pet does Mia have?")[0].chunk_text == LINES[1]
    assert "does not match its checksum" not in client.get("/memory/stats/").text


@pytest.mark.parametrize(
    "question",
    ["bicycle " * 12_500, "a" * 100_000, "自行车" * 33_000, "? " * 50_000, "bicycle\n" + "\ud800" * 100_000],
)
def test_a_question_of_100_000_characters_is_answered(memory, question: str):
    hits = memory.search_memory(question, judged=False)
    assert ("bicycle" not in question) or hits[0].chunk_text == LINES[0]
