"""MEMORY.md through LongTermMemory: what is written, and the revision each write leaves."""

import uuid

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from memory.longterm import revisions
from memory.longterm.memory import LongTermMemory, first_lines
from memory.longterm.revisions import UndoError
from memory.models import Revision
from memory.storage import edits
from memory.storage.atomic import StorageError
from memory.storage.sections import parse_sections
from people.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def memory(ada: User) -> LongTermMemory:
    return LongTermMemory(ada)


def test_a_missing_file_reads_as_nothing(memory: LongTermMemory):
    assert memory.read() == ""
    assert first_lines(memory.read()) == ""


def test_what_is_written_is_read(memory: LongTermMemory):
    memory.write("# Mine\n\nanything\n")
    assert memory.read() == "# Mine\n\nanything\n"


def test_the_first_append_makes_the_file_with_its_header(memory: LongTermMemory):
    memory.append("- Likes tea")
    memory.append("- Likes jazz")
    assert memory.read() == "# Long-term Memory\n\n- Likes tea\n- Likes jazz\n"


def test_the_first_entry_of_a_section_makes_a_structured_file(memory: LongTermMemory):
    memory.change(lambda text: edits.insert(text, "Preferences", "Likes tea"), "user", "Added")
    sections = parse_sections(memory.read())
    assert sections["Preferences"] == "- Likes tea"
    assert sections["Notes"] == ""


def test_the_injected_part_is_the_first_200_lines(memory: LongTermMemory):
    memory.write("".join(f"- line {number}\r\n" for number in range(250)))
    lines = first_lines(memory.read()).split("\n")
    assert len(lines) == 200
    assert lines[-1] == "- line 199"
    assert first_lines(memory.read(), 2) == "- line 0\n- line 1"


def test_replacing_answers_how_many_matches_there_were(memory: LongTermMemory):
    memory.write("- tea\n- coffee\n- coffee\n")
    assert memory.correct("tea", "cocoa")[0].count == 1
    assert memory.correct("milk", "x")[0].count == 0
    assert memory.correct("coffee", "x")[0].count == 2
    assert memory.read() == "- cocoa\n- coffee\n- coffee\n"
    assert Revision.objects.count() == 2


# Revisions


def test_every_write_is_a_revision_with_author_reason_and_both_texts(memory: LongTermMemory, ada: User):
    session = uuid.uuid4()
    memory.write("- a\n", author="user", reason="Edited")
    memory.append("- b", author="daily_log", reason="From a chat", session_id=session)
    second, first = revisions.history(ada)
    assert (first.author, first.before, first.after) == ("user", "", "- a\n")
    assert (second.author, second.reason, second.session_id) == ("daily_log", "From a chat", session)
    assert (second.before, second.after) == ("- a\n", "- a\n- b\n")


def test_writing_the_same_text_is_no_revision(memory: LongTermMemory):
    memory.write("- a\n")
    assert memory.write("- a\n") is None
    assert Revision.objects.count() == 1


def test_an_outside_edit_becomes_its_own_revision_before_the_next_write(memory: LongTermMemory, ada: User):
    memory.write("- a\n")
    memory.files.memory_path.write_text("- a\n- by hand\n")
    memory.append("- c")
    newest, outside, _ = revisions.history(ada)
    assert (outside.author, outside.before, outside.after) == ("outside", "- a\n", "- a\n- by hand\n")
    assert newest.after == "- a\n- by hand\n- c\n"


def test_a_file_that_was_there_first_is_noticed_once(memory: LongTermMemory, ada: User):
    memory.files.root.mkdir(parents=True)
    memory.files.memory_path.write_text("- old friend\n")
    found = memory.notice_outside_edit()
    assert found is not None
    assert (found.author, found.before, found.after) == ("outside", "", "- old friend\n")
    assert memory.notice_outside_edit() is None


def test_a_busy_folder_can_be_looked_at(memory: LongTermMemory, monkeypatch: pytest.MonkeyPatch):
    memory.write("- a\n")
    memory.files.memory_path.write_text("- b\n")

    def busy(wait: float | None = None) -> None:
        raise StorageError("Memory is busy.")

    with monkeypatch.context() as patch:
        patch.setattr(memory.files, "lock", busy)
        assert memory.notice_outside_edit() is None
    assert memory.notice_outside_edit() is not None


def test_a_deleted_file_is_noticed_and_can_be_brought_back(memory: LongTermMemory):
    memory.write("- a\n")
    memory.files.memory_path.unlink()
    gone = memory.notice_outside_edit()
    assert gone is not None
    memory.undo(gone)
    assert memory.read() == "- a\n"


def test_a_text_is_found_by_its_digest(memory: LongTermMemory, ada: User, ben: User):
    memory.write("- a\n")
    memory.write("- b\n")
    assert revisions.text_of(ada, revisions.digest("- a\n")) == "- a\n"
    assert revisions.text_of(ben, revisions.digest("- a\n")) is None


def test_history_is_kept_within_the_owners_bound(memory: LongTermMemory, ada: User, settings):
    settings.MEMORY_REVISIONS = 3
    for number in range(6):
        memory.append(f"- {number}")
    assert [revision.after.count("\n") for revision in revisions.history(ada)] == [8, 7, 6]
    assert memory.read().count("\n") == 8


def test_history_is_kept_within_a_size(memory: LongTermMemory, ada: User, monkeypatch):
    monkeypatch.setattr(revisions, "MAX_SIZE", 10_000)
    for number in range(6):
        memory.write(f"{number}" * 4_000)
    assert revisions.history(ada).count() == 1
    assert memory.read() == "5" * 4_000


# Undo


def test_an_addition_is_undone_and_later_ones_stay(memory: LongTermMemory):
    memory.append("- a")
    second = memory.append("- b")
    memory.append("- c")
    assert second is not None
    made = memory.undo(second)
    assert memory.read() == "# Long-term Memory\n\n- a\n- c\n"
    assert made is not None
    assert made.author == "undo"
    second.refresh_from_db()
    assert second.undone_by == made


def test_a_deletion_is_undone(memory: LongTermMemory):
    memory.write("- a\n- b\n- c\n")
    _, deleted = memory.correct("b", "")
    memory.correct("c", "C")
    assert deleted is not None
    memory.undo(deleted)
    assert memory.read() == "- a\n- b\n- C\n"


def test_an_undo_can_be_undone(memory: LongTermMemory):
    memory.write("- a\n")
    added = memory.append("- b")
    assert added is not None
    undone = memory.undo(added)
    assert undone is not None
    memory.undo(undone)
    assert memory.read() == "- a\n- b\n"


def test_a_change_that_was_changed_again_can_not_be_undone(memory: LongTermMemory):
    memory.write("- tea\n")
    _, change = memory.correct("tea", "coffee")
    memory.correct("coffee", "cocoa")
    assert change is not None
    with pytest.raises(UndoError, match="changed again later"):
        memory.undo(change)
    assert memory.read() == "- cocoa\n"


def test_a_change_of_which_nothing_is_left_can_not_be_undone(memory: LongTermMemory):
    memory.write("- a\n")
    added = memory.append("- b")
    assert added is not None
    memory.undo(added)
    with pytest.raises(UndoError, match="This change is no longer"):
        memory.undo(added)


def test_another_users_revision_can_not_be_undone(memory: LongTermMemory, ben: User):
    revision = memory.append("- secret")
    assert revision is not None
    with pytest.raises(UndoError):
        LongTermMemory(ben).undo(revision)
    assert LongTermMemory(ben).read() == ""


lines = st.lists(st.sampled_from(["- a", "- b", "- c", "", "## Notes"]), max_size=6)


@given(lines, lines)
@hypothesis_settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_undoing_the_last_change_gives_the_text_before(
    memory: LongTermMemory, one: list[str], two: list[str]
):
    before, after = ("".join(f"{line}\n" for line in text) for text in (one, two))
    memory.write(before)
    change = memory.write(after)
    if change is not None:
        memory.undo(change)
        assert memory.read() == before


# The editor


def test_an_edit_of_the_file_as_it_is_is_saved(memory: LongTermMemory):
    memory.write("- a\n")
    saved = memory.save_edit(base="- a\n", mine="- a\n- b\n")
    assert saved.ok
    assert memory.read() == "- a\n- b\n"


def test_an_edit_beside_another_is_merged(memory: LongTermMemory):
    memory.write("- a\n- b\n- c\n")
    memory.append("- saved meanwhile", author="tool")
    saved = memory.save_edit(base="- a\n- b\n- c\n", mine="- A\n- b\n- c\n")
    assert saved.ok
    assert memory.read() == "- A\n- b\n- c\n- saved meanwhile\n"


def test_a_browsers_line_ends_change_no_line(memory: LongTermMemory):
    memory.write("- a\n- b\n")
    saved = memory.save_edit(base="- a\r\n- b\r\n", mine="- a\r\n- B\r\n")
    assert saved.ok
    assert memory.read() == "- a\n- B\n"


def test_an_edit_that_collides_writes_nothing_and_shows_both(memory: LongTermMemory):
    memory.write("- a\n")
    memory.correct("a", "theirs")
    saved = memory.save_edit(base="- a\n", mine="- mine\n")
    assert not saved.ok
    assert saved.revision is None
    assert [(conflict.mine, conflict.theirs) for conflict in saved.merge.conflicts] == [
        ("- mine\n", "- theirs\n")
    ]
    assert memory.read() == "- theirs\n"


def test_an_edit_of_a_forgotten_version_is_never_merged_blindly(memory: LongTermMemory):
    memory.write("- a\n- theirs\n")
    saved = memory.save_edit(base=None, mine="- a\n- mine\n")
    assert not saved.ok
    assert [(conflict.mine, conflict.theirs) for conflict in saved.merge.conflicts] == [
        ("- mine\n", "- theirs\n")
    ]
    assert memory.read() == "- a\n- theirs\n"
    assert memory.save_edit(base=None, mine="- a\n- theirs\n").ok


# Restore


def test_a_restored_backup_is_a_revision(memory: LongTermMemory):
    memory.write("- old\n")
    name = memory.files.create_backup()
    memory.write("- new\n")
    assert name is not None
    revision = memory.restore(name)
    assert memory.read() == "- old\n"
    assert revision is not None
    assert (revision.author, revision.before) == ("restore", "- new\n")
    assert memory.restore("MEMORY_backup_1999-01-01_00-00-00.md") is None
