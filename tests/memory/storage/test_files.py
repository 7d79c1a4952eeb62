"""Files on disk: whole writes, guarded names, logs that only grow, backups that are kept in number."""

import os
import threading
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import time_machine

from memory.storage.atomic import StorageError
from memory.storage.files import LockTimeout, MemoryFileStorage
from oneclaw.postgres import is_postgres
from people.models import User

# On SQLite nothing here asks the database; on PostgreSQL it has the locks.
pytestmark = [pytest.mark.django_db] if is_postgres() else []


@pytest.fixture
def files() -> MemoryFileStorage:
    return MemoryFileStorage(User(id=1, username="ada", time_zone="Europe/Lisbon"))


def test_nothing_is_there_before_the_first_write(files: MemoryFileStorage):
    assert files.read_memory_file() is None
    assert files.read_daily_log("2026-02-28") is None
    assert files.list_daily_log_dates() == []
    assert files.list_backups() == []
    assert files.daily_log_count() == files.total_size() == 0
    assert not files.root.exists()


def test_folders_are_made_with_the_first_write(files: MemoryFileStorage, data_dir: Path):
    files.write_memory_file("# Long-term Memory\n")
    assert (data_dir / "memory" / "ada" / "MEMORY.md").read_text() == "# Long-term Memory\n"


def test_a_write_replaces_the_whole_file(files: MemoryFileStorage):
    files.write_memory_file("a long first text\n")
    files.write_memory_file("short\n")
    assert files.read_memory_file() == "short\n"


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "../ada", "a\\b", "a\0b"])
def test_a_username_never_leaves_the_memory_folder(name: str):
    with pytest.raises(ValueError, match="memory folder"):
        MemoryFileStorage(User(username=name))


@pytest.mark.parametrize(
    "day",
    [
        "2026-2-8",
        "2026-02-30",
        "2026-13-01",
        "..",
        "../MEMORY",
        "20260228",
        "2026-02-28.md",
        "",
        "２０２６-02-28",
    ],
)
def test_only_a_real_date_names_a_log(files: MemoryFileStorage, day: str):
    with pytest.raises(ValueError):
        files.append_to_daily_log(day, "- x")
    with pytest.raises(ValueError):
        files.read_daily_log(day)


def test_the_first_entry_makes_the_log_with_its_header(files: MemoryFileStorage):
    files.append_to_daily_log("2026-02-28", "- talked about tea")
    assert files.read_daily_log(date(2026, 2, 28)) == (
        "# Daily Log - 2026-02-28\n\n- talked about tea\n\n---\n\n"
    )


def test_entries_are_appended_and_separated(files: MemoryFileStorage):
    files.append_to_daily_log(date(2026, 2, 28), "- one")
    files.append_to_daily_log("2026-02-28", "\n- two\n")
    assert files.read_daily_log("2026-02-28") == (
        "# Daily Log - 2026-02-28\n\n- one\n\n---\n\n- two\n\n---\n\n"
    )


def test_a_blank_entry_makes_no_log(files: MemoryFileStorage):
    files.append_to_daily_log("2026-02-28", " \n\n")
    assert files.read_daily_log("2026-02-28") is None


def test_an_entry_starts_on_its_own_line_after_a_hand_made_log(files: MemoryFileStorage):
    files.rewrite_daily_log("2026-02-28", "# Mine\n- no line end")
    files.append_to_daily_log("2026-02-28", "- next")
    assert files.read_daily_log("2026-02-28") == "# Mine\n- no line end\n\n- next\n\n---\n\n"


def test_a_log_with_crlf_goes_on_with_crlf(files: MemoryFileStorage):
    files.rewrite_daily_log("2026-02-28", "# Mine\r\n\r\n- a\r\n")
    files.append_to_daily_log("2026-02-28", "- b\n- c")
    assert files.read_daily_log("2026-02-28") == ("# Mine\r\n\r\n- a\r\n\r\n- b\r\n- c\r\n\r\n---\r\n\r\n")


def test_logs_are_listed_newest_first_and_strangers_are_left_out(files: MemoryFileStorage):
    for day in ("2026-02-27", "2026-03-01", "2025-12-31"):
        files.append_to_daily_log(day, "- x")
    for stranger in ("notes.md", "2026-02-30.md", "2026-02-26.txt", "2026-02-26.md.bak"):
        (files.daily_folder / stranger).write_text("x")
    (files.daily_folder / "2026-02-25.md").mkdir()
    assert files.list_daily_log_dates() == ["2026-03-01", "2026-02-27", "2025-12-31"]
    assert files.daily_log_count() == 3


def test_a_removed_log_is_gone(files: MemoryFileStorage):
    files.append_to_daily_log("2026-02-28", "- x")
    assert files.remove_daily_log("2026-02-28") is True
    assert files.remove_daily_log("2026-02-28") is False
    assert files.list_daily_log_dates() == []


def test_the_total_size_counts_logs_and_backups(files: MemoryFileStorage):
    files.write_memory_file("x" * 100)
    files.append_to_daily_log("2026-02-28", "- x")
    log = len(files.read_daily_log("2026-02-28") or "")
    assert files.total_size() == 100 + log
    files.create_backup()
    assert files.total_size() == 200 + log


def test_a_write_leaves_no_temporary_file(files: MemoryFileStorage):
    files.write_memory_file("x")
    assert (
        sorted(path.name for path in files.root.iterdir()) == ["MEMORY.md"]
        if is_postgres()
        else [".lock", "MEMORY.md"]
    )


def test_a_dead_writers_temporary_file_is_swept_up(files: MemoryFileStorage):
    files.root.mkdir(parents=True)
    (files.root / ".MEMORY.md.dead.tmp").write_text("half")
    files.write_memory_file("x")
    assert not (files.root / ".MEMORY.md.dead.tmp").exists()


def test_a_link_stays_a_link(files: MemoryFileStorage, tmp_path: Path):
    target = tmp_path / "synced.md"
    target.write_text("old")
    files.root.mkdir(parents=True)
    files.memory_path.symlink_to(target)
    files.write_memory_file("new")
    assert files.memory_path.is_symlink()
    assert target.read_text() == "new"


def test_permissions_survive_a_write(files: MemoryFileStorage):
    files.write_memory_file("a")
    files.memory_path.chmod(0o640)
    files.write_memory_file("b")
    assert files.memory_path.stat().st_mode & 0o777 == 0o640


# Bytes that are not UTF-8


def test_foreign_bytes_read_with_a_replacement_sign(files: MemoryFileStorage):
    files.root.mkdir(parents=True)
    files.memory_path.write_bytes(b"caf\xe9\n")
    assert files.read_memory_file() == "caf\ufffd\n"


def test_appending_to_a_log_that_is_not_utf8_keeps_its_bytes(files: MemoryFileStorage):
    files.daily_folder.mkdir(parents=True)
    files.daily_path("2026-02-28").write_bytes(b"# Log\n\n- caf\xe9\n")
    files.append_to_daily_log("2026-02-28", "- tea")
    assert files.daily_path("2026-02-28").read_bytes() == b"# Log\n\n- caf\xe9\n\n- tea\n\n---\n\n"


def test_untouched_lines_keep_their_foreign_bytes(files: MemoryFileStorage):
    files.root.mkdir(parents=True)
    files.memory_path.write_bytes(b"- caf\xe9\r\n- old\n")
    text = files.read_memory_file() or ""
    files.write_memory_file(text.replace("old", "new"))
    assert files.memory_path.read_bytes() == b"- caf\xe9\r\n- new\n"
    assert files.list_backups() == []


def test_foreign_bytes_that_would_go_are_backed_up_first(files: MemoryFileStorage):
    files.root.mkdir(parents=True)
    files.memory_path.write_bytes(b"- caf\xe9\n")
    files.write_memory_file("- coffee\n")
    (backup,) = files.list_backups()
    assert (files.root / backup).read_bytes() == b"- caf\xe9\n"


def test_a_byte_order_mark_is_kept_and_not_shown(files: MemoryFileStorage):
    files.root.mkdir(parents=True)
    files.memory_path.write_bytes(b"\xef\xbb\xbf# Long-term Memory\n")
    assert files.read_memory_file() == "# Long-term Memory\n"
    files.write_memory_file("# Long-term Memory\n- x\n")
    assert files.memory_path.read_bytes() == b"\xef\xbb\xbf# Long-term Memory\n- x\n"


def test_a_lone_surrogate_does_not_stop_a_write(files: MemoryFileStorage):
    files.write_memory_file("- \ud83d odd\n")
    assert files.read_memory_file() == "- ? odd\n"


# Locks


def test_the_lock_is_re_entrant_for_its_thread_across_instances(files: MemoryFileStorage):
    with files.lock(), MemoryFileStorage(files.user).lock():
        files.write_memory_file("x")
    assert files.read_memory_file() == "x"


def test_another_thread_waits_and_then_gives_up_with_a_sentence(files: MemoryFileStorage):
    caught: list[Exception] = []

    def other() -> None:
        try:
            MemoryFileStorage(files.user, lock_wait=0.05).write_memory_file("theirs")
        except LockTimeout as error:
            caught.append(error)

    with files.lock():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(60)
    assert "busy" in str(caught[0])
    assert files.read_memory_file() is None


# Backups (RFC-049 3D)


def test_a_backup_is_named_by_the_users_local_time(files: MemoryFileStorage):
    files.write_memory_file("# Long-term Memory\n- x\n")
    with time_machine.travel(datetime(2026, 7, 2, 13, 30, tzinfo=UTC), tick=False):
        assert files.create_backup() == "MEMORY_backup_2026-07-02_14-30-00.md"
    assert files.read_backup("MEMORY_backup_2026-07-02_14-30-00.md") == "# Long-term Memory\n- x\n"


@pytest.mark.parametrize("text", [None, "", " \n\n"])
def test_nothing_makes_no_backup(files: MemoryFileStorage, text: str | None):
    if text is not None:
        files.write_memory_file(text)
    assert files.create_backup() is None
    assert files.list_backups() == []


def test_backups_within_one_second_all_stay_in_order(files: MemoryFileStorage):
    with time_machine.travel(datetime(2026, 3, 2, 14, 30, tzinfo=UTC), tick=False):
        for count in range(12):
            files.write_memory_file(f"version {count}")
            files.create_backup()
    texts = [files.read_backup(name) for name in files.list_backups()]
    assert texts == [f"version {count}" for count in reversed(range(12))]


def make_backups(files: MemoryFileStorage, count: int) -> None:
    files.root.mkdir(parents=True, exist_ok=True)
    for day in range(1, count + 1):
        (files.root / f"MEMORY_backup_2026-03-0{day}_10-00-00.md").write_text(f"- day {day}\n")


def test_of_seven_backups_the_two_oldest_go(files: MemoryFileStorage):
    make_backups(files, 7)
    files.prune_old_backups()
    assert files.list_backups() == [f"MEMORY_backup_2026-03-0{day}_10-00-00.md" for day in (7, 6, 5, 4, 3)]


def test_of_three_backups_none_goes(files: MemoryFileStorage):
    make_backups(files, 3)
    assert files.prune_old_backups() == []
    assert len(files.list_backups()) == 3


def test_a_copy_the_owner_named_is_neither_listed_nor_pruned(files: MemoryFileStorage):
    make_backups(files, 7)
    (files.root / "MEMORY_backup_before-the-trip.md").write_text("mine")
    files.prune_old_backups()
    assert (files.root / "MEMORY_backup_before-the-trip.md").exists()
    assert len(files.list_backups()) == 5


def test_a_backup_comes_back_as_memory(files: MemoryFileStorage):
    make_backups(files, 2)
    files.write_memory_file("now")
    assert files.restore_from_backup("MEMORY_backup_2026-03-02_10-00-00.md") is True
    assert files.read_memory_file() == "- day 2\n"


@pytest.mark.parametrize(
    "name",
    ["MEMORY_backup_2026-01-01_00-00-00.md", "MEMORY.md", "../eve/MEMORY.md", "daily/2026-02-28.md", ""],
)
def test_what_is_no_backup_restores_nothing(files: MemoryFileStorage, name: str):
    files.write_memory_file("now")
    files.append_to_daily_log("2026-02-28", "- x")
    assert files.restore_from_backup(name) is False
    assert files.read_memory_file() == "now"


def test_a_blank_backup_restores_nothing(files: MemoryFileStorage):
    make_backups(files, 1)
    (files.root / files.list_backups()[0]).write_text("\n \n")
    files.write_memory_file("now")
    assert files.restore_from_backup(files.list_backups()[0]) is False
    assert files.read_memory_file() == "now"


# Faults without a second process


def test_a_file_in_place_of_the_folder_is_a_clear_error(files: MemoryFileStorage):
    files.root.parent.mkdir(parents=True)
    files.root.write_text("in the way")
    with pytest.raises(StorageError, match="ada could not be locked"):
        files.write_memory_file("x")
    assert files.list_daily_log_dates() == []


def test_a_folder_in_place_of_memory_is_a_clear_error(files: MemoryFileStorage):
    os.makedirs(files.memory_path)
    with pytest.raises(StorageError, match=r"MEMORY\.md could not be read"):
        files.read_memory_file()
