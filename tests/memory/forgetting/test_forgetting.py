"""Forgetting reaches MEMORY.md, logs, chats and the index, and what was forgotten does not come back."""

from datetime import UTC, date, datetime

import pytest

from chat.models import AiModel, Message
from memory import embedding
from memory.dailylog import forgotten
from memory.longterm import dates
from memory.manager import MemoryManager, UndoError
from memory.models import Forgotten, LastSaid, MemoryIndex, PendingEntry, RemovedEntries, Revision
from people.models import User
from tests.memory.conftest import say, summary
from tests.modelserver import ModelServer

pytestmark = pytest.mark.django_db
DAY, NOON = date(2026, 2, 28), datetime(2026, 2, 28, 12, tzinfo=UTC)
SAID = "My divorce from Paul was final in May"


@pytest.fixture
def memory(ada: User, model: AiModel, model_server: ModelServer) -> MemoryManager:
    """It stands in MEMORY.md, in a log and in a chat, each time beside something else."""
    chat = say(ada, SAID, "I am sorry to hear that.", "I also bake bread.", "Good.", at=NOON)
    model_server.reply(
        summary("Told of the divorce from Paul\n- Bakes bread", "- [profile] Divorced from Paul since May")
    )
    manager = MemoryManager(ada)
    manager.flush_daily_log(chat.id)
    manager.save_to_long_term_memory("Bakes bread on Sundays")
    manager.refresh_index()
    return manager


def refs(memory: MemoryManager, words: str = "divorce Paul") -> list[str]:
    return [each.ref for each in memory.would_forget(words)]


def everywhere(memory: MemoryManager) -> str:
    rows = MemoryIndex.objects.filter(owner=memory.user).values_list("chunk_text", flat=True)
    return "\n".join([memory.read_long_term_memory(), memory.read_log(DAY), *rows])


def test_everything_that_holds_it_is_shown(memory: MemoryManager):
    found = memory.would_forget("divorce Paul")
    assert sorted(each.kind for each in found) == ["chat", "entry", "log"]
    assert [each.text for each in found if each.kind == "log"] == ["Told of the divorce from Paul"]
    assert memory.would_forget("quantum chromodynamics") == []


def test_what_is_picked_is_gone_at_once_also_from_the_index(memory: MemoryManager):
    done = memory.forget(refs(memory))
    assert (done.entries, done.items, done.messages, done.missed) == (1, 1, 1, 0)
    assert "Paul" not in everywhere(memory)
    assert memory.read_log(DAY).endswith("- Bakes bread\n\n---") or "- Bakes bread" in memory.read_log(DAY)
    assert "Bakes bread on Sundays" in memory.read_long_term_memory()
    assert not [hit for hit in memory.search_memory("divorce from Paul") if "Paul" in hit.chunk_text]
    # The chat itself still says it: its owner can read what was said.
    assert Message.objects.filter(content=SAID, off_record=True, silenced_at__isnull=False).exists()


def test_only_what_is_picked_goes(memory: MemoryManager):
    memory.forget([ref for ref in refs(memory) if ref.startswith("log")])
    assert "Paul" not in memory.read_log(DAY)
    assert "Paul" in memory.read_long_term_memory()


@pytest.mark.parametrize("other_model", [False, True])
def test_the_next_flush_does_not_bring_it_back(
    memory: MemoryManager, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, other_model: bool
):
    memory.forget(refs(memory))
    if other_model:
        monkeypatch.setattr(type(embedding.engine()), "name", property(lambda _: "another@model"))
    chat = say(memory.user, "Do you know a good lawyer?", "For the divorce?", at=NOON)
    model_server.reply(
        summary(
            "The divorce from Paul came up\n- Asked for a lawyer", "- [profile] Is divorced from Paul (May)"
        )
    )
    flush = memory.flush_daily_log(chat.id)
    assert flush.ok
    assert "asked to forget" in flush.detail
    assert "- Asked for a lawyer" in memory.read_log(DAY)
    assert "Paul" not in memory.read_log(DAY) + memory.read_long_term_memory()


def test_other_facts_are_written_as_before(memory: MemoryManager, model_server: ModelServer):
    memory.forget(refs(memory))
    chat = say(memory.user, "Paul Klee is my favourite painter, and May my favourite month", "Nice", at=NOON)
    model_server.reply(summary("Talked of painters", "- [interests] Likes the paintings of Paul Klee"))
    memory.flush_daily_log(chat.id)
    assert "Paul Klee" in memory.read_long_term_memory()


def test_it_is_kept_by_hashes_and_not_by_its_text(memory: MemoryManager, settings):
    memory.forget(refs(memory))
    (row,) = Forgotten.objects.all()
    stored = str(row.traces).casefold()
    assert not [word for word in ("paul", "divorc", "bread") if word in stored]
    text = "Divorced from Paul since May"
    assert forgotten.among(memory.user, [text]) == {text}
    before = forgotten.hashes(memory.user, text)
    settings.SECRET_KEY = "another key"
    assert not before & forgotten.hashes(memory.user, text)


def test_undo_brings_everything_back(memory: MemoryManager):
    before = memory.read_long_term_memory(), memory.read_log(DAY)
    done = memory.forget(refs(memory))
    assert done.row
    memory.undo_forgetting(done.row.pk)
    assert (memory.read_long_term_memory(), memory.read_log(DAY)) == before
    assert not Forgotten.objects.exists()
    assert memory.search_memory("divorce from Paul", sources=["transcript"])
    with pytest.raises(UndoError):
        memory.undo_forgetting(done.row.pk)


def test_asked_for_again_it_is_forgotten_no_more(memory: MemoryManager):
    memory.forget(refs(memory))
    assert memory.was_forgotten("Divorced from Paul since May")
    memory.save_to_long_term_memory("Divorced from Paul since May", user_requested=True)
    assert "Divorced from Paul since May" in memory.read_long_term_memory()


def test_a_purge_reaches_history_and_backups(memory: MemoryManager):
    name = memory.files.create_backup()
    assert name
    done = memory.forget(refs(memory))
    assert done.row
    assert memory.purge_forgotten(done.row.pk)
    past = "".join(row.before + row.after for row in Revision.objects.all())
    assert "Paul" not in past + (memory.files.read_backup(name) or "")
    assert "Bakes bread on Sundays" in past
    assert not RemovedEntries.objects.exists()
    assert not LastSaid.objects.filter(words=dates.words_of("Divorced from Paul since May")).exists()
    memory.long_term.notice_outside_edit()
    assert not Revision.objects.filter(author=Revision.Author.OUTSIDE).exists()
    assert memory.was_forgotten("Divorced from Paul since May")


def test_the_whole_history_can_be_purged(memory: MemoryManager):
    memory.files.create_backup()
    memory.save_to_long_term_memory("Sings")
    memory.update_long_term_memory("- Sings", "")
    text = memory.read_long_term_memory()
    assert LastSaid.objects.filter(words=dates.words_of("Sings")).exists()
    assert memory.purge_history() >= 2
    assert not LastSaid.objects.filter(words=dates.words_of("Sings")).exists()
    assert memory.read_long_term_memory() == text
    assert memory.files.list_backups() == []
    (left,) = Revision.objects.all()
    assert left.before == left.after == text


def test_what_memory_keeps_of_a_deleted_chat_is_found(memory: MemoryManager):
    (chat,) = memory.user.sessions.all()
    kept = memory.left_of_chats([chat.id])
    assert [each.kind for each in kept] == ["entry", "log", "log"]
    memory.forget([each.ref for each in kept])
    assert memory.left_of_chats([chat.id]) == []
    assert memory.read_log(DAY) == ""


def test_another_users_things_can_not_be_forgotten(memory: MemoryManager, ben: User):
    theirs = MemoryManager(ben)
    done = theirs.forget(refs(memory))
    assert (done.row, done.missed) == (None, 3)
    assert "Paul" in everywhere(memory)
    mine = memory.forget(refs(memory))
    assert mine.row
    with pytest.raises(UndoError):
        theirs.undo_forgetting(mine.row.pk)
    assert not theirs.purge_forgotten(mine.row.pk)


@pytest.mark.parametrize(
    "ref", ["", "entry", "entry:x:y", "chat:99999999999999999999", "log:../../x:a:b", "log:a", "x:1"]
)
def test_a_ref_that_makes_no_sense_does_nothing(memory: MemoryManager, ref: str):
    assert memory.forget([ref]).row is None


def test_a_summary_that_waits_is_made_again_without_what_was_silenced(memory: MemoryManager):
    chat = say(memory.user, "Off the record: I quit", "Oh.", at=NOON)
    first = chat.messages.earliest("id")
    PendingEntry.objects.create(
        owner=memory.user,
        session_id=chat.id,
        day=DAY,
        first=first.id,
        last=first.id + 1,
        trigger="manual",
        by="model",
    )
    # With what answers it, which has no run, as in an imported chat.
    assert memory.take_off_record(first.id) == [first.id, first.id + 1]
    assert not PendingEntry.objects.exists()
    assert memory.put_on_record(first.id) == [first.id, first.id + 1]


def test_what_was_said_with_memory_off_is_never_put_back(memory: MemoryManager):
    chat = say(memory.user, "Said in private", at=NOON)
    chat.messages.update(off_record=True)
    assert memory.put_on_record(chat.messages.get().id) == []
