"""Backups by themselves: only where the owner named a folder, when one is due, and no more than wanted."""

import os
from datetime import timedelta
from pathlib import Path

import pytest
import time_machine
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from django_q import scheduler
from django_q.brokers import get_broker
from django_q.conf import Conf
from django_q.models import OrmQ, Schedule
from filelock import FileLock
from pytest_django.fixtures import Settings

from oneclaw import checks, schedules
from oneclaw.backup import schedule
from oneclaw.backup.archive import BackupFailed
from oneclaw.server import heartbeat
from tests.oneclaw.backup.conftest import users


@pytest.fixture
def shelf(filled: Path, settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the owner's choice."""
    settings.BACKUP_DIR = tmp_path_factory.mktemp("disk") / "backups"
    settings.BACKUP_KEEP, settings.BACKUP_HOURS = 3, 24
    return Path(settings.BACKUP_DIR)


def test_without_a_folder_there_is_none(filled: Path, settings: Settings, client: Client) -> None:
    assert settings.BACKUP_DIR is None
    assert schedule.run() == "No backup folder is set."
    assert "backup" not in client.get("/healthz").json()


@pytest.mark.sqlite  # about the clock; on PostgreSQL, each of its six backups is a process
def test_one_is_made_when_it_is_due_and_the_oldest_go(shelf: Path) -> None:
    start = timezone.now().replace(microsecond=0)
    made = []
    for hours in range(0, 24 * 6, 6):
        with time_machine.travel(start + timedelta(hours=hours), tick=False):
            made.append(schedule.run())
    assert [line.startswith("Saved") for line in made] == [hours % 24 == 0 for hours in range(0, 24 * 6, 6)]
    newest = [start + timedelta(days=day) for day in (3, 4, 5)]
    assert sorted(os.listdir(shelf)) == [f"oneclaw-{at:%Y-%m-%d_%H-%M-%S}.zip" for at in newest]
    assert shelf.stat().st_mode & 0o777 == 0o700


@pytest.mark.sqlite  # as above
def test_the_owners_other_files_stay(shelf: Path) -> None:
    shelf.mkdir()
    others = ("oneclaw-mine.zip", "holiday.jpg", "oneclaw-2026-03-01_10-00-00.zip.gpg")
    for name in others:
        (shelf / name).touch()
    start = timezone.now()
    for day in range(5):
        with time_machine.travel(start + timedelta(days=day), tick=False):
            schedule.run()
    assert len(os.listdir(shelf)) == len(others) + 3


def test_a_failed_backup_costs_no_older_one_and_is_tried_again(
    shelf: Path, filled: Path, client: Client
) -> None:
    start = timezone.now()
    for day in range(3):
        with time_machine.travel(start + timedelta(days=day), tick=False):
            schedule.run()
    kept = sorted(os.listdir(shelf))
    (filled / "memory" / "ada" / os.fsdecode(b"\xff.md")).touch()
    with time_machine.travel(start + timedelta(days=4), tick=False):
        heartbeat.beat()
        with pytest.raises(BackupFailed, match="Rename it"):
            schedule.run()
        assert sorted(os.listdir(shelf)) == kept
        answer = client.get("/healthz").json()
        assert (answer["status"], answer["backup"]) == ("degraded", "late")
        assert "backup" in answer["reason"].lower()
        (filled / "memory" / "ada" / os.fsdecode(b"\xff.md")).unlink()
        assert schedule.run().startswith("Saved")
        assert client.get("/healthz").json()["backup"] == "ok"


def test_what_a_killed_backup_left_is_cleared_away(shelf: Path) -> None:
    shelf.mkdir()
    (shelf / ".oneclaw-2026-03-01_10-00-00.zip.abc.part").touch()
    (shelf / ".oneclaw-x").mkdir()
    (shelf / ".oneclaw-x" / "db.sqlite3").touch()
    schedule.run()
    (file,) = os.listdir(shelf)
    assert file.endswith(".zip")


@pytest.mark.sqlite
def test_two_at_once_make_one(shelf: Path, filled: Path) -> None:
    with FileLock(filled / "backup.lock"):
        assert schedule.run() == "Another backup is running."
    assert not shelf.exists()


def test_what_was_saved_can_be_restored(shelf: Path, filled: Path) -> None:
    schedule.run()
    call_command("restore", next(shelf.iterdir()))
    assert users(filled / "db.sqlite3") == ["ada"]


def test_a_folder_whose_disk_is_not_there_is_not_made_up(shelf: Path, settings: Settings) -> None:
    settings.BACKUP_DIR = shelf / "not" / "mounted"
    with pytest.raises(BackupFailed, match="No such file"):
        schedule.run()
    assert not shelf.exists()


def test_the_worker_asks_every_hour(transactional_db: None) -> None:
    schedules.sync()
    assert Schedule.objects.get(func="oneclaw.backup.schedule.run").minutes == 60


def test_a_large_one_has_longer_than_any_other_task(transactional_db: None) -> None:
    schedules.sync()
    Schedule.objects.exclude(func="oneclaw.backup.schedule.run").delete()
    Schedule.objects.update(next_run=timezone.now() - timedelta(minutes=1))
    scheduler.scheduler(broker=get_broker())
    task = OrmQ.objects.get().task
    assert task["func"] == "oneclaw.backup.schedule.run"
    assert task["timeout"] == 12 * 60 * 60 > Conf.TIMEOUT


def test_a_folder_among_the_data_stops_the_start(shelf: Path, filled: Path, settings: Settings) -> None:
    assert checks.backups_are_elsewhere() == []
    for folder in (filled, filled / "memory" / "backups"):
        settings.BACKUP_DIR = folder
        assert [fault.id for fault in checks.backups_are_elsewhere()] == ["oneclaw.E002"]
