"""/healthz tells degraded from fine, and the heartbeat behind it tells a silent worker from a live one."""

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import DatabaseError, connection
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from oneclaw import __version__, datafolder
from oneclaw.models import Process
from oneclaw.postgres import is_postgres
from oneclaw.server import heartbeat, presence
from oneclaw.site import health


@pytest.fixture
def model(tmp_path: Path, settings: Settings) -> None:
    settings.EMBEDDING_MODEL = tmp_path
    (tmp_path / "model.onnx").touch()


@pytest.mark.django_db
@pytest.mark.usefixtures("model")
def test_everything_is_fine(client: Client) -> None:
    heartbeat.beat()
    response = client.get("/healthz")
    assert response.status_code == 200
    answer = response.json()
    # Told where several share a database.
    answer.pop("processes", None)
    assert answer == {
        "status": "ok",
        "database": "ok",
        "worker": "ok",
        "embedding_model": "ok",
        "disk": "ok",
        "memory": "ok",
        "vectors": "ok",
        "process": presence.me(),
        "version": __version__,
    }
    assert "no-store" in response["Cache-Control"]


def fall_silent() -> None:
    """The last beat was long ago: a file on SQLite, a lease on PostgreSQL."""
    if is_postgres():
        Process.objects.update(until=timezone.now() - timedelta(seconds=1))
        return
    long_ago = time.time() - heartbeat.LATE_AFTER - 1
    os.utime(heartbeat.file(), (long_ago, long_ago))


@pytest.mark.django_db
@pytest.mark.usefixtures("model")
def test_a_worker_that_never_started_or_fell_silent_degrades(client: Client) -> None:
    assert client.get("/healthz").json()["worker"] == "not started"
    heartbeat.beat()
    assert client.get("/healthz").json()["worker"] == "ok"
    fall_silent()
    answer = client.get("/healthz").json()
    assert (answer["status"], answer["worker"]) == ("degraded", "silent")


@pytest.mark.django_db
def test_a_missing_model_file_degrades(client: Client, settings: Settings, tmp_path: Path) -> None:
    settings.EMBEDDING_MODEL = tmp_path / "nothing"
    heartbeat.beat()
    answer = client.get("/healthz").json()
    assert (answer["status"], answer["embedding_model"]) == ("degraded", "missing")


@pytest.mark.django_db
@pytest.mark.usefixtures("model")
def test_a_full_disk_degrades_and_says_why(client: Client, data_dir: Path) -> None:
    heartbeat.beat()
    (data_dir / datafolder.PROBE).symlink_to("/dev/full")
    response = client.get("/healthz")
    answer = response.json()
    assert (response.status_code, answer["status"], answer["disk"]) == (200, "degraded", "full")
    assert "The disk is full" in answer["reason"]


@pytest.mark.django_db
@pytest.mark.usefixtures("model")
def test_a_disk_that_is_nearly_full_or_gone_degrades(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch, data_dir: Path
) -> None:
    heartbeat.beat()
    monkeypatch.setattr(datafolder, "LOW", 2**62)
    answer = client.get("/healthz").json()
    assert (answer["status"], answer["disk"]) == ("degraded", "low")
    assert not (data_dir / datafolder.PROBE).exists()
    settings.DATA_DIR = data_dir / "gone"
    assert client.get("/healthz").json()["disk"] == "gone"


@pytest.mark.django_db
def test_no_database_is_down(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise DatabaseError("disk I/O error")

    monkeypatch.setattr(connection, "cursor", broken)
    assert health.database() == "down"
    response = client.get("/healthz")
    assert (response.status_code, response.json()["status"]) == (503, "down")


@pytest.mark.sqlite  # whose sign of life is a file; a lease is written anew at each beat
@pytest.mark.django_db
def test_the_cluster_beats_when_it_saves_its_status_but_not_at_every_round() -> None:
    broker = heartbeat.Broker("test")
    broker.set_stat("key", "value", 3)
    assert heartbeat.is_alive()
    heartbeat.file().unlink()
    broker.set_stat("key", "value", 3)
    assert heartbeat.age() is None
