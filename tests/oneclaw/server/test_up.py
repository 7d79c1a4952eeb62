"""`manage.py up`, for real: what it starts, what it survives, and what it says when it can't start."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from django.core.management.base import CommandError
from pytest_django.fixtures import Settings

from oneclaw import datafolder
from oneclaw.management.commands.up import greeting, one_of_several, only_one
from oneclaw.server import lan, listen
from people import setup
from people.models import User
from tests.running import ROOT, Running, alive, environment, oneclaw


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One OneClaw, open to the network, for the tests that leave it as they found it."""
    folder = tmp_path_factory.mktemp("up")
    # Unpacked by hand from a backup, for all to read.
    (folder / "memory" / "old").mkdir(parents=True)
    (folder / "memory" / "old" / "MEMORY.md").write_text("# Long-term Memory")
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    with oneclaw(folder, "--host", "0.0.0.0", ONECLAW_UPLOAD_MB="1") as started:
        yield started
    assert started.process.returncode == 0


def refused(data_dir: Path, *arguments: str, **settings: str) -> str:
    """What `up` says when it does not start."""
    done = subprocess.run(
        [sys.executable, "manage.py", "up", *(arguments or ("--port", "0"))],
        cwd=ROOT,
        env=environment(data_dir, **settings),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    return done.stderr


def test_it_serves_the_set_up_with_hashed_static_files(running: Running) -> None:
    page = httpx.get(running.url, follow_redirects=True, timeout=60)
    assert page.url.path == "/setup/"
    style = page.text.split('rel="stylesheet" href="')[1].split('"')[0]
    answer = httpx.get(running.url + style, headers={"accept-encoding": "gzip"}, timeout=60)
    assert answer.status_code == 200
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-encoding"] == "gzip"


def test_health_is_told_in_words(running: Running) -> None:
    health = running.health()
    assert {name: health[name] for name in ("status", "database", "worker")} == {
        "status": "ok",
        "database": "ok",
        "worker": "ok",
    }


@pytest.mark.parametrize(("version", "asked"), [("1.1", False), ("1.0", True)])
def test_behind_a_bare_proxy_the_set_up_wants_the_code(running: Running, version: str, asked: bool) -> None:
    """What nginx sends with nothing but `proxy_pass`: from this machine, to this machine, in HTTP 1.0."""
    host = running.url.removeprefix("http://")
    with socket.create_connection(("127.0.0.1", int(host.split(":")[1])), timeout=30) as connection:
        request = f"GET /setup/ HTTP/{version}\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    assert " 200 OK" in answer
    assert ("Set-up code" in answer) is asked


def test_only_their_owner_can_read_the_files(running: Running) -> None:
    assert "could be read by others" in running.log
    kept = [running.data_dir, *running.data_dir.rglob("*")]
    open_to_others = [path for path in kept if path.stat().st_mode & 0o077 and path.name != "up.log"]
    assert not open_to_others


def test_nothing_lies_in_the_data_folder_that_a_backup_does_not_know(running: Running) -> None:
    """A room that keeps something new there says in `datafolder` whether it must be saved."""
    known = {*datafolder.KEPT, *datafolder.MADE_ANEW, "up.log"}
    assert set(os.listdir(running.data_dir)) <= known


def test_an_oversized_body_is_answered_with_a_page(running: Running) -> None:
    for body in (b"x" * (3 * 2**20), iter([b"x" * 2**20] * 3)):
        answer = httpx.post(f"{running.url}/setup/", content=body, timeout=30)
        assert answer.status_code == 413
        assert "Too large" in answer.text


@pytest.mark.sqlite  # on PostgreSQL, any number share a folder
def test_a_second_one_on_the_same_data_folder_is_refused(running: Running) -> None:
    assert "already running with the data folder" in refused(running.data_dir)
    assert running.health()["status"] == "ok"


def test_a_killed_worker_comes_back_without_what_it_had_started(running: Running) -> None:
    workers = running.find("manage.py worker")
    assert len(workers) > 3  # the cluster, its guard, and those that guard
    os.kill(workers[0], signal.SIGKILL)
    running.wait_until(lambda: "The worker stopped (killed by SIGKILL)" in running.log)
    running.wait_until(lambda: not alive(workers))
    (running.data_dir / "worker.beat").unlink(missing_ok=True)
    running.wait_until(lambda: running.health()["worker"] == "ok")


def test_a_killed_web_server_comes_back_on_the_same_port(running: Running) -> None:
    [web] = running.find("oneclaw.server.web")
    os.kill(web, signal.SIGKILL)
    assert running.health()["status"] == "ok"


def test_ctrl_c_stops_it_cleanly_with_everything_it_started(tmp_path: Path) -> None:
    with oneclaw(tmp_path) as started:
        family = list(started.processes())
        assert started.stop(signal.SIGINT) == 0
        started.wait_until(lambda: not alive(family))
    assert started.log.endswith("OneClaw has stopped.\n")
    with pytest.raises(httpx.ConnectError):
        httpx.get(started.url, timeout=60)


def test_a_killed_up_leaves_nobody_and_the_next_takes_its_port(tmp_path: Path) -> None:
    with oneclaw(tmp_path) as started:
        family = list(started.processes())
        port = started.url.rsplit(":", 1)[1]
        started.kill()
        with oneclaw(tmp_path, "--port", port) as again:
            assert again.url == started.url
            again.wait_until(lambda: not alive(family))


def test_beyond_loopback_it_prints_addresses_and_the_set_up_code(running: Running) -> None:
    code = (running.data_dir / "setup.code").read_text().strip()
    assert f"Set-up code, needed on other devices: {code}" in running.log
    for address in lan.addresses("0.0.0.0"):
        assert f"http://{address}:" in running.log
    # Nobody listens there.
    assert "http://[" not in running.log


@pytest.mark.django_db
def test_behind_a_proxy_the_set_up_code_is_printed_on_loopback_too(settings: Settings) -> None:
    assert greeting("127.0.0.1", 8000).endswith(f"Set-up code, if the page asks for it: {setup.code()}")
    settings.HTTPS = True
    assert greeting("127.0.0.1", 8000).endswith(f"Set-up code, needed on every device: {setup.code()}")
    User.objects.create_superuser("ada", password="correct horse battery")
    assert "code" not in greeting("127.0.0.1", 8000)


def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert f"Port {port} is in use." in refused(tmp_path, "--port", str(port))


def test_an_address_that_the_machine_lacks_is_left_out_where_another_binds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As `localhost` resolves where IPv6 is switched off: the first can't be had.
    found = [(socket.AF_INET, ("192.0.2.7", 0)), (socket.AF_INET, ("127.0.0.1", 0))]
    monkeypatch.setattr(listen, "resolve", lambda *_: iter(found))
    (taken,) = listen.listen("localhost", 0)
    with taken:
        assert taken.getsockname()[0] == "127.0.0.1"


def test_a_host_of_another_machine_is_said(tmp_path: Path) -> None:
    assert "is not an address of this machine" in refused(tmp_path, ONECLAW_HOST="192.0.2.7")


def test_a_data_folder_that_can_not_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "can't be used" in refused(tmp_path / "file" / "data")


def test_a_bad_setting_is_said(tmp_path: Path) -> None:
    assert "ONECLAW_PORT='many': must be a whole number." in refused(tmp_path, ONECLAW_PORT="many")


@pytest.mark.sqlite  # on PostgreSQL: tests/oneclaw/postgres/test_faults.py
def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    environ = environment(tmp_path)
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, env=environ, check=True, timeout=120
    )
    with sqlite3.connect(tmp_path / "db.sqlite3") as database:
        database.execute(
            "INSERT INTO django_migrations(app, name, applied) VALUES ('chat', '0999_later', '2030-01-01')"
        )
    said = refused(tmp_path)
    assert "from a newer OneClaw (it has chat.0999_later)" in said


@pytest.mark.sqlite
def test_a_file_that_is_no_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "db.sqlite3").write_bytes(b"this is no database " * 100)
    assert "can't be used: file is not a database" in refused(tmp_path)


def test_one_of_several_neither_passes_a_restore_nor_hinders_the_others(tmp_path: Path) -> None:
    with (
        only_one(tmp_path),
        pytest.raises(CommandError, match="being restored or moved"),
        one_of_several(tmp_path),
    ):
        pass
    with one_of_several(tmp_path), one_of_several(tmp_path):
        pass
