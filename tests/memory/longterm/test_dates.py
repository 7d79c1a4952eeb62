"""When each entry was last said: by its words, through every kind of write."""

import uuid
from datetime import UTC, date, datetime, timedelta
from importlib import import_module

import pytest
import time_machine
from django.apps import apps

from memory.longterm import dates, revisions
from memory.longterm.dates import Saying
from memory.longterm.memory import LongTermMemory
from memory.manager import MemoryManager
from memory.models import LastSaid, Revision
from memory.storage import entries
from memory.storage.files import MemoryFileStorage
from people.models import User

pytestmark = pytest.mark.django_db
CHAT = uuid.uuid4()
MAY, JUNE = date(2026, 5, 3), date(2026, 6, 9)


def on(day: date) -> time_machine.travel:
    return time_machine.travel(datetime(day.year, day.month, day.day, 12, tzinfo=UTC), tick=False)


def known(user: User) -> dict[str, Saying | None]:
    text = MemoryManager(user).read_long_term_memory()
    return {each.entry.content: each.said for each in dates.dated(user, text)}


def test_a_saved_entry_knows_its_day_and_its_chat(ada: User):
    with on(MAY):
        MemoryManager(ada).save_to_long_term_memory("Likes tea", author="tool", session_id=CHAT)
    assert known(ada) == {"Likes tea": Saying(MAY, CHAT)}


def test_the_day_is_the_one_where_the_user_is(ada: User):
    ada.time_zone = "Pacific/Auckland"
    with time_machine.travel(datetime(2026, 5, 3, 20, tzinfo=UTC), tick=False):
        MemoryManager(ada).save_to_long_term_memory("Likes tea")
    assert known(ada) == {"Likes tea": Saying(date(2026, 5, 4))}


def test_an_entry_that_is_moved_or_protected_keeps_its_day(ada: User):
    manager = MemoryManager(ada)
    with on(MAY):
        manager.save_to_long_term_memory("Likes tea", "notes", session_id=CHAT)
    with on(JUNE):
        (entry,) = entries.entries_of(manager.read_long_term_memory())
        manager.change_long_term_memory(
            lambda text: entries.move(text, entry.position, entry.key, "Interests"), "Moved"
        )
        manager.update_long_term_memory("- Likes tea", "- User requested: Likes tea")
    assert known(ada) == {"User requested: Likes tea": Saying(MAY, CHAT)}


def test_an_edited_entry_was_said_on_the_day_of_the_edit(ada: User):
    manager = MemoryManager(ada)
    with on(MAY):
        manager.save_to_long_term_memory("Likes tea", session_id=CHAT)
        manager.save_to_long_term_memory("Plays chess", session_id=CHAT)
    with on(JUNE):
        manager.update_long_term_memory("Likes tea", "Likes green tea")
    assert known(ada) == {"Likes green tea": Saying(JUNE), "Plays chess": Saying(MAY, CHAT)}


def test_an_undo_brings_the_old_day_back(ada: User):
    manager = MemoryManager(ada)
    with on(MAY):
        manager.save_to_long_term_memory("Likes tea", session_id=CHAT)
    with on(JUNE):
        manager.update_long_term_memory("Likes tea", "Likes coffee")
        last = revisions.latest(ada)
        assert last
        manager.undo(last.pk)
    assert known(ada) == {"Likes tea": Saying(MAY, CHAT)}


def test_a_restored_backup_has_the_days_of_its_entries(ada: User):
    manager = MemoryManager(ada)
    with on(MAY):
        manager.save_to_long_term_memory("Likes tea", session_id=CHAT)
        backup = manager.files.create_backup()
    with on(JUNE):
        LongTermMemory(ada).write("# Long-term Memory\n\n- Something else\n")
        assert backup
        assert manager.restore_backup(backup)
    assert known(ada) == {"Likes tea": Saying(MAY, CHAT)}


def test_days_outlive_pruned_revisions(ada: User):
    with on(MAY):
        MemoryManager(ada).save_to_long_term_memory("Likes tea", session_id=CHAT)
    revisions.prune(ada, keep=1)
    Revision.objects.all().delete()
    assert known(ada) == {"Likes tea": Saying(MAY, CHAT)}


def test_a_file_found_in_the_folder_has_no_days_but_a_later_outside_edit_has(ada: User):
    files = MemoryFileStorage(ada)
    files.write_memory_file("- Likes tea\n")
    with on(MAY):
        LongTermMemory(ada).notice_outside_edit()
    assert known(ada) == {"Likes tea": None}
    files.write_memory_file("- Likes tea\n- Plays chess\n")
    with on(JUNE):
        LongTermMemory(ada).notice_outside_edit()
    assert known(ada) == {"Likes tea": None, "Plays chess": Saying(JUNE)}


def test_only_a_later_day_takes_the_place_of_a_known_one(ada: User):
    dates.note(ada, {"Likes tea": Saying(JUNE, CHAT)})
    dates.note(ada, {"likes  TEA": Saying(MAY)})
    assert LastSaid.objects.get().day == JUNE
    dates.note(ada, {"- Likes tea": Saying(JUNE + timedelta(days=1))})
    row = LastSaid.objects.get()
    assert (row.day, row.session_id) == (JUNE + timedelta(days=1), None)


def test_another_users_days_are_not_seen(ada: User, ben: User):
    dates.note(ben, {"Likes tea": Saying(MAY)})
    MemoryFileStorage(ada).write_memory_file("- Likes tea\n")
    assert known(ada) == {"Likes tea": None}
    assert dates.forget(ada, ["Likes tea"]) == 0
    assert dates.forget(ben, ["Likes tea"]) == 1


def test_days_go_out_and_come_in_with_a_file(ada: User, ben: User):
    with on(MAY):
        MemoryManager(ada).save_to_long_term_memory("Likes tea", session_id=CHAT)
    text = MemoryManager(ada).read_long_term_memory()
    rows = dates.exported(ada, text)
    assert rows == [{"entry": "Likes tea", "last_said": "2026-05-03", "chat": str(CHAT)}]
    MemoryFileStorage(ben).write_memory_file(text)
    assert dates.imported(ben, [*rows, {"entry": "x", "last_said": "soon"}, {}]) == 1
    assert known(ben) == {"Likes tea": Saying(MAY, CHAT)}


def test_days_of_entries_that_are_long_gone_are_dropped(ada: User):
    manager = MemoryManager(ada)
    with on(MAY):
        manager.save_to_long_term_memory("Likes tea")
        manager.save_to_long_term_memory("Plays chess")
    with on(JUNE):
        manager.update_long_term_memory("- Likes tea", "")
    assert LastSaid.objects.count() == 2
    with on(MAY + dates.KEPT + timedelta(days=1)):
        manager.save_to_long_term_memory("Sings")
    assert LastSaid.objects.count() == 2
    assert set(known(ada).values()) == {Saying(MAY), Saying(MAY + dates.KEPT + timedelta(days=1))}


def test_an_update_takes_the_days_from_the_history_there_is(ada: User):
    history = Revision.objects
    history.create(owner=ada, author="outside", before="", after="- a\n")
    history.create(owner=ada, author="tool", before="- a\n", after="- a\n- b\n", session_id=CHAT)
    history.create(owner=ada, author="compaction", before="- a\n- b\n", after="- c\n")
    history.update(created_at=datetime(2026, 5, 3, 9, tzinfo=UTC))
    import_module("memory.migrations.0004_last_said").from_history(apps, None)
    MemoryFileStorage(ada).write_memory_file("- a\n- b\n- c\n")
    assert known(ada) == {"a": None, "b": Saying(MAY, CHAT), "c": None}


def test_a_whole_library_pasted_at_once_was_not_said_today(ada: User):
    LongTermMemory(ada).write("".join(f"- Fact {n}\n" for n in range(dates.MOST_SAID + 1)))
    assert not LastSaid.objects.exists()
