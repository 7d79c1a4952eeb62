"""A backup is everything that can't be made again, and restoring it is unpacking it."""

import sqlite3
import zipfile
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from people.models import User


@pytest.mark.django_db(transaction=True)
def test_a_backup_holds_the_database_the_key_and_memory(data_dir: Path, tmp_path: Path, ada: User) -> None:
    (data_dir / "secret.key").write_text("key")
    (data_dir / "memory" / "ada" / "daily").mkdir(parents=True)
    (data_dir / "memory" / "ada" / "MEMORY.md").write_text("# Long-term Memory")
    (data_dir / "memory" / "ada" / "daily" / "2026-03-01.md").write_text("- Lisbon")
    (data_dir / "memory" / "ada" / ".lock").touch()
    file = tmp_path / "saved.zip"
    call_command("backup", file)
    assert file.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(file) as archive:
        assert sorted(archive.namelist()) == [
            "db.sqlite3",
            "memory/ada/MEMORY.md",
            "memory/ada/daily/2026-03-01.md",
            "secret.key",
        ]
        archive.extractall(tmp_path / "restored")
    with sqlite3.connect(tmp_path / "restored" / "db.sqlite3") as database:
        assert database.execute("SELECT username FROM people_user").fetchall() == [("ada",)]


def test_a_backup_never_replaces_a_file(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    with pytest.raises(CommandError, match="is there already"):
        call_command("backup", tmp_path / "precious")
    assert (tmp_path / "precious").read_text() == "mine"
