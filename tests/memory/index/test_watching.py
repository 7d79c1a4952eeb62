"""Changed files are noticed by the very next look, whoever changed them and however."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memory.index.sources import files, watching
from memory.index.sources.files import present
from memory.index.sources.watching import Watcher
from memory.storage.atomic import StorageError
from tests.memory.processes import run

LOG = "2026-01-05.md"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "daily").mkdir()
    (tmp_path / "MEMORY.md").write_text("- Tea\n")
    (tmp_path / "daily" / LOG).write_text("- A walk\n")
    return tmp_path


def seen(root: Path) -> dict[str, int]:
    """The files' sizes by name."""
    return {name: size for name, _, size, _ in present(root, root / "daily")}


def write_in_place(log: Path) -> None:
    with log.open("a") as file:
        file.write("- More\n")


def write_beside(log: Path) -> None:
    log.with_suffix(".part").write_text("- Another text\n")
    log.with_suffix(".part").replace(log)


def set_its_time(log: Path) -> None:
    os.utime(log, ns=(1, 1))


@pytest.mark.parametrize("change", [write_in_place, write_beside, set_its_time, Path.unlink])
def test_a_change_is_seen_by_the_next_look(root: Path, change: Callable[[Path], object]):
    before = present(root, root / "daily")
    change(root / "daily" / LOG)
    after = present(root, root / "daily")
    assert after != before
    assert present(root, root / "daily") is after


def test_new_files_and_a_new_folder_are_seen(root: Path):
    (root / "daily" / LOG).unlink()
    (root / "daily").rmdir()
    assert seen(root) == {"MEMORY.md": 6}
    (root / "daily").mkdir()
    (root / "daily" / LOG).write_text("- Back\n")
    assert seen(root) == {"MEMORY.md": 6, f"daily/{LOG}": 7}
    (root / "MEMORY.md").unlink()
    assert seen(root) == {f"daily/{LOG}": 7}


def test_a_folder_that_is_another_by_now_is_looked_at(root: Path):
    seen(root)
    (root / "daily").rename(root / "old")
    (root / "daily").mkdir()
    assert seen(root) == {"MEMORY.md": 6}
    (root / "daily" / LOG).write_text("- New\n")
    assert seen(root) == {"MEMORY.md": 6, f"daily/{LOG}": 6}


def test_nothing_touched_means_no_second_look(root: Path, monkeypatch: pytest.MonkeyPatch):
    first = present(root, root / "daily")
    monkeypatch.setattr(files, "look", lambda *_: pytest.fail("the files were looked at again"))
    assert present(root, root / "daily") is first


def test_one_touched_file_is_seen_without_a_look_at_all_others(root: Path, monkeypatch: pytest.MonkeyPatch):
    seen(root)
    monkeypatch.setattr(files, "TRUST", 1e9)
    with monkeypatch.context() as patched:
        patched.setattr(files, "look", lambda *_: pytest.fail("all files were looked at"))
        (root / "daily" / LOG).write_text("- Rain\n")
        (root / "MEMORY.md").write_text("- Coffee\n")
        (root / "daily" / "notes.txt").write_text("no log")
        assert seen(root) == {"MEMORY.md": 9, f"daily/{LOG}": 7}
        (root / "daily" / LOG).unlink()
        assert seen(root) == {"MEMORY.md": 9}
    # A link, or more names than are remembered, need a look at everything.
    (root / "daily" / LOG).symlink_to(root / "MEMORY.md")
    assert seen(root) == {"MEMORY.md": 9, f"daily/{LOG}": 9}
    (root / "daily" / LOG).unlink()
    for number in range(3 * watching.MOST_NAMES):
        (root / "daily" / f"{number}.txt").touch()
    (root / "daily" / LOG).write_text("- Back\n")
    assert seen(root) == {"MEMORY.md": 9, f"daily/{LOG}": 7}


def test_what_a_link_leads_to_is_looked_at_every_time(root: Path):
    elsewhere = root / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "notes.md").write_text("- Far\n")
    (root / "daily" / "2026-01-06.md").symlink_to(elsewhere / "notes.md")
    seen(root)
    (elsewhere / "notes.md").write_text("- Far away\n")
    assert seen(root)["daily/2026-01-06.md"] == 11


def test_after_a_while_it_looks_though_nothing_was_heard(root: Path, monkeypatch: pytest.MonkeyPatch):
    first = present(root, root / "daily")
    monkeypatch.setattr(files, "TRUST", 0)
    assert present(root, root / "daily") is not first


def test_without_inotify_every_look_is_a_real_one(root: Path, monkeypatch: pytest.MonkeyPatch):
    deaf = Watcher()
    monkeypatch.setattr(deaf, "_libc", None)
    monkeypatch.setattr(watching, "_watcher", deaf)
    first = present(root, root / "daily")
    again = present(root, root / "daily")
    assert again == first
    assert again is not first


FORKED = """
from memory.index.sources.files import present

root = Path(sys.argv[2])

def size():
    return next(size for name, _, size, _ in present(root, root / "daily") if name == "MEMORY.md")

def child():
    assert size() == 6
    (root / "MEMORY.md").write_text("- Coffee\\n")
    assert size() == 9

assert size() == 6
joined([fork(child)])
assert size() == 9
"""


def test_a_forked_process_hears_for_itself_and_takes_nothing_from_its_parent(root: Path):
    run(FORKED, root, str(root))


def test_more_folders_than_it_keeps_and_a_flood_of_events_lose_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(watching, "MOST_FOLDERS", 3)
    watcher = Watcher()
    folders = [root / str(number) for number in range(8)]
    for folder in folders:
        folder.mkdir()
    first = [watcher.last_touch(folder) for folder in folders]
    assert None not in first
    (folders[0] / "a").touch()
    (folders[7] / "a").touch()
    assert watcher.last_touch(folders[0]) != first[0]
    known = watcher.last_touch(folders[0])
    watcher._note(-1, watching.OVERFLOW, "")
    assert watcher.last_touch(folders[0]) != known


def test_a_folder_that_can_not_be_read_is_not_an_empty_one(root: Path, monkeypatch: pytest.MonkeyPatch):
    seen(root)
    monkeypatch.setattr(files, "TRUST", 0)

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as broken:
        broken.setattr(os, "open", full)
        with pytest.raises(StorageError, match="Too many"):
            seen(root)
    assert len(seen(root)) == 2


def test_a_file_in_place_of_the_folder_holds_no_logs(root: Path):
    (root / "daily" / LOG).unlink()
    (root / "daily").rmdir()
    (root / "daily").write_text("not a folder")
    assert seen(root) == {"MEMORY.md": 6}
