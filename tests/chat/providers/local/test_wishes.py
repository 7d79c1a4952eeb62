"""What `up` is told about the model on this machine."""

from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from chat.providers.local import manage, wishes


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: Settings) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


def test_a_change_of_mind_is_written_down(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for wish in ("starter /a.gguf", "local /b.gguf", ""):
        monkeypatch.setattr(manage, "wanted", lambda wish=wish: wish)
        wishes.note()
        assert (folder / "modelserver.wanted").read_text() == wish
    assert [path.name for path in folder.iterdir()] == ["modelserver.wanted"]


def test_the_same_wish_writes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manage, "wanted", lambda: "starter /a.gguf")
    wishes.note()
    before = wishes.file().stat()
    wishes.note()
    assert wishes.file().stat().st_ino == before.st_ino
