"""Files of 100 MB or a million lines: their start is read, pages say so, and nothing cuts off the rest."""

import os
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from uuid import uuid4

import pytest
from django.test import Client

from memory.dailylog import commit
from memory.forgetting import entries as forgetting
from memory.index.index import Index
from memory.manager import MemoryManager
from memory.models import MemoryIndex, PendingEntry
from memory.storage import atomic
from memory.storage.atomic import MOST_BYTES, MOST_LINES, StorageError, TooLarge
from memory.storage.files import MemoryFileStorage
from memory.views import editor
from people.models import User

DAY = date(2026, 3, 1)
BACKUP = "MEMORY_backup_2026-03-01_10-00-00.md"
SIZE = 100_000_000
LINES = 100  # read of a file in these tests, so that they are quick
SENTENCE = "too large to be read"
PAGES = {
    "/memory/": True,
    f"/memory/logs/{DAY}/": True,
    "/memory/stats/": True,
    "/memory/logs/": False,
    "/memory/history/": False,
    "/memory/compaction/": False,
    "/memory/forgetting/?q=apples": False,
    "/memory/search/?q=apples": False,
}


@pytest.fixture
def files(ada: User, monkeypatch: pytest.MonkeyPatch) -> MemoryFileStorage:
    """A user whose MEMORY.md has 100 MB and whose log has a million lines."""
    monkeypatch.setattr(atomic, "MOST_LINES", LINES)
    files = MemoryFileStorage(ada)
    files.append_to_daily_log(DAY, "- A ride")
    (files.root / BACKUP).write_text("# Memory\n\n- From before\n")
    make_long(files.memory_path, "- Fact {} about apples\n")
    os.truncate(files.memory_path, SIZE)
    files.daily_path(DAY).write_text("- A ride\n\n---\n\n" * 250_000)
    return files


@pytest.fixture
def herself(ada: User) -> Client:
    client = Client(headers={"host": "localhost"})
    client.force_login(ada)
    return client


def make_long(path: Path, line: str) -> None:
    path.write_text("# Memory\n\n## Notes\n" + "".join(line.format(number) for number in range(LINES * 2)))


def sizes(files: MemoryFileStorage) -> list[tuple[int, int]]:
    paths = files.memory_path, files.daily_path(DAY), files.root / BACKUP
    return [(path.stat().st_size, path.stat().st_mtime_ns) for path in paths]


@pytest.mark.parametrize(
    ("data", "read"),
    [
        (b"- a\n" * 1_000_000, b"- a\n" * MOST_LINES),
        (b"x" * 9_000_000, b"x" * MOST_BYTES),
        (b"y" * 999 + b"\n" + b"x" * MOST_BYTES, b"y" * 999 + b"\n"),
        ("🙂".encode() * 3_000_000, "🙂".encode() * (MOST_BYTES // 4)),
        (b"-" + "🙂".encode() * 3_000_000, b"-" + "🙂".encode() * (MOST_BYTES // 4 - 1)),
        (b"-" * MOST_BYTES, b"-" * MOST_BYTES),
        (b"\n" * MOST_LINES, b"\n" * MOST_LINES),
        (b"\n" * MOST_LINES + b"x", b"\n" * MOST_LINES),
        (b"\x80" * 9_000_000, None),
        (b"", b""),
    ],
    ids=[
        "lines",
        "one line",
        "long line",
        "emoji",
        "split",
        "just",
        "just lines",
        "a line more",
        "no text",
        "0",
    ],
)
def test_the_start_is_read_in_whole_lines_and_characters(
    tmp_path: Path, data: bytes, read: bytes | None
) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_bytes(data)
    start = atomic.read_start(path)
    assert start
    assert start[1] == (read == data) == (not atomic.is_too_large(path))
    assert MOST_BYTES - 4 < len(start[0]) <= MOST_BYTES if read is None else start[0] == read
    if start[1]:
        assert atomic.read_bytes(path) == data
        atomic.write_bytes(path, b"shorter")
        assert path.read_bytes() == b"shorter"
        with pytest.raises(TooLarge):
            atomic.write_bytes(path, b"\n" * (MOST_LINES + 1))
        assert path.read_bytes() == b"shorter"
    else:
        for refused in (lambda: atomic.read_bytes(path), lambda: atomic.write_bytes(path, b"shorter")):
            with pytest.raises(TooLarge):
                refused()
        assert path.read_bytes() == data


def test_pages_are_small_and_say_that_the_rest_is_not_read(files: MemoryFileStorage, herself: Client) -> None:
    before = sizes(files)
    for address, says_so in PAGES.items():
        answer = herself.get(address)
        assert answer.status_code == 200, address
        assert (SENTENCE in answer.content.decode()) == says_so, address
        assert len(answer.content) < 1_500_000, address
    assert sizes(files) == before


def test_pages_of_files_that_are_read_whole_say_nothing(ada: User, herself: Client) -> None:
    files = MemoryFileStorage(ada)
    files.append_to_daily_log(DAY, "- A ride")
    files.write_memory_file("- An apple\n")
    for address in PAGES:
        assert SENTENCE not in herself.get(address).content.decode(), address


def test_the_index_and_the_prompt_have_the_start(files: MemoryFileStorage, ada: User) -> None:
    Index(ada).sync()
    rows = MemoryIndex.objects.filter(owner=ada)
    assert 0 < rows.filter(source_key="MEMORY.md").count() <= LINES
    assert 0 < rows.filter(source_key=f"daily/{DAY}.md").count() <= LINES
    assert len(MemoryManager(ada).get_injection_content("What about apples?")) < 20_000


def test_no_change_cuts_off_the_rest(files: MemoryFileStorage, ada: User, herself: Client) -> None:
    memory, before = MemoryManager(ada), sizes(files)
    for change in (
        lambda: memory.long_term.append("- New"),
        lambda: memory.long_term.write("# All new\n"),
        lambda: memory.restore_backup(BACKUP),
        lambda: files.create_backup(),
        lambda: files.append_to_daily_log(DAY, "- New"),
        lambda: files.rewrite_daily_log(DAY, "- New"),
        lambda: files.remove_daily_log(DAY),
        lambda: memory.remove_log_entries([DAY], lambda entry: True),
    ):
        with pytest.raises(StorageError, match="was not changed"):
            change()
    herself.post("/memory/save/", {"text": "- Mine", "base": ""})
    herself.post("/memory/entry/", {"action": "add", "words": "New", "section": "Notes"})
    herself.post(f"/memory/logs/{DAY}/remove/")
    assert sizes(files) == before


def test_a_summary_waits_until_its_log_is_shorter(files: MemoryFileStorage, ada: User) -> None:
    pending = PendingEntry.objects.create(
        owner=ada, session_id=uuid4(), day=DAY, first=1, last=2, trigger="manual", by="m", body="- A walk"
    )
    with pytest.raises(TooLarge):
        commit.write(ada, pending)
    files.daily_path(DAY).write_text("- Short again\n")
    files.memory_path.write_text("# Memory\n")
    commit.write(ada, pending)
    assert pending.body in (files.read_daily_log(DAY) or "")


def test_a_page_of_many_entries_shows_the_first_and_the_number_of_the_others(
    ada: User, herself: Client
) -> None:
    path = MemoryFileStorage(ada).memory_path
    path.parent.mkdir(parents=True)
    path.write_text("# Memory\n" + "".join(f"## S{n}\n- Fact {n}\n" for n in range(editor.MOST_SHOWN + 7)))
    page = herself.get("/memory/").content.decode()
    assert "7 more entries are in the" in page
    assert page.count('name="position"') == editor.MOST_SHOWN
    assert page.count("<option") < editor.MOST_SHOWN * (editor.MOST_SECTIONS + 2) + editor.MOST_SECTIONS + 2


def test_few_meanings_are_compared_while_somebody_waits() -> None:
    asked = list[int]()

    def embed(texts: Sequence[str]) -> list[None]:
        asked.append(len(texts))
        return [None] * len(texts)

    text = "# Memory\n" + "- An apple a day\n" * 2_000 + "- A red bicycle\n"
    found = forgetting.would_remove(text, "bicycle, which is red", embed)
    assert [entry.content for entry in found] == ["A red bicycle"]
    assert asked == [forgetting.MOST_COMPARED + 1]
