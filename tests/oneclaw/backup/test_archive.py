"""A backup is everything that can't be made again, whole, with a checksum each; or there is none."""

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from chat.attachments import storage, uploads
from chat.models import Message, Session
from connect.tokens import keys
from memory.forgetting import acts, holding
from memory.manager import MemoryManager
from memory.models import Forgotten
from oneclaw import datafolder
from oneclaw.sqlite import driver
from people.models import User
from tests.chat.attachments import made
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


def test_attached_files_are_in_it_and_those_not_yet_sent_and_smaller_pictures_are_not(
    filled: Path, ada: User, tmp_path: Path
) -> None:
    chat = Session.objects.create(owner=ada)
    said = Message.objects.create(session=chat, type=Message.Type.USER, content="Look")
    sent = uploads.receive(ada, chat, made.upload("shot.png", made.picture((900, 600))))
    uploads.attach(said, [sent])
    assert storage.smaller(ada.pk, sent.sha256, 300)
    # In the composer of a chat that may be a temporary one.
    waiting = uploads.receive(ada, None, made.upload("secret.txt", b"xiphosuran"))
    file = tmp_path / "saved.zip"
    call_command("backup", file)
    held = [name for name in names(file) if name.startswith(("files/", "pictures/"))]
    assert held == [f"files/{ada.pk}/{sent.sha256}"]
    with zipfile.ZipFile(file) as archive:
        assert b"secret.txt" not in archive.read("db.sqlite3")
    assert storage.read(ada.pk, waiting.sha256) == b"xiphosuran"


def test_tokens_and_what_keeps_things_forgotten_are_in_it(filled: Path, ada: User, tmp_path: Path) -> None:
    """Put back, a token lets its program in, and what was forgotten can't be written down again."""
    _, secret = keys.make(ada, "Laptop", "write")
    manager = MemoryManager(ada)
    manager.save_to_long_term_memory("Allergic to hazelnuts", "notes")
    ref = next(each.ref for each in holding.in_memory(ada, "hazelnuts"))
    acts.forget(ada, [ref])
    call_command("backup", tmp_path / "saved.zip")
    with zipfile.ZipFile(tmp_path / "saved.zip") as archive:
        archive.extract("db.sqlite3", tmp_path)
        assert secret.encode() not in archive.read("db.sqlite3")
    with closing(driver.choose().connect(tmp_path / "db.sqlite3")) as copy:
        assert copy.execute("SELECT token_hash FROM connect_token").fetchall() == [(keys.digest(secret),)]
        rows = copy.execute("SELECT traces FROM memory_forgotten").fetchall()
    assert [tuple(row) for row in rows] == [
        (json.dumps(kept),) for kept in Forgotten.objects.values_list("traces", flat=True)
    ]
    assert len(rows) == 1


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


def test_settings_that_lead_to_no_installation_make_no_backup(tmp_path: Path) -> None:
    """As without the settings of a service: files are there, and the database is a PostgreSQL elsewhere."""
    data, target = tmp_path / "data", tmp_path / "target"
    (data / "memory" / "ada").mkdir(parents=True)
    (data / "memory" / "ada" / "MEMORY.md").write_text("# Long-term Memory")
    target.mkdir()
    env = environment(data, ONECLAW_DATABASE_URL="")

    def refused() -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", "backup", str(target / "saved.zip")],
            cwd=ROOT,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 1, done.stdout
        return done.stderr

    assert "Give this command the settings that OneClaw runs with" in refused()
    assert not (data / "db.sqlite3").exists()
    # An empty file, as an earlier command with such settings made it.
    (data / "db.sqlite3").touch()
    assert "nothing to save" in refused()
    assert os.listdir(target) == []


# In the new process itself: code between fork and exec may wait for ever for a lock of this one's threads.
LIMITED = """
import os, resource, sys
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
os.execv(sys.executable, [sys.executable, "manage.py", *sys.argv[2:]])
"""


@pytest.mark.django_db
@pytest.mark.parametrize(
    "limit",
    # From PostgreSQL the rows are copied into a new file, whose log outgrows the second limit as well.
    [200_000, pytest.param(4_000_000, marks=pytest.mark.sqlite)],
)
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
