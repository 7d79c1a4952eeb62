"""Folders of Markdown as people keep them: dates in paths, old copies that must not come back."""

from pathlib import Path

import pytest

from connect.archives.reading import Archive
from connect.archives.values import ForeignNote, MemoryFile, Skipped


def folder_of(root: Path, *names: str) -> Archive:
    for name in names:
        path = root / "vault" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("Walked the dog.\n")
    return Archive(root / "vault")


@pytest.mark.parametrize(
    "name",
    [
        "2024/05/17.md",
        "Journal/2024/05/17.md",
        "2024/5/17.md",
        "2024/05-May/17.md",
        "2024/05/17 Friday.md",
        "2024/2024-05/17-Fri.md",
        "2024/05/2024-05-17.md",
        "daily/2024-05-17 Friday.md",
        "2024-05/17.md",
        "Daily/17 May 2024.md",
        "Daily/May 17th, 2024.md",
        "2024_05_17.md",
    ],
)
def test_the_date_is_found_in_the_path(tmp_path, name):
    (note,) = folder_of(tmp_path, name).items()
    assert isinstance(note, ForeignNote)
    assert str(note.day) == "2024-05-17"


@pytest.mark.parametrize(
    "name",
    ["2024/05/ideas.md", "2024/13/17.md", "2024/05/32.md", "v1/2/3.md", "2024-W20.md", "2024/05/3 ideas.md"],
)
def test_what_is_no_date_is_none(tmp_path, name):
    (skipped,) = folder_of(tmp_path, name).items()
    assert isinstance(skipped, Skipped)


@pytest.mark.parametrize(
    "name",
    [
        "MEMORY_backup_2024-05-01_10-00-00.md",
        "memory/1/MEMORY_backup_2024-05-01_10-00-00.md",
        "MEMORY-2024-05-01.md",
        "memory.bak.2024-05-01.md",
        "MEMORY copy.md",
        "backups/MEMORY.md",
        "memory/backup/2024-05-01/MEMORY.md",
    ],
)
def test_old_copies_of_memory_stay_out(tmp_path, name):
    items = list(folder_of(tmp_path, "MEMORY.md", name).items())
    assert [item.name for item in items if isinstance(item, MemoryFile)] == ["MEMORY.md"]
    assert [(item.what, item.why) for item in items if isinstance(item, Skipped)] == [
        (name, "It is an old copy of MEMORY.md: what was corrected since would come back.")
    ]


def test_a_days_notes_called_memory_are_notes(tmp_path):
    (note,) = folder_of(tmp_path, "memory-2024-05-17.md").items()
    assert isinstance(note, ForeignNote)


def test_a_workspace_that_lies_in_a_folder_of_backups_is_read(tmp_path):
    (memory,) = folder_of(tmp_path, "backup/MEMORY.md").items()
    assert isinstance(memory, MemoryFile)


def test_notes_about_old_memories_are_notes(tmp_path):
    (note,) = folder_of(tmp_path, "Memory of old days 2024-05-17.md").items()
    assert isinstance(note, ForeignNote)
