"""Faults of real machines, with real processes and files: nothing is lost, and the next call works."""

import os
import random
import shutil
import signal
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import pytest

from memory.injection.injector import MemoryInjector
from memory.longterm import revisions
from memory.longterm.memory import LongTermMemory
from memory.manager import MemoryManager
from memory.models import Revision
from memory.storage.files import MemoryFileStorage
from memory.storage.sections import parse_sections
from memory.tools import TOOLS
from oneclaw.tokens import estimate as tokens
from oneclaw.toolkit import ToolContext
from people.models import User
from tests.limits import line_of
from tests.memory.processes import run, start

transactional = pytest.mark.django_db(transaction=True)

SAVES = """
from memory.manager import MemoryManager
from people.models import User

def save(worker):
    manager = MemoryManager(User.objects.get(username="ada"))
    for number in range(25):
        manager.save_to_long_term_memory(f"Fact {number} that worker {worker} was told", "notes")

joined([fork(lambda worker=worker: save(worker)) for worker in range(8)])
"""


@transactional
def test_two_hundred_saves_from_eight_processes_are_all_there(ada: User, data_dir: Path):
    run(SAVES, data_dir)
    notes = parse_sections(LongTermMemory(ada).read())["Notes"].split("\n")
    expected = {
        f"- Fact {number} that worker {worker} was told" for number in range(25) for worker in range(8)
    }
    assert len(notes) == 200
    assert set(notes) == expected
    # History is a chain: each save began where another ended.
    history = list(revisions.history(ada).order_by("id"))
    assert len(history) == 200
    assert all(later.before == earlier.after for earlier, later in pairwise(history))


LOGS = """
from memory.storage.files import MemoryFileStorage
from people.models import User

def append(worker):
    for number in range(10):
        MemoryFileStorage(User(username="ada")).append_to_daily_log("2026-02-28", f"- {worker}/{number}")

joined([fork(lambda worker=worker: append(worker)) for worker in range(4)])
"""


def test_a_log_appended_by_four_processes_has_every_entry(data_dir: Path):
    run(LOGS, data_dir)
    text = MemoryFileStorage(User(username="ada")).read_daily_log("2026-02-28") or ""
    assert text.count("# Daily Log - 2026-02-28") == 1
    assert text.count("\n\n---\n\n") == 40
    assert {f"- {worker}/{number}" for worker in range(4) for number in range(10)} <= set(text.split("\n"))


FULL = """
import resource
from memory.storage.atomic import StorageError
from memory.longterm.memory import LongTermMemory
from memory.tools import TOOLS
from oneclaw.toolkit import ToolContext
from people.models import User

# A write beyond the limit fails as on a full disk, after part of it was written.
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
user = User.objects.get(username="ada")
memory = LongTermMemory(user)
memory.write("- before\\n" + "x" * 7_000_000)
resource.setrlimit(resource.RLIMIT_FSIZE, (7_000_005, resource.RLIM_INFINITY))
try:
    memory.append("- lost")
except StorageError as error:
    print(error)
result = TOOLS[0].run(ToolContext(user), {"content": "One more fact to remember"})
print(result.code)
print(memory.read() == "- before\\n" + "x" * 7_000_000)
print(sorted(path.name for path in memory.files.root.iterdir()))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
memory.append("- after")
print(memory.read().endswith("- after\\n"))
"""


@transactional
def test_a_full_disk_is_a_clear_error_and_the_file_stays(ada: User, data_dir: Path):
    error, code, intact, names, works = run(FULL, data_dir).splitlines()
    assert error.startswith("MEMORY.md could not be written: File too large")
    assert code == "save_failed"
    assert intact == works == "True"
    # Nothing is left of the write that failed. The lock is a file on SQLite alone.
    assert names.replace("'.lock', ", "") == "['MEMORY.md']"


READ_ONLY = """
from memory.storage.atomic import StorageError
from memory.storage.files import MemoryFileStorage
from people.models import User

files = MemoryFileStorage(User(username="ada"))
files.write_memory_file("- kept\\n")
os.chmod(files.root, 0o555)
os.chmod(files.root / "MEMORY.md", 0o444)
os.chmod(files.root / ".lock", 0o666)

def stranger():
    # Permissions do not bind root.
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    print(files.read_memory_file(), end="")
    for write in (
        lambda: files.write_memory_file("x"),
        lambda: files.append_to_daily_log("2026-02-28", "- x"),
        lambda: files.create_backup(),
    ):
        try:
            write()
        except StorageError as error:
            print(error)
    print(files.read_memory_file(), end="")

joined([fork(stranger)])
"""


def test_a_read_only_folder_can_be_read_and_says_why_it_is_not_written():
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    (folder / "memory").mkdir()
    try:
        before, *errors, after = run(READ_ONLY, folder).splitlines()
    finally:
        shutil.rmtree(folder)
    assert before == after == "- kept"
    assert len(errors) == 3
    assert all("Permission denied" in error for error in errors)


WRITER = """
from memory.storage.files import MemoryFileStorage
from people.models import User

files = MemoryFileStorage(User(username="ada"))
count = 0
while True:
    count += 1
    files.write_memory_file(f"- {count % 10} and more\\n" * 90_000)
    if count == 1:
        print("writing", flush=True)
"""


def test_a_writer_killed_at_any_moment_leaves_a_whole_file(data_dir: Path):
    files = MemoryFileStorage(User(username="ada"))
    dice = random.Random(7)
    for _ in range(5):
        writer = start(WRITER, data_dir)
        assert line_of(writer, 60) == "writing\n"
        time.sleep(dice.uniform(0, 0.05))
        writer.kill()
        writer.communicate(timeout=60)
        text = files.read_memory_file() or ""
        assert text == text[:13] * 90_000
    # The dead held the lock and left half a file behind: neither is in the way.
    files.write_memory_file("- alive\n")
    assert files.read_memory_file() == "- alive\n"
    assert sorted(path.name for path in files.root.iterdir()) == [".lock", "MEMORY.md"]


KILLED = """
from memory.longterm import revisions
from memory.longterm.memory import LongTermMemory
from people.models import User

revisions.record = lambda *args: os.kill(os.getpid(), signal.SIGKILL)
memory = LongTermMemory(User.objects.get(username="ada"))
memory.files.root.mkdir(parents=True)
memory.append("- written, but not yet in history")
"""


@transactional
def test_a_write_killed_before_its_revision_is_found_by_the_next(ada: User, data_dir: Path):
    process = start(KILLED, data_dir)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    memory = LongTermMemory(ada)
    memory.append("- next")
    assert memory.read().endswith("- written, but not yet in history\n- next\n")
    assert [revision.author for revision in revisions.history(ada)] == ["user", "outside"]


@pytest.mark.timeout(900)  # 90,000 chunks are cut three times; on PostgreSQL a busy machine took five minutes
@pytest.mark.django_db
def test_a_memory_of_five_megabytes_is_read_changed_and_injected(ada: User):
    manager = MemoryManager(ada)
    lines = "".join(
        f"- Entry number {number} of a very long memory, in many words\n" for number in range(90_000)
    )
    manager.long_term.write("# Long-term Memory\n\n## Notes\n" + lines)
    assert manager.files.total_size() > 5_000_000
    context = ToolContext(ada)
    save, update, read, *_ = (tool.run for tool in TOOLS)
    saved = save(context, {"content": "A new entry at the end of it all", "category": "notes"})
    assert saved.ok
    assert save(context, {"content": "entry NUMBER 80000 of a very long memory"}).code == "duplicate_detected"
    assert update(context, {"old_text": "Entry number 45000 of", "new_text": "Changed number 45000 of"}).ok
    assert update(context, {"old_text": "of a very long memory", "new_text": ""}).code == "ambiguous_match"
    assert read(context, {"section": "Notes"}).ok
    manager.long_term.undo(Revision.objects.get(pk=saved.data["revision"]))
    assert "A new entry at the end" not in manager.read_long_term_memory()
    assert "Changed number 45000" in manager.read_long_term_memory()
    injection = MemoryInjector(manager.long_term, lambda query, top_k, leave_out: []).build("which entry?")
    assert tokens(injection.text) <= 2000
    assert injection.receipt["long_term"]["lines"] > 50


def test_nothing_of_this_needs_more_rights_than_the_owner_has(data_dir: Path):
    files = MemoryFileStorage(User(username="ada"))
    files.write_memory_file("- private\n")
    assert files.memory_path.stat().st_mode & 0o077 == 0
    assert files.root.stat().st_mode & 0o077 == 0
    assert files.memory_path.stat().st_uid == os.getuid()
