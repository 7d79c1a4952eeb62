"""`manage.py move-to`: a year goes to PostgreSQL and back; breaks, refusals and odd values on the way."""

import json
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from filelock import FileLock

from tests import running

pytestmark = pytest.mark.postgres

YEAR = """
from demo import filling
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django_q.models import Task
from django_q.tasks import async_task
from django.utils import timezone
from people.models import User

robin = filling.fill()
Session.objects.create(
    session_key="a" * 32, session_data=SessionStore().encode({"who": robin.pk}), expire_date=timezone.now()
)
async_task("memory.tasks.flush_session", "né 猫", when=timezone.now())
Task.objects.create(id="t1", name="Zoë", func="f", args=(1, {"a": b"\\0\\xff"}), started=timezone.now(),
                    stopped=timezone.now(), success=True)
# A number that was given once is not given again.
last = User.objects.create_user("gone")
last.delete()
"""
ASKED = """
import json, sys
from chat.sessions import search as chats
from django.contrib.sessions.models import Session
from django_q.models import OrmQ, Schedule, Task
from memory.search import selftest
from memory.search.engine import HybridSearchEngine
from people.models import User

robin = User.objects.get(username="robin")
found = {"hits": []}
class Noting(HybridSearchEngine):
    def search(self, *args, **kwargs):
        hits = super().search(*args, **kwargs)
        found["hits"].append([(hit.chunk_id, round(hit.score, 6)) for hit in hits])
        return hits
selftest.HybridSearchEngine = Noting
found["selftest"] = selftest.run(robin).found
words = ("heron", "tea", "train", "garden")
found["chats"] = [sorted(hit.message_id or 0 for hit in chats.find(robin, word)) for word in words]
found["queue"] = [repr(row.task["args"]) for row in OrmQ.objects.order_by("id")]
found["task"] = repr(Task.objects.get(id="t1").args)
found["schedules"] = sorted(Schedule.objects.values_list("name", flat=True))
found["logged_in"] = Session.objects.get(pk="a" * 32).get_decoded()
found["next"] = User.objects.create_user("next").pk
User.objects.get(username="next").delete()
sys.stdout.write(json.dumps(found))
"""
# Moves as the command does, and dies by kill -9 at the given place.
DYING = """
import os, signal, sys
import django
django.setup()
from oneclaw.moving import move
url, place = sys.argv[1:]
def tell(table, done, total):
    if table == place:
        os.kill(os.getpid(), signal.SIGKILL)
move.move(url, tell)
"""


@dataclass
class Installation:
    """A data folder, with the database that it uses."""

    folder: Path
    url: str = ""

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        env = running.environment(self.folder, ONECLAW_DATABASE_URL=self.url)
        return subprocess.run(
            [sys.executable, *command],
            cwd=running.ROOT,
            env=env | {"DJANGO_SETTINGS_MODULE": "oneclaw.settings"},
            text=True,
            capture_output=True,
            timeout=600,
        )

    def manage(self, *command: str) -> str:
        done = self.run("manage.py", *command)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refuses(self, *command: str) -> str:
        done = self.run("manage.py", *command)
        assert done.returncode == 1, done.stdout
        assert "Traceback" not in done.stderr, done.stderr
        return done.stderr

    def shell(self, code: str) -> str:
        return self.manage("shell", "-v", "0", "-c", code)

    @property
    def file(self) -> Path:
        return self.folder / "db.sqlite3"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    made = Installation(tmp_path_factory.mktemp("empty"))
    made.manage("migrate", "-v", "0")
    return made


@pytest.fixture(scope="module")
def template(empty: Installation, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    made = Installation(tmp_path_factory.mktemp("template") / "data")
    shutil.copytree(empty.folder, made.folder)
    made.shell(
        "from people.models import User; from memory.manager import MemoryManager\n"
        "for name in ('ada', 'ben'):\n"
        "    memory = MemoryManager(User.objects.create_user(name, password='correct horse battery'))\n"
        "    memory.save_to_long_term_memory('The spare key is under the blue pot')\n"
        "    memory.refresh_index()"
    )
    return made


@pytest.fixture
def year(empty: Installation, tmp_path: Path) -> Installation:
    shutil.copytree(empty.folder, tmp_path / "year")
    made = Installation(tmp_path / "year")
    made.shell(YEAR)
    return made


@pytest.fixture
def small(template: Installation, tmp_path: Path) -> Installation:
    """Two people and little else."""
    shutil.copytree(template.folder, tmp_path / "small")
    return Installation(tmp_path / "small")


@pytest.fixture
def postgres(tmp_path: Path) -> str:
    """An empty database."""
    return running.database_of(tmp_path / "target")["ONECLAW_DATABASE_URL"]


def rows(url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        done = connection.execute(statement)
        return done.fetchall() if done.description else []


def test_a_year_moves_to_postgres_and_back_and_answers_the_same(
    year: Installation, postgres: str, tmp_path: Path
):
    before = json.loads(year.shell(ASKED))
    # Asking writes too, so it comes first.
    bytes_before = year.file.read_bytes()
    said = year.manage("move-to", postgres)
    assert "every count and checksum agrees" in said
    assert year.file.read_bytes() == bytes_before, "the source was changed"
    there = Installation(year.folder, postgres)
    on_postgres = json.loads(there.shell(ASKED))
    assert sum(map(bool, on_postgres["hits"])) > 15, "the self-test asked nothing"
    assert any(on_postgres["chats"])
    # Asking made a person and deleted it again.
    assert on_postgres.pop("next") == before.pop("next") + 1
    assert on_postgres == before
    back = tmp_path / "back.sqlite3"
    there.manage("move-to", f"sqlite://{back}")
    assert back.stat().st_mode & 0o077 == 0
    returned = tmp_path / "returned"
    shutil.copytree(year.folder, returned, ignore=shutil.ignore_patterns("db.sqlite3*"))
    shutil.copyfile(back, returned / "db.sqlite3")
    again = json.loads(Installation(returned).shell(ASKED))
    again.pop("next")
    assert again == before


@pytest.mark.parametrize("place", ["memory_revision", "search over memory"])
def test_killed_on_the_way_it_goes_on_and_follows_what_changed(
    small: Installation, postgres: str, place: str
):
    assert small.run("-c", DYING, postgres, place).returncode == -9
    # Between the two runs somebody went on with the source.
    small.shell(
        "from people.models import User\n"
        "User.objects.filter(username='ben').delete()\n"
        "User.objects.filter(username='ada').update(first_name='Ada')\n"
        "User.objects.create_user('cleo')"
    )
    said = small.manage("move-to", postgres)
    assert "already there" in said
    assert rows(postgres, "SELECT username, first_name FROM people_user ORDER BY id") == [
        ("ada", "Ada"),
        ("cleo", ""),
    ]
    assert rows(postgres, "SELECT 1 FROM pg_tables WHERE tablename = 'oneclaw_move'") == []
    assert rows(postgres, "SELECT 1 FROM pg_constraint WHERE contype = 'f'"), "the keys are not back"
    found = Installation(small.folder, postgres).manage("memory", "search", "--user", "ada", "spare key")
    assert "blue pot" in found


@pytest.fixture
def filled(small: Installation, postgres: str) -> tuple[Installation, str]:
    small.manage("move-to", postgres)
    return small, postgres


def test_a_target_that_is_in_use_is_left_alone(filled: tuple[Installation, str]):
    small, postgres = filled
    assert "already holds an installation with 2 people" in small.refuses("move-to", postgres)
    other = postgres.replace("/oneclaw_", "/elsewhere_")
    rows(postgres, "DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE invoices (id int)")
    assert "tables of something else (invoices)" in small.refuses("move-to", postgres)
    assert rows(postgres, "SELECT COUNT(*) FROM invoices") == [(0,)]
    assert "can't be opened" in small.refuses("move-to", other)


def test_a_backup_of_postgres_is_put_back_anywhere(filled: tuple[Installation, str], tmp_path: Path):
    small, postgres = filled
    on_postgres = Installation(small.folder, postgres)
    # Somebody else's transaction is not part of the moment.
    with psycopg.connect(postgres, application_name="oneclaw") as other:
        other.execute("UPDATE people_user SET first_name = 'unsaid'")
        on_postgres.manage("backup", str(tmp_path / "backup.zip"))
    assert "move-to" in on_postgres.manage("restore", str(tmp_path / "backup.zip"))
    restored = Installation(tmp_path / "restored")
    restored.folder.mkdir()
    restored.manage("restore", str(tmp_path / "backup.zip"))
    found = restored.manage("memory", "search", "--user", "ada", "spare key")
    assert "blue pot" in found
    with sqlite3.connect(restored.file) as database:
        assert database.execute("SELECT username, first_name FROM people_user").fetchall() == [
            ("ada", ""),
            ("ben", ""),
        ]
    database.close()


def test_half_filled_from_elsewhere_is_no_place_to_go_on(small: Installation, postgres: str, tmp_path: Path):
    assert small.run("-c", DYING, postgres, "memory_revision").returncode == -9
    other = Installation(tmp_path / "other")
    shutil.copytree(small.folder, other.folder)
    assert "half filled from another installation" in other.refuses("move-to", postgres)


def test_what_is_running_is_not_moved(small: Installation, postgres: str):
    with FileLock(small.folder / "up.lock"):
        assert "running" in small.refuses("move-to", postgres)
    small.manage("move-to", postgres)
    with psycopg.connect(postgres, application_name="oneclaw"):
        back = f"sqlite://{small.folder / 'back.sqlite3'}"
        said = Installation(small.folder, postgres).refuses("move-to", back)
    assert "running on this PostgreSQL database" in said
    assert not (small.folder / "back.sqlite3").exists()


def test_what_is_running_elsewhere_is_not_restored(small: Installation, postgres: str, tmp_path: Path):
    there = Installation(small.folder, postgres)
    with psycopg.connect(postgres, application_name="oneclaw"):
        assert "running on this PostgreSQL database" in there.refuses("restore", str(tmp_path / "kept.zip"))
    assert "There is no file" in there.refuses("restore", str(tmp_path / "kept.zip"))
    # A database that is lost is no reason to refuse: a backup may be all there is.
    lost = Installation(small.folder, postgres.replace("/oneclaw_", "/lost_"))
    said = lost.refuses("restore", str(tmp_path / "kept.zip"))
    assert "nobody could ask whether OneClaw runs on another machine" in said
    assert "There is no file" in said


def test_an_older_installation_is_to_be_updated_first(small: Installation, postgres: str):
    with sqlite3.connect(small.file) as database:
        database.execute(
            "DELETE FROM django_migrations WHERE id = "
            "(SELECT id FROM django_migrations WHERE app = 'memory' ORDER BY name DESC LIMIT 1)"
        )
    database.close()
    assert "Start OneClaw once" in small.refuses("move-to", postgres)


def test_a_row_that_postgres_does_not_take_is_named(small: Installation, postgres: str):
    with sqlite3.connect(small.file) as database:
        database.execute("UPDATE people_user SET first_name = ? WHERE username = 'ben'", ["x" * 151])
    said = small.refuses("move-to", postgres)
    assert "does not take the row 2 of people_user: value too long" in said
    with sqlite3.connect(small.file) as database:
        database.execute("UPDATE people_user SET first_name = 'Ben' WHERE username = 'ben'")
    database.close()
    assert "already there" in small.manage("move-to", postgres)


def test_what_postgres_can_not_hold_is_left_out_of_a_text(small: Installation, postgres: str):
    with sqlite3.connect(small.file) as database:
        database.execute("UPDATE people_user SET first_name = 'B' || CHAR(0) || 'en' WHERE username = 'ben'")
        database.execute(
            "INSERT INTO memory_forgotten (owner_id, traces, messages, created_at) VALUES "
            "(1, '[{\"b\": 1e2, \"a\": \"x\\u0000\\ud800y 😀\"}]', '[]', '2026-01-02 03:04:05.678901')"
        )
    database.close()
    small.manage("move-to", postgres)
    assert rows(postgres, "SELECT first_name FROM people_user WHERE username = 'ben'") == [("Ben",)]
    ((traces, when),) = rows(postgres, "SELECT traces, created_at::text FROM memory_forgotten")
    assert traces == [{"a": "x?y 😀", "b": 100}]
    assert str(when).startswith("2026-01-02 03:04:05.678901")


def test_numbers_of_any_size_move(small: Installation, postgres: str):
    """A model may ask a tool for 1e30, and PostgreSQL writes that as thirty-one digits."""
    with sqlite3.connect(small.file) as database:
        database.execute(
            "INSERT INTO memory_forgotten (owner_id, traces, messages, created_at) VALUES "
            "(1, '[{\"n\": 1e+30, \"m\": 1e-07, \"z\": -0.0}]', '[]', '2026-01-02 03:04:05')"
        )
    database.close()
    small.manage("move-to", postgres)
    back = small.folder / "back.sqlite3"
    Installation(small.folder, postgres).manage("move-to", f"sqlite://{back}")
    with sqlite3.connect(back) as database:
        ((traces,),) = database.execute("SELECT traces FROM memory_forgotten").fetchall()
    database.close()
    assert json.loads(traces) == [{"n": 10**30, "m": 1e-07, "z": 0}]


def test_an_empty_database_has_nothing_to_move(small: Installation, postgres: str, tmp_path: Path):
    there = Installation(small.folder, postgres)
    assert "nothing to move" in there.refuses("move-to", f"sqlite://{tmp_path / 'back.sqlite3'}")
    assert "nothing to move" in there.refuses("backup", str(tmp_path / "saved.zip"))
    assert not (tmp_path / "back.sqlite3").exists()


def test_a_row_that_refers_to_nothing_is_told(small: Installation, postgres: str):
    with sqlite3.connect(small.file) as database:
        database.execute(
            "INSERT INTO memory_revision "
            "(owner_id, author, by, reason, before, after, after_digest, size, created_at) "
            "VALUES (77, 'user', '', '', '', '', '', 0, '2026-01-02 03:04:05')"
        )
    assert "refers to another that is not there" in small.refuses("move-to", postgres)
    with sqlite3.connect(small.file) as database:
        database.execute("DELETE FROM memory_revision WHERE owner_id = 77")
    database.close()
    assert "already there" in small.manage("move-to", postgres)
