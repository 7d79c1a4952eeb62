"""Undo of chats: what an import brought goes, also messages for known chats; what was gone on with stays."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from chat.models import Message, Run, Session
from chat.sessions import thread
from connect.importing import pastlogs, uploads, work
from connect.models import Import, Imported
from memory.manager import MemoryManager
from tests.connect import exports
from tests.connect.conftest import Bring

pytestmark = pytest.mark.django_db

OLD = ("Our plumber is called Wendelin", "Noted.")
NEW = (*OLD, "The painter is called Ignatius", "Noted too.")


@pytest.fixture(autouse=True)
def no_queue(monkeypatch):
    for place in ("pastlogs", "uploads"):
        monkeypatch.setattr(f"connect.importing.{place}.async_task", lambda *args: None)


@pytest.fixture
def take_in(ada, tmp_path, bring: Bring) -> Callable[..., Import]:
    def bring_chat(name: str, *turns: str) -> Import:
        chat = exports.plain("c1", "House", *turns)
        return bring(ada, exports.chatgpt(tmp_path / f"{name}.zip", [chat]))

    return bring_chat


def undone(import_: Import) -> Import:
    assert uploads.undo(import_)
    assert work.undo(import_)
    assert import_.status == Import.Status.UNDONE
    return import_


def said() -> list[str]:
    return [row.content for row in thread.shown(Session.objects.get())]


def state() -> list[object]:
    """Everything of the chat that an undo must bring back."""
    session = Session.objects.get()
    rows = Message.objects.order_by("id").values_list("id", "content", "version_of", "shelf", "run")
    known = Imported.objects.values_list("messages", "last_message", "logged_until", "what")
    told = (session.preview, session.active_at, session.last_logged_message_id)
    return [list(rows), list(known), told, Run.objects.count()]


def test_messages_added_to_a_known_chat_are_taken_back(ada, take_in):
    take_in("a", *OLD)
    before = state()
    newer = take_in("b", *NEW)
    assert newer.added["more"] == 2
    assert MemoryManager(ada).search_memory("What is the painter called?")
    undone(newer)
    assert state() == before
    assert (newer.added["more"], newer.kept) == (2, [])
    assert not [hit for hit in MemoryManager(ada).search_memory("painter") if "Ignatius" in hit.chunk_text]
    # And they may come again.
    assert take_in("b", *NEW).added["more"] == 2
    assert said() == list(NEW)


def test_the_answer_that_was_shown_before_is_shown_again(ada, tmp_path, bring):
    chat = exports.plain("c1", "One", "Hello", "Hi")
    bring(ada, exports.chatgpt(tmp_path / "a.zip", [chat]))
    before = state()
    later = exports.SPRING + timedelta(days=1)
    chat["mapping"]["new"] = exports.node("new", "c1-0", "assistant", "Good day", later)
    chat["current_node"] = "new"
    newer = bring(ada, exports.chatgpt(tmp_path / "b.zip", [chat]))
    assert said() == ["Hello", "Good day"]
    undone(newer)
    assert said() == ["Hello", "Hi"]
    assert state() == before


def test_what_was_added_to_a_chat_gone_on_with_since_stays_and_that_is_said(ada, take_in):
    take_in("a", *OLD)
    newer = take_in("b", *NEW)
    Message.objects.create(session=Session.objects.get(), type="user", content="And the roofer?")
    assert undone(newer).kept == ["1 chat you went on with stay."]
    assert said() == [*NEW, "And the roofer?"]
    assert take_in("b", *NEW).added["more"] == 0


def test_what_a_later_import_added_keeps_the_chat_until_that_one_is_undone(ada, take_in):
    first = take_in("a", *OLD)
    second = take_in("b", *NEW)
    third = take_in("c", *NEW, "Thanks", "Welcome.")
    assert "1 chat stays as a later import added to it" in undone(second).kept[0]
    assert "1 chat stays as a later import added to it" in undone(first).kept[0]
    assert said() == [*NEW, "Thanks", "Welcome."]
    assert undone(third).kept == []
    assert not Session.objects.exists()
    assert not Imported.objects.exists()


def test_undone_in_the_order_of_their_coming_back_nothing_is_left(ada, take_in):
    imports = [take_in("a", *OLD), take_in("b", *NEW), take_in("c", *NEW, "Thanks", "Welcome.")]
    for import_, left in zip(reversed(imports), (NEW, OLD), strict=False):
        undone(import_)
        assert said() == list(left)
    undone(imports[0])
    assert not Session.objects.exists()


def test_a_chat_that_stayed_is_not_brought_twice(ada, take_in, client):
    import_ = take_in("a", *OLD)
    Message.objects.create(session=Session.objects.get(), type="user", content="And the roofer?")
    undone(import_)
    again = take_in("a", *OLD)
    assert (again.plan["known"], again.added["chats"]) == (1, 0)
    assert said() == [*OLD, "And the roofer?"]
    assert "went on with this chat" in take_in("b", *NEW).added["skipped"][0]["why"]
    # The import itself can be taken from the list, and the chat is known all the same.
    uploads.discard(import_)
    assert take_in("a", *OLD).added["chats"] == 0


def test_logs_of_what_was_added_go_and_the_others_stay(ada, take_in):
    first = take_in("a", *OLD)
    pastlogs.write(pastlogs.start(first, None))
    before = MemoryManager(ada).files.read_daily_log("2026-04-11")
    newer = take_in("b", *NEW)
    pastlogs.write(pastlogs.start(first, None))
    files = MemoryManager(ada).files
    assert "Ignatius" in (files.read_daily_log("2026-04-11") or "")
    undone(newer)
    assert "Ignatius" not in (files.read_daily_log("2026-04-11") or "")
    assert (files.read_daily_log("2026-04-11") or "").strip() == (before or "").strip()
    assert pastlogs.estimate(first).chats == 0
