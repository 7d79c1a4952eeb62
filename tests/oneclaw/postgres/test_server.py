"""A real PostgreSQL: what it must have, locks across connections, and the same answers as on SQLite."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from django.db import connection

from memory.index import engines
from memory.manager import MemoryManager
from oneclaw.backup import schedule
from oneclaw.postgres import locks, readiness
from people.models import User
from tests import running

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

NOTES = {
    "2026-03-01": "- Planted tomatoes on the balcony\n- Dentist on Tuesday at nine\n- Mia adopted a grey cat",
    "2026-03-02": "- The spare key is under the blue pot\n- Booked a train to Lisbon\n- Das Auto ist kaputt",
    "2026-04-11": "- Lisbon was warm\n- The cat is called Pepper\n- 猫はベランダで寝ている",
}
QUESTIONS = (
    "Where is the spare key?",
    "What is Mia's cat called?",
    "trip to Lisbon",
    "Wo ist das Auto?",
    "猫はどこ",
    "what happened on 1 March 2026",
    "hi",
    "",
)


def test_a_server_with_pgvector_lacks_nothing(db):
    assert readiness.lacking() == ""


def test_a_server_that_is_too_old_is_told(db, monkeypatch):
    monkeypatch.setattr(readiness, "OLDEST", 99)
    assert "is too old: OneClaw needs 99 or newer" in readiness.lacking()


def test_a_lock_holds_against_other_connections_and_ends(db):
    def attempt() -> bool:
        taken = list[bool]()

        def other() -> None:
            with locks.held(locks.FILES, 5, wait=0.0) as mine:
                taken.append(mine is not None)
            connection.close()

        thread = threading.Thread(target=other)
        thread.start()
        thread.join(60)
        return taken[0]

    with locks.held(locks.FILES, 5, wait=0.0) as mine:
        assert mine
        assert not attempt()
    assert attempt()
    with pytest.raises(RuntimeError), locks.held(locks.FILES, 5, wait=0.0):
        raise RuntimeError("the work failed")
    assert attempt()


def test_workers_on_two_machines_make_one_backup(
    db, settings, tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    """The volume that they share may know no locks; the database does."""
    settings.BACKUP_DIR = tmp_path / "backups"
    monkeypatch.setattr(schedule, "make", lambda folder: "Saved.")
    with locks.held(locks.BACKUP, 0, wait=0.0):
        assert schedule.run() == "Another backup is running."
    assert schedule.run() == "Saved."
    assert not (data_dir / "backup.lock").exists()


def test_both_databases_give_the_same_answers(tmp_path: Path):
    """The same files, asked the same questions, on SQLite and on PostgreSQL."""
    found = {}
    for name, database in (("sqlite", {"ONECLAW_DATABASE_URL": ""}), ("postgres", {})):
        env = running.environment(tmp_path / name, **database)

        def manage(*command: str, input: str = "", env: dict[str, str] = env) -> str:
            done = subprocess.run(
                [sys.executable, "manage.py", *command],
                cwd=running.ROOT,
                env=env,
                input=input,
                text=True,
                capture_output=True,
                timeout=240,
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        manage("migrate", "-v", "0")
        manage("shell", "-v", "0", "-c", "from people.models import User; User.objects.create_user('ada')")
        folder = tmp_path / name / "memory" / "ada"
        (folder / "daily").mkdir(parents=True)
        (folder / "MEMORY.md").write_text("# Memory\n\n## User Profile\n- Lives in Porto\n- Eats no nuts\n")
        for day, text in NOTES.items():
            (folder / "daily" / f"{day}.md").write_text(f"# Daily Log - {day}\n\n{text}\n\n---\n")
        manage("memory", "rebuild")
        lines = manage("memory", "search", "-", input="\n".join(QUESTIONS)).splitlines()
        blocks = manage("memory", "inject", "-", input="\n".join(QUESTIONS)).splitlines()
        found[name] = (
            [
                [(hit["chunk_text"], round(hit["score"], 6)) for hit in json.loads(line)["results"]]
                for line in lines
            ],
            [json.loads(line)["content"] for line in blocks],
        )
    assert found["sqlite"] == found["postgres"]
    assert found["sqlite"][0][0][0][0] == "The spare key is under the blue pot"


def test_saves_by_several_threads_are_all_there(ada: User):
    """Files are locked across connections, and the index's counts stay those of its rows."""

    def save(number: int) -> None:
        MemoryManager(ada).save_to_long_term_memory(f"Fact number {number} about subject {number * 7}")
        connection.close()

    threads = [threading.Thread(target=save, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    memory = MemoryManager(ada)
    memory.refresh_index()
    text = memory.read_long_term_memory()
    assert all(f"Fact number {number} about" in text for number in range(8))
    assert engines.fulltext().is_sound()
