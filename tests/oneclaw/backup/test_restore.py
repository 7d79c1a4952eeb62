"""A backup is put back only when all of it is right, and what was there before stays."""

import json
import os
import shutil
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from filelock import FileLock

from oneclaw.sqlite import driver
from tests.oneclaw.backup.conftest import modes, users

# Puts SQLite's file back. On PostgreSQL the command says what to do instead: tests/oneclaw/moving.
pytestmark = pytest.mark.sqlite

Change = Callable[[dict[str, bytes]], object]


@pytest.fixture
def backup(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("kept") / "saved.zip"
    call_command("backup", file)
    # The tests' own database lies elsewhere; a real one is in the folder.
    with zipfile.ZipFile(file) as archive:
        archive.extract("db.sqlite3", filled)
    return file


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("up.lock", "up.running")
    }


def rewritten(file: Path, change: Change) -> Path:
    """The backup with something in it changed, as a zip file that is right in itself."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    target = file.with_name("changed.zip")
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return target


def test_everything_comes_back_for_its_owner_alone(
    filled: Path, backup: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = contents(filled)
    shutil.rmtree(filled / "memory")
    (filled / "db.sqlite3").write_text("spoilt")
    (filled / "db.sqlite3-wal").write_text("of the spoilt one")
    (filled / "models").mkdir()
    (filled / "models" / "mine.gguf").write_text("huge")
    old = os.umask(0)
    try:
        call_command("restore", backup)
    finally:
        os.umask(old)
    assert users(filled / "db.sqlite3") == ["ada"]
    (aside,) = filled.glob("before-restore-*")
    assert (aside / "db.sqlite3").read_text() == "spoilt"
    assert (aside / "db.sqlite3-wal").read_text() == "of the spoilt one"
    assert f"The previous data is in {aside}" in capsys.readouterr().out
    back = contents(filled)
    for name in ("memory/ada/MEMORY.md", "memory/ada/daily/2026-03-01.md", "secret.key", "model.asked"):
        assert back[name] == saved[name]
    assert (filled / "models" / "mine.gguf").read_text() == "huge"
    assert not (filled / "db.sqlite3-wal").exists()
    for name in ("memory", "db.sqlite3", "secret.key"):
        path = filled / name
        assert path.stat().st_mode & 0o077 == 0
    assert modes(filled / "memory") == {"0o600", "0o700"}
    assert aside.stat().st_mode & 0o777 == 0o700


def replaced(name: str, data: bytes) -> Change:
    return lambda members: members.update({name: data})


def unlisted(name: str) -> Change:
    """A further file that the list knows nothing of."""
    return replaced(name, b"x")


def listed(name: str) -> Change:
    """A further file, with an entry in the list."""

    def change(members: dict[str, bytes]) -> None:
        manifest = json.loads(members["manifest.json"])
        digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
        manifest["files"][name] = {"size": 1, "sha256": digest}
        members |= {name: b"x", "manifest.json": json.dumps(manifest).encode()}

    return change


def newer(members: dict[str, bytes]) -> None:
    manifest = json.loads(members["manifest.json"])
    members["manifest.json"] = json.dumps(manifest | {"format": 99}).encode()


BAD: dict[str, tuple[Change, str]] = {
    "another text": (replaced("memory/ada/MEMORY.md", b"# Forged"), "checksum is wrong"),
    "another database": (replaced("db.sqlite3", b"forged"), "checksum is wrong"),
    "a file less": (lambda members: members.pop("memory/ada/MEMORY.md"), "do not match its list"),
    "a file more": (unlisted("memory/ada/more.md"), "do not match its list"),
    "no key": (
        lambda members: [members.pop(name) for name in ("secret.key", "manifest.json")],
        "no secret.key",
    ),
    "a way out": (listed("../out.md"), "forbidden name"),
    "a way out below": (listed("memory/../../out.md"), "forbidden name"),
    "an absolute path": (listed("/tmp/out.md"), "forbidden name"),
    "a strange place": (listed("static/app.js"), "does not know"),
    "a list of nonsense": (replaced("manifest.json", b"[1]"), "list of files is damaged"),
    "a deep list": (replaced("manifest.json", b"[" * 100_000), "list of files is damaged"),
    "a later format": (newer, "newer OneClaw"),
    "no database file": (
        lambda members: members.update({"db.sqlite3": b"x" * 5000}) or members.pop("manifest.json"),
        "can't be read",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_backup_that_is_not_right_changes_nothing(filled: Path, backup: Path, case: str) -> None:
    change, reason = BAD[case]
    before = contents(filled)
    with pytest.raises(CommandError, match=reason):
        call_command("restore", rewritten(backup, change))
    assert contents(filled) == before
    assert not list(filled.glob(".restoring-*"))


@pytest.mark.parametrize("at", [0.1, 0.5, 0.9, 0.999])
def test_a_damaged_or_shortened_file_changes_nothing(filled: Path, backup: Path, at: float) -> None:
    before, whole = contents(filled), backup.read_bytes()
    place = int(len(whole) * at)
    backup.write_bytes(whole[:place])
    with pytest.raises(CommandError, match="Nothing was changed"):
        call_command("restore", backup)
    backup.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
    try:
        call_command("restore", backup)
    except CommandError:
        assert contents(filled) == before
    else:  # a byte that says nothing, such as a time
        assert users(filled / "db.sqlite3") == ["ada"]


def test_a_link_in_a_backup_is_refused(filled: Path, backup: Path) -> None:
    with zipfile.ZipFile(backup, "a") as archive:
        link = zipfile.ZipInfo("memory/ada/link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(CommandError, match="not a regular file"):
        call_command("restore", backup)


def test_a_backup_of_the_first_version_is_taken(
    filled: Path, backup: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("restore", rewritten(backup, lambda members: members.pop("manifest.json")))
    assert "stored no checksums" in capsys.readouterr().err
    assert users(filled / "db.sqlite3") == ["ada"]


def test_a_backup_of_a_newer_database_is_refused(filled: Path, backup: Path) -> None:
    def later(members: dict[str, bytes]) -> None:
        file = backup.with_name("later.sqlite3")
        file.write_bytes(members["db.sqlite3"])
        with closing(driver.choose().connect(file)) as database:
            database.execute(
                "INSERT INTO django_migrations (app, name, applied) VALUES ('chat', '9999_x', '2030-01-01')"
            )
            database.commit()
        members["db.sqlite3"] = file.read_bytes()
        del members["manifest.json"]

    with pytest.raises(CommandError, match=r"newer OneClaw .*chat\.9999_x"):
        call_command("restore", rewritten(backup, later))


def test_nothing_is_restored_while_oneclaw_runs(filled: Path, backup: Path) -> None:
    before = contents(filled)
    with FileLock(filled / "up.lock"), pytest.raises(CommandError, match="already running"):
        call_command("restore", backup)
    assert contents(filled) == before


@pytest.mark.parametrize("dies_at", range(1, 9))
def test_an_interrupted_exchange_is_finished(
    filled: Path, backup: Path, dies_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before any of its renames, it is told so at the next start and goes on from there."""
    (filled / "memory" / "ada" / "MEMORY.md").write_text("# Newer than the backup")
    calls = 0

    class Killed(BaseException):
        pass

    def mortal(real: Callable[..., None]) -> Callable[..., None]:
        def rename(*args: object) -> None:
            nonlocal calls
            calls += 1
            if calls == dies_at + 1:  # the first is the note of what is to be done
                raise Killed
            real(*args)

        return rename

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", mortal(os.rename))
        patch.setattr(os, "replace", mortal(os.replace))
        try:
            call_command("restore", backup)
        except Killed:
            with pytest.raises(CommandError, match="restore --finish"):
                call_command("up", port=0)
            with pytest.raises(CommandError, match="restore --finish"):
                call_command("restore", backup)
            if not (filled / "secret.key").exists():
                (filled / "secret.key").write_text("made by the start in between")
            patch.undo()
            call_command("restore", finish=True)
    assert users(filled / "db.sqlite3") == ["ada"]
    assert (filled / "memory" / "ada" / "MEMORY.md").read_text() == "# Long-term Memory"
    assert (filled / "secret.key").read_text() == "key\n"
    (aside,) = filled.glob("before-restore-*")
    assert (aside / "memory" / "ada" / "MEMORY.md").read_text() == "# Newer than the backup"
    assert (aside / "secret.key").read_text() == "key\n"
    assert not list(filled.glob(".restoring-*"))
    assert not (filled / "restore.journal").exists()


def test_there_must_be_something_to_finish(filled: Path) -> None:
    with pytest.raises(CommandError, match="No restore was interrupted"):
        call_command("restore", finish=True)
    with pytest.raises(CommandError, match="Give a backup"):
        call_command("restore")
