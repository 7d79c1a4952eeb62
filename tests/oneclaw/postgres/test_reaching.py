"""A PostgreSQL that can't be reached or lacks something: each cause has a sentence that says what to do."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management.base import CommandError
from django.db import connection, connections
from django.db.backends.postgresql import base as postgresql

from oneclaw.models import Installation
from oneclaw.postgres import address, readiness
from oneclaw.server import database
from tests import running
from tests.faults.test_disk import Disk, disk
from tests.oneclaw.postgres.test_faults import Server
from tests.oneclaw.test_doctor import examined

__all__ = ["disk"]
pytestmark = [pytest.mark.postgres, pytest.mark.timeout(600)]

Turn = Callable[[str], None]
ROLES = """
CREATE ROLE guarded LOGIN PASSWORD 'right';
CREATE ROLE guest LOGIN;
CREATE ROLE shut NOLOGIN;
CREATE DATABASE plain;
CREATE DATABASE closed;
REVOKE CONNECT ON DATABASE closed FROM PUBLIC;
CREATE DATABASE old ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0;
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One that asks a single role for its password."""
    with tempfile.TemporaryDirectory(prefix="oneclaw-reach-") as folder:
        made = Server(folder)
        with psycopg.connect(made.url, autocommit=True) as connected:
            for statement in ROLES.strip().splitlines():
                connected.execute(statement)
        rules = Path(folder) / "pg_hba.conf"
        rules.write_text(f"local all guarded scram-sha-256\n{rules.read_text()}")
        made.rows("SELECT pg_reload_conf()")
        yield made
        made.server.cleanup()


@pytest.fixture
def turn(transactional_db: None) -> Iterator[Turn]:
    """Turn this process to another database for a while."""
    before, kept = connections.settings["default"], connections["default"]
    pools: dict[str, Any] = vars(postgresql.DatabaseWrapper)["_connection_pools"]
    pool = pools.pop("default", None)

    def to(url: str) -> None:
        configured = connections.configure_settings({"default": address.database(url, 5)})
        connections.settings["default"] = configured["default"]
        del connections["default"]

    yield to
    connections["default"].close()
    connections["default"].close_pool()  # type: ignore[attr-defined]
    connections.settings["default"] = before
    connections["default"] = kept
    if pool is not None:
        pools["default"] = pool


def of(server: Server, role: str, name: str) -> str:
    return server.url.replace("postgres@/postgres", f"{role}@/{name}")


@pytest.mark.parametrize(
    ("role", "name", "cause", "advice"),
    [
        ("guarded:wrong", "plain", "password authentication failed", "The name or the password is wrong"),
        ("guarded", "plain", "no password supplied", "Write it into ONECLAW_DATABASE_URL"),
        ("nobody", "plain", 'role "nobody" does not exist', "CREATE ROLE"),
        ("shut", "plain", "not permitted to log in", "ALTER ROLE … LOGIN"),
        ("postgres", "nowhere", 'database "nowhere" does not exist', "CREATE DATABASE"),
        ("guest", "closed", "permission denied for database", "GRANT CONNECT"),
    ],
)
def test_who_is_not_let_in_learns_why(
    server: Server, turn: Turn, role: str, name: str, cause: str, advice: str
):
    turn(of(server, role, name))
    said = readiness.lacking()
    assert said.startswith(f"The database {name} on ")
    assert cause in said
    assert advice in said
    assert "wrong" not in said.replace("is wrong", ""), "the password is never repeated"


@pytest.mark.parametrize(
    ("place", "advice"),
    [
        ("127.0.0.1:1", "Nothing answers at this host and port"),
        ("no-such-host.invalid", "There is no such host"),
        ("127.0.0.1:99999", "A port is a number from 1 to 65535"),
        ("127.0.0.1:x", "A port is a number from 1 to 65535"),
    ],
)
def test_a_place_where_no_server_is_is_told_at_once(turn: Turn, place: str, advice: str):
    turn(f"postgres://oneclaw:secret@{place}/oneclaw")
    began = time.monotonic()
    said = readiness.lacking()
    assert time.monotonic() - began < 9, "it waited for the pool"
    assert advice in said
    assert "secret" not in said


def test_a_socket_that_is_not_there_is_told(turn: Turn):
    turn("postgres://oneclaw@/oneclaw?host=%2Fnowhere")
    assert "PostgreSQL has no socket there" in readiness.lacking()


def test_whatever_else_the_server_says_is_passed_on():
    said = readiness.explained("connection failed: FATAL:  das geht nicht")
    assert "das geht nicht. See ONECLAW_DATABASE_URL and the log of PostgreSQL." in said


def test_the_start_and_every_command_say_it(turn: Turn, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(database, "STARTING", 0.6)
    turn("postgres://oneclaw@127.0.0.1:1/oneclaw")
    with pytest.raises(CommandError, match="Nothing answers"), database.one_at_a_time():
        pass
    assert examined()["Database"]["advice"].endswith("correct ONECLAW_DATABASE_URL.")


def test_a_role_that_may_make_no_tables_is_told_what_to_run(server: Server, turn: Turn):
    turn(of(server, "guest", "plain"))
    said = readiness.lacking()
    assert 'ALTER DATABASE "plain" OWNER TO "guest"' in said
    assert 'GRANT ALL ON SCHEMA public TO "guest"' in said


def test_another_encoding_is_told(server: Server, turn: Turn):
    turn(of(server, "postgres", "old"))
    assert "encoded as LATIN1" in readiness.lacking()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("row", "advice"),
    [
        ((None, None), "PostgreSQL has no pgvector. Install it on the server"),
        ((None, "0.6.2"), "pgvector 0.6.2 is too old: install 0.7 or newer"),
        (("0.5.1", "0.8.0"), "the server has 0.8.0: run as the database's owner or admin: ALTER EXTENSION"),
        (("0.5.1", "0.6.0"), "install 0.7 or newer on the server"),
        (("0.10.0", "0.10.0"), ""),
    ],
)
def test_pgvector_that_is_missing_or_old_is_told(
    monkeypatch: pytest.MonkeyPatch, row: tuple[str | None, str | None], advice: str
):
    monkeypatch.setattr(readiness, "extension", lambda: row)
    said = readiness.lacking()
    assert advice in said
    assert bool(said) == bool(advice)
    assert ("ALTER EXTENSION vector UPDATE" in said) == (row[0] == "0.5.1")


def test_only_the_start_adds_the_extension(server: Server, turn: Turn):
    turn(of(server, "postgres", "plain"))
    assert readiness.lacking(change=False) == ""
    assert readiness.extension()[0] is None
    assert readiness.lacking() == ""
    assert readiness.extension()[0]
    with connection.cursor() as cursor:
        cursor.execute("DROP EXTENSION vector")


def test_looking_at_a_fresh_database_changes_nothing(tmp_path: Path):
    env = running.environment(tmp_path / "data")

    def manage(command: str) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [sys.executable, "manage.py", *command.split()],
            cwd=running.ROOT,
            env=env,
            text=True,
            capture_output=True,
            timeout=240,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    looked = manage("doctor --json")
    found = {finding["part"]: finding for finding in json.loads(looked.stdout)}
    assert looked.returncode == 0, looked.stderr
    assert "has no tables yet; the first start makes them" in found["Database"]["advice"]
    asked = manage("healthz")
    assert asked.returncode == 1
    assert json.loads(asked.stdout)["database"] == "empty"
    assert not (tmp_path / "data").exists()
    with psycopg.connect(env["ONECLAW_DATABASE_URL"]) as connected:
        assert connected.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchall() == []


@pytest.mark.django_db(transaction=True)
def test_the_doctor_notices_another_data_folder():
    Installation.objects.update_or_create(id=1, defaults={"key_digest": "0" * 64})
    try:
        finding = examined()["Secret key"]
        assert finding["state"] == "broken"
        assert "Mount the volume of the data folder" in finding["advice"]
        assert Installation.objects.get().key_digest == "0" * 64
    finally:
        Installation.objects.all().delete()


def test_a_read_only_volume_is_told_at_the_start(disk: Disk):
    (disk.folder / "secret.key").write_text("key\n")
    env = running.environment(disk.folder)
    disk.read_only()
    done = subprocess.run(
        [sys.executable, "manage.py", "up", "--only", "worker"],
        cwd=running.ROOT,
        env=env,
        text=True,
        capture_output=True,
        timeout=240,
    )
    assert done.returncode == 1
    assert f"The data folder {disk.folder} can't be written to: " in done.stderr
    assert "Traceback" not in done.stderr
