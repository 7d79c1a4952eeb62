"""`manage.py doctor` says what is wrong and what to do, changes nothing, and fails only where it must."""

import json
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from oneclaw.models import Process
from oneclaw.postgres import is_postgres
from oneclaw.server import presence
from tests import running


def examined() -> dict[str, dict[str, str]]:
    out = StringIO()
    with suppress(CommandError):
        call_command("doctor", "--json", stdout=out)
    return {finding["part"]: finding for finding in json.loads(out.getvalue())}


@pytest.mark.django_db
def test_a_sound_installation_needs_nothing_fixed(data_dir: Path):
    found = examined()
    assert found["Database"]["state"] == found["Version"]["state"] == found["Disk"]["state"] == "ok"
    assert found["Embedding model on this processor"] == {
        "part": "Embedding model on this processor",
        "state": "ok",
        "advice": "",
    }
    assert found["Worker"]["advice"] == "Nothing is summarised or compacted. Start OneClaw with `make run`."
    assert not [finding for finding in found.values() if finding["state"] == "broken"]


@pytest.mark.django_db
def test_what_must_be_fixed_is_an_error_for_scripts(settings):
    settings.HTTPS, settings.HOSTS = True, []
    out = StringIO()
    with pytest.raises(CommandError, match="must be fixed"):
        call_command("doctor", stdout=out)
    assert "✗ Settings: ONECLAW_HTTPS is on, but ONECLAW_HOSTS names no host" in out.getvalue()


@pytest.mark.django_db
def test_a_folder_that_others_can_read_is_told_and_left_alone(data_dir: Path):
    (data_dir / "memory").mkdir()
    (data_dir / "memory").chmod(0o755)
    assert "Others on this machine can read" in examined()["Data folder"]["advice"]
    assert stat.S_IMODE((data_dir / "memory").stat().st_mode) == 0o755


@pytest.mark.django_db
def test_a_database_of_a_newer_version_must_not_be_used():
    MigrationRecorder(connection).record_applied("memory", "9999_from_the_future")
    assert examined()["Version"]["state"] == "broken"


@contextmanager
def read_only() -> Iterator[None]:
    """A connection that refuses whatever would change the database."""
    before, after = (
        ("SET default_transaction_read_only = on", "SET default_transaction_read_only = off")
        if is_postgres()
        else ("PRAGMA query_only = on", "PRAGMA query_only = off")
    )
    with connection.cursor() as cursor:
        cursor.execute(before)
        try:
            yield
        finally:
            cursor.execute(after)


@pytest.mark.django_db(transaction=True)
def test_looking_asks_the_database_to_change_nothing():
    now = timezone.now()
    long_ago = now - timedelta(days=2)
    for process_id, until in (("000000000000.7.abcd", long_ago), (presence.me(), now + timedelta(seconds=9))):
        Process.objects.create(
            id=process_id, kind="web", started_at=long_ago, steady_since=long_ago, until=until
        )
    before = examined()
    with read_only():
        with pytest.raises(DatabaseError):
            Process.objects.all().delete()
        assert examined() == before
    assert before["Database"]["state"] == "ok"
    assert Process.objects.count() == 2


@pytest.mark.sqlite
def test_looking_makes_nothing(tmp_path: Path):
    """Neither a key nor a database: what is there after an unmounted volume's doctor is what was there."""
    for folder in (tmp_path / "missing", tmp_path / "bare"):
        (tmp_path / "bare").mkdir(exist_ok=True)
        done = subprocess.run(
            [sys.executable, "manage.py", "doctor", "--json"],
            cwd=running.ROOT,
            env=running.environment(folder),
            text=True,
            capture_output=True,
            timeout=240,
        )
        assert done.returncode == 0, done.stderr
        found = {finding["part"]: finding for finding in json.loads(done.stdout)}
        assert "the first start makes it" in found["Database"]["advice"]
    assert not (tmp_path / "missing").exists()
    assert list((tmp_path / "bare").iterdir()) == []
