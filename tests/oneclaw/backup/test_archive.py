"""A backup is everything that can't be made again, whole, with a checksum each; or there is none."""

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from oneclaw import datafolder
from tests.oneclaw.backup.conftest import users
from tests.running import ROOT, environment


def names(file: Path) -> list[str]:
    with zipfile.ZipFile(file) as archive:
        return sorted(archive.namelist())


def test_a_backup_holds_the_database_the_key_and_memory(filled: Path, tmp_path: Path) -> None:
    file = tmp_path / "saved.zip"
    call_command("backup", file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert names(file) == [
        "db.sqlite3",
        "manifest.json",
        "memory/ada/MEMORY.md",
        "memory/ada/daily/2026-03-01.md",
        "model.asked",
        "secret.key",
    ]
    with zipfile.ZipFile(file) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert users(tmp_path / "unpacked" / "db.sqlite3") == ["ada"]


def test_each_file_has_its_checksum(filled: Path, tmp_path: Path) -> None:
    file = tmp_path / "saved.zip"
    call_command("backup", file)
    with zipfile.ZipFile(file) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        assert set(manifest["files"]) == set(archive.namelist()) - {"manifest.json"}
        for name, facts in manifest["files"].items():
            data = archive.read(name)
            assert facts == {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def test_linked_folders_are_in_it_and_circles_end(
    filled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "synced"
    (elsewhere / "notes").mkdir(parents=True)
    (elsewhere / "notes" / "kept.md").write_text("- From a synced folder")
    memory = filled / "memory"
    os.symlink(elsewhere, memory / "ben")
    os.symlink(memory, elsewhere / "round")
    os.symlink("itself", memory / "itself")
    os.symlink(tmp_path / "gone", memory / "dangling")
    os.mkfifo(memory / "pipe")
    (memory / "old.md").write_text("- From before zip files had years")
    os.utime(memory / "old.md", (0, 0))
    file = tmp_path / "saved.zip"
    call_command("backup", file)
    kept = set(names(file))
    assert {"memory/ben/notes/kept.md", "memory/old.md"} <= kept
    assert len(kept) < 20
    said = capsys.readouterr().err
    for left_out in (
        "ben/round is a link",
        "itself can't be read",
        "dangling is a broken link",
        "pipe is not a regular file",
    ):
        assert left_out in said


def test_a_backup_never_replaces_a_file(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    with pytest.raises(CommandError, match="already exists"):
        call_command("backup", tmp_path / "precious")
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file or directory"):
        call_command("backup", tmp_path / "nowhere" / "saved.zip")


# In the new process itself: code between fork and exec may wait for ever for a lock of this one's threads.
LIMITED = """
import os, resource, sys
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
os.execv(sys.executable, [sys.executable, "manage.py", *sys.argv[2:]])
"""


@pytest.mark.parametrize("limit", [200_000, 4_000_000])
def test_a_disk_that_is_full_leaves_no_file_behind(tmp_path: Path, limit: int) -> None:
    """No file may grow beyond the limit: first the copy of the database can't, then the archive."""
    data, target = tmp_path / "data", tmp_path / "target"
    target.mkdir()
    env = environment(data)
    manage = [sys.executable, "manage.py"]
    subprocess.run([*manage, "migrate", "-v", "0"], cwd=ROOT, env=env, check=True, timeout=120)
    (data / "memory" / "ada").mkdir(parents=True)
    (data / "memory" / "ada" / "large.md").write_bytes(os.urandom(5_000_000))
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), "backup", str(target / "saved.zip")],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert ("could not be copied" if limit < 10**6 else "File too large") in done.stderr
    assert os.listdir(target) == []


def test_every_thing_in_the_data_folder_is_kept_or_made_anew() -> None:
    assert not set(datafolder.KEPT) & set(datafolder.MADE_ANEW)
    readme = (ROOT / "README.md").read_text()
    for name in {*datafolder.KEPT, *datafolder.MADE_ANEW} - set(datafolder.SIDECARS):
        assert f"`{name}" in readme, f"README does not say what {name} is"
