"""The embedding engine with the bundled model, and what happens without it."""

import json
import logging
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings as configured

from memory.embedding import EmbeddingEngine, State, engine, local

BUNDLED = Path(configured.EMBEDDING_MODEL)
TEXTS = [
    "Mia adopted a grey cat from the shelter.",
    "Der Zug nach Köln fährt um neun.",
    "The quarterly report is due on Friday, and the numbers from Lisbon are still missing. " * 12,
    "咖啡和茶",
    "😀🎉",
    "x",
]


def same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    return one is not None and other is not None and np.allclose(one, other, atol=1e-6)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the bundled model that a test may damage."""
    copy = tmp_path / "model"
    shutil.copytree(BUNDLED, copy)
    return copy


def test_vectors_have_384_floats_of_length_one():
    vector = engine().embed("The user likes blue.")
    assert vector is not None
    assert vector.shape == (384,) == (engine().dimension,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_like_texts_are_nearer_than_unlike_ones():
    colour, blue, train = engine().embed_many(
        ["What is my favourite colour?", "I like blue best of all colours.", "The train leaves at nine."]
    )
    assert colour is not None
    assert blue is not None
    assert train is not None
    assert colour @ blue > 0.5 > colour @ train


def test_a_vector_does_not_depend_on_its_neighbours():
    alone = [engine().embed(text) for text in TEXTS]
    few = engine().embed_many(TEXTS)
    many = engine().embed_many(TEXTS * 12)
    for index, vector in enumerate(alone):
        assert all(same(vector, other) for other in (few[index], *many[index :: len(TEXTS)]))


def test_threads_share_one_engine_and_get_the_same_vectors(folder: Path):
    fresh = EmbeddingEngine(folder)
    found: list[np.ndarray | None] = []
    threads = [threading.Thread(target=lambda: found.append(fresh.embed(TEXTS[0]))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 8
    for vector in found:
        assert same(vector, engine().embed(TEXTS[0]))


def test_short_texts_are_not_padded():
    assert engine().count_tokens("one two three") == 3
    assert engine().count_tokens("") == 0


def test_a_text_of_any_length_or_script_has_a_vector():
    for text in ["", "\ud800 lone surrogate", "a" * 100_000, "word " * 50_000, "\x00"]:
        assert engine().embed(text) is not None


def test_the_engine_is_made_once_for_a_folder(settings, folder: Path):
    first = engine()
    assert engine() is first
    settings.EMBEDDING_MODEL = folder
    assert engine() is not first
    assert engine().folder == folder


def test_a_missing_model_means_no_vectors_and_one_log_line(folder: Path, caplog):
    (folder / "model.onnx").unlink()
    broken = EmbeddingEngine(folder)
    with caplog.at_level(logging.WARNING):
        assert broken.embed("hello") is None
        assert broken.embed_many(["a", "b"]) == [None, None]
        assert not broken.is_available()
    assert broken.state is State.UNAVAILABLE
    assert "model.onnx is missing" in broken.reason
    assert len(caplog.records) == 1


def test_a_wrong_checksum_is_refused(folder: Path):
    with (folder / "model.onnx").open("ab") as file:
        file.write(b"x")
    broken = EmbeddingEngine(folder)
    assert broken.embed("hello") is None
    assert "does not match its checksum" in broken.reason


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_corrupt_file_without_checksums_is_survived(folder: Path, name: str):
    (folder / "SHA256SUMS").unlink()
    (folder / name).write_bytes(b"not what it says")
    broken = EmbeddingEngine(folder)
    assert broken.embed("hello") is None
    assert broken.reason
    assert broken.count_tokens("hello there") > 0


def test_a_mended_model_is_used_without_a_restart(folder: Path, monkeypatch: pytest.MonkeyPatch, caplog):
    hidden = (folder / "model.onnx").rename(folder / "away")
    broken = EmbeddingEngine(folder)
    assert broken.embed("hello") is None
    hidden.rename(folder / "model.onnx")
    assert broken.embed("hello") is None
    monkeypatch.setattr(local, "RETRY", 0)
    assert broken.embed("hello") is not None
    assert broken.reason == ""


def test_a_damaged_model_is_not_read_again_and_again(folder: Path, monkeypatch: pytest.MonkeyPatch, caplog):
    (folder / "model.onnx").write_bytes(b"not what it says")
    monkeypatch.setattr(local, "RETRY", 0)
    broken = EmbeddingEngine(folder)
    for _ in range(5):
        assert broken.embed("hello") is None
    assert len(caplog.records) == 1


def test_a_model_with_padding_in_its_tokenizer_gives_the_same_vector(folder: Path):
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["padding"] = {
        "strategy": {"Fixed": 128},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "[PAD]",
    }
    (folder / "SHA256SUMS").unlink()
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    assert same(EmbeddingEngine(folder).embed("hello"), engine().embed("hello"))


def test_the_name_changes_with_the_file(folder: Path):
    (folder / "SHA256SUMS").unlink()
    before = EmbeddingEngine(folder).name
    with (folder / "model.onnx").open("ab") as file:
        file.write(b"\x00")
    assert EmbeddingEngine(folder).name != before


def test_nothing_heavy_is_imported_before_the_first_embed():
    code = """
import sys, django
django.setup()
from memory import embedding, index, injection, manager, search, storage
embedding.engine()
heavy = {"onnxruntime", "tokenizers", "numpy"} & set(sys.modules)
assert not heavy, heavy
assert embedding.engine().embed("now") is not None
assert {"onnxruntime", "tokenizers", "numpy"} <= set(sys.modules)
"""
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        cwd=configured.BASE_DIR,
        env={"DJANGO_SETTINGS_MODULE": "oneclaw.settings", "ONECLAW_DATA_DIR": str(configured.DATA_DIR)},
        timeout=60,
    )


def test_a_model_that_nobody_asks_is_let_go_and_comes_back(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local._idle, "seconds", 0.05)
    made = EmbeddingEngine(BUNDLED)
    first = made.embed(TEXTS[0])
    assert first is not None
    ends = time.monotonic() + 60
    while made.state is not State.UNLOADED and time.monotonic() < ends:
        time.sleep(0.01)
    assert made.state is State.UNLOADED
    assert made.session is None
    again = made.embed(TEXTS[0])
    assert again is not None
    assert (again == first).all()


def test_a_model_let_go_while_others_ask_still_answers_all():
    made = EmbeddingEngine(BUNDLED)
    assert made.is_available()
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(made.embed, f"Ship {number}") for number in range(30)]
        while not all(each.done() for each in asked):
            made.let_go()
            time.sleep(0.05)
    assert all(each.result(60) is not None for each in asked)
