"""Others' rights to the data folder are taken away, but not beyond it."""

import os
from pathlib import Path

from oneclaw import datafolder


def test_rights_of_others_are_taken_away_and_nothing_else(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "data", tmp_path / "synced"
    (folder / "memory" / "ada").mkdir(parents=True)
    elsewhere.mkdir()
    files = [folder / "memory" / "ada" / "MEMORY.md", folder / "secret.key", folder / "db.sqlite3"]
    others = [elsewhere / "note.md", folder / "not-ours.txt"]
    for file in (*files, *others):
        file.touch()
        file.chmod(0o644)
    os.symlink(elsewhere, folder / "memory" / "ben")
    os.symlink(folder / "memory", folder / "memory" / "round")
    for path in (folder, folder / "memory", folder / "memory" / "ada", elsewhere):
        path.chmod(0o755)
    files[1].chmod(0o400)
    assert datafolder.close_to_others(folder) == (5, [])
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600, 0o400, 0o600]
    assert {path.stat().st_mode & 0o777 for path in (folder, folder / "memory", files[0].parent)} == {0o700}
    assert [file.stat().st_mode & 0o777 for file in others] == [0o644, 0o644]
    assert elsewhere.stat().st_mode & 0o777 == 0o755
    assert datafolder.close_to_others(folder) == (0, [])


def test_a_folder_that_is_not_there_is_no_trouble(tmp_path: Path) -> None:
    assert datafolder.close_to_others(tmp_path / "nothing") == (0, [])
