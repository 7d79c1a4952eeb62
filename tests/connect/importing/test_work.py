"""The work itself: stopped, killed, gone on with, undone."""

import os
import subprocess
import sys
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from chat.models import Message, Run, Session
from chat.sessions import search
from connect import tasks
from connect.importing import chats, uploads, work
from connect.importing.commands import from_disk
from connect.models import Import, Imported
from memory.jobs import claims
from memory.manager import MemoryManager
from memory.models import MemoryIndex
from oneclaw.schedules import SCHEDULES
from people.models import User
from tests.connect import exports

pytestmark = pytest.mark.django_db
Status = Import.Status


@pytest.fixture(autouse=True)
def queue(monkeypatch) -> list[tuple[str, ...]]:
    sent: list[tuple[str, ...]] = []
    monkeypatch.setattr("connect.importing.uploads.async_task", lambda *args: sent.append(args))
    monkeypatch.setattr("connect.tasks.async_task", lambda *args: sent.append(args))
    monkeypatch.setattr("memory.index.backfill.async_task", lambda *args: None)
    return sent


class Killed(BaseException):
    pass


def many(count: int) -> list[dict[str, Any]]:
    return [
        exports.plain(f"c{number}", f"Chat {number}", f"Question {number}", "Yes") for number in range(count)
    ]


def uploaded(user: User, tmp_path, count: int = 60) -> Import:
    path = exports.chatgpt(tmp_path / "a.zip", many(count))
    import_ = uploads.begin(user, "export.zip", path.stat().st_size)
    with path.open("rb") as file:
        uploads.add(import_, 0, file)
    tasks.look(str(import_.pk))
    import_.refresh_from_db()
    return import_


def test_an_upload_is_looked_at_then_taken_in(ada, tmp_path, queue):
    import_ = uploaded(ada, tmp_path)
    assert (import_.status, import_.label, import_.plan["chats"]) == (Status.READY, "ChatGPT", 60)
    assert not Session.objects.exists()
    assert uploads.start(import_)
    assert queue[-1] == ("connect.tasks.take_in", str(import_.pk))
    tasks.take_in(str(import_.pk))
    import_.refresh_from_db()
    assert (import_.status, import_.added["chats"], import_.percent) == (Status.DONE, 60, 100)
    assert not import_.path.exists()


def test_a_slice_that_is_over_queues_the_next(ada, tmp_path, queue, monkeypatch):
    import_ = uploaded(ada, tmp_path)
    uploads.start(import_)
    monkeypatch.setattr(work, "SLICE", 0.0)
    assert work.take_in(import_, seconds=0.0) is False
    assert Session.objects.count() == work.BATCH
    rounds = 1
    while not work.take_in(import_, seconds=0.0):
        rounds += 1
    assert rounds > 1
    assert Session.objects.count() == 60
    assert import_.added["chats"] == 60


def test_stop_leaves_whole_chats_and_start_goes_on(ada, tmp_path):
    import_ = uploaded(ada, tmp_path)
    uploads.start(import_)
    uploads.stop(import_)
    work.take_in(import_)
    assert import_.status == Status.STOPPED
    assert 0 < Session.objects.count() < 60
    assert uploads.start(import_)
    work.take_in(import_)
    assert (import_.status, Session.objects.count(), import_.added["chats"]) == (Status.DONE, 60, 60)


@pytest.mark.parametrize("place", ["_place", "search"])
def test_killed_in_the_middle_it_goes_on_without_doubles(ada, tmp_path, monkeypatch, place):
    import_ = uploaded(ada, tmp_path)
    uploads.start(import_)
    calls = 0

    def dies(*args, **named):
        nonlocal calls
        calls += 1
        if calls == 33:
            raise Killed
        return real(*args, **named)

    real = chats._place if place == "_place" else search.add
    monkeypatch.setattr(
        chats if place == "_place" else search, "_place" if place == "_place" else "add", dies
    )
    with pytest.raises(Killed):
        work.take_in(import_)
    assert Session.objects.count() == 32
    assert Message.objects.count() == 64
    tasks.resume()
    work.take_in(import_)
    assert (Session.objects.count(), Message.objects.count(), Run.objects.count()) == (60, 120, 60)
    assert Imported.objects.count() == 60


def test_a_worker_that_starts_again_goes_on(ada, tmp_path, queue):
    import_ = uploaded(ada, tmp_path)
    uploads.start(import_)
    queue.clear()
    assert tasks.resume() == 1
    assert queue == [("connect.tasks.take_in", str(import_.pk))]


def killed_command(user: User, tmp_path, monkeypatch) -> Import:
    """An import from the command line whose process was killed half-way, while the server goes on."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(timeout=60)

    def dies(done: int, total: int) -> None:
        if Session.objects.exists():
            raise Killed

    with monkeypatch.context() as patched:
        # Nothing is given back when a process is killed.
        patched.setattr(claims.Held, "drop", lambda held: None)
        patched.setattr("memory.jobs.claims.os.getpid", lambda: gone.pid)
        with pytest.raises(Killed):
            from_disk(user, exports.chatgpt(tmp_path / "a.zip", many(60)), progress=dies)
    Import.objects.update(moved_at=timezone.now() - tasks.QUIET)
    return Import.objects.get()


def test_an_import_whose_command_was_killed_is_ended_by_the_clock(ada, tmp_path, monkeypatch, queue):
    import_ = killed_command(ada, tmp_path, monkeypatch)
    assert (import_.status, Session.objects.count()) == (Status.RUNNING, work.BATCH)
    assert ("connect.tasks.go_on", 5) in [(each.func, each.minutes) for each in SCHEDULES]
    assert tasks.go_on() == 1
    assert queue == [("connect.tasks.take_in", str(import_.pk))]
    # It waits in the queue: once is enough.
    assert tasks.go_on() == 0
    tasks.take_in(str(import_.pk))
    import_.refresh_from_db()
    assert import_.status == Status.STOPPED
    assert "Import it again" in import_.error
    # So it can be undone, or its archive be brought again.
    assert from_disk(ada, tmp_path / "a.zip").added["chats"] == 60 - work.BATCH
    assert uploads.undo(import_)
    assert work.undo(import_)
    assert Session.objects.count() == 60 - work.BATCH


def test_stop_ends_an_import_whose_command_was_killed(ada, tmp_path, monkeypatch, queue):
    import_ = killed_command(ada, tmp_path, monkeypatch)
    uploads.stop(import_)
    assert queue == [("connect.tasks.take_in", str(import_.pk))]
    tasks.take_in(str(import_.pk))
    import_.refresh_from_db()
    assert import_.status == Status.STOPPED


def test_an_import_that_goes_on_is_left_alone_by_the_clock(ada, tmp_path, queue):
    import_ = uploaded(ada, tmp_path)
    uploads.start(import_)
    queue.clear()
    with work.holding(import_):
        Import.objects.update(moved_at=timezone.now() - tasks.QUIET)
        assert tasks.go_on() == 0
        uploads.stop(import_)
    assert queue == []
    # What stood still for long is lost, whoever was to do it.
    Import.objects.update(moved_at=timezone.now() - claims.STALE)
    assert tasks.go_on() == 1
    assert queue == [("connect.tasks.take_in", str(import_.pk))]


def test_undo_takes_everything_back_but_chats_gone_on_with(ada, tmp_path, queue):
    own = Session.objects.create(owner=ada, title="Mine")
    Message.objects.create(session=own, type="user", content="My own words about zeppelins")
    import_ = uploaded(ada, tmp_path)
    uploads.start(import_)
    work.take_in(import_)
    kept = Session.objects.get(title="Chat 7")
    Message.objects.create(session=kept, type="user", content="I go on here")
    assert uploads.undo(import_)
    assert queue[-1] == ("connect.tasks.undo", str(import_.pk))
    tasks.undo(str(import_.pk))
    import_.refresh_from_db()
    assert import_.status == Status.UNDONE
    assert import_.kept == ["1 chat you went on with stay."]
    assert set(Session.objects.values_list("title", flat=True)) == {"Mine", "Chat 7"}
    assert Message.objects.count() == 4
    # The chat that stays is known still; nothing else is.
    assert Imported.objects.get().by is None
    search.prune()
    assert MemoryManager(ada).search_memory("zeppelins")
    left = set(MemoryIndex.objects.values_list("source_key", flat=True))
    assert left == {f"chat:{own.id}", f"chat:{kept.id}"}


def test_what_was_undone_can_be_imported_again(ada, tmp_path):
    import_ = uploaded(ada, tmp_path)
    uploads.start(import_)
    work.take_in(import_)
    uploads.undo(import_)
    work.undo(import_)
    again = uploaded(ada, tmp_path)
    assert again.plan["chats"] == 60


def test_pieces_come_in_order_and_within_what_was_announced(ada, tmp_path):
    import_ = uploads.begin(ada, "x.zip", 10)
    from io import BytesIO

    uploads.add(import_, 0, BytesIO(b"12345"))
    with pytest.raises(uploads.UploadRefused, match="goes on at 5"):
        uploads.add(import_, 0, BytesIO(b"12345"))
    with pytest.raises(uploads.UploadRefused, match="larger than was announced"):
        uploads.add(import_, 5, BytesIO(b"1234567"))
    uploads.add(import_, 5, BytesIO(b"67890"))
    assert import_.status == Status.CHECKING
    assert import_.path.read_bytes() == b"1234567890"
    assert import_.path.stat().st_mode & 0o777 == 0o600


def test_a_file_over_the_limit_or_the_disk_is_refused(ada, settings, monkeypatch):
    settings.IMPORT_MB = 1
    with pytest.raises(uploads.UploadRefused, match="larger than 1 MB"):
        uploads.begin(ada, "x", 2**20 + 1)
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 2**20}))
    with pytest.raises(uploads.UploadRefused, match="too little room"):
        uploads.begin(ada, "x", 1000)
    assert not Import.objects.exists()


def test_a_full_disk_stops_the_import_and_it_can_go_on(ada, tmp_path, monkeypatch):
    import_ = uploaded(ada, tmp_path)
    uploads.start(import_)
    with monkeypatch.context() as patch:
        patch.setattr(work, "check_room", _full)
        work.take_in(import_)
    assert (import_.status, import_.error) == (Status.FAILED, "Full.")
    assert uploads.start(import_)
    work.take_in(import_)
    assert Session.objects.count() == 60


def _full(needed: int = 0) -> None:
    raise work.NoRoom("Full.")


def test_a_foreign_file_fails_with_a_reason_and_is_not_kept(ada, tmp_path):
    from io import BytesIO

    import_ = uploads.begin(ada, "x.zip", 4)
    uploads.add(import_, 0, BytesIO(b"\x89PNG"))
    tasks.look(str(import_.pk))
    import_.refresh_from_db()
    assert import_.status == Status.FAILED
    assert "This ZIP is damaged" in import_.error
    assert not import_.path.exists()


def test_files_that_nobody_knows_are_swept_after_a_day(ada, tmp_path, settings):
    kept = uploaded(ada, tmp_path)
    lost = [kept.path.with_name(f"{uuid4()}.part"), kept.path.parent.parent / "exports" / f"{uuid4()}.zip"]
    fresh = kept.path.with_name(f"{uuid4()}.part")
    lost[1].parent.mkdir(exist_ok=True)
    for path in (*lost, fresh):
        path.write_text("of an account that is gone")
    for path in (*lost, kept.path):
        os.utime(path, (0, 0))
    assert tasks.prune() == "1 archives, 1 uploads"
    assert not any(path.exists() for path in lost)
    assert fresh.exists()
    assert kept.path.exists()
