"""Past chats in the index: what is in, what is out, and how soon."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from chat.models import Message, Run, Session
from chat.replies import sending
from memory.index.chunks import Count
from memory.index.index import Index
from memory.index.sources import chats
from memory.manager import MemoryManager
from memory.models import MemoryIndex, Source
from memory.search.engine import HybridSearchEngine
from memory.triggers import MemoryTriggers
from people.models import User
from tests.memory.conftest import run_tasks, say

pytestmark = pytest.mark.django_db


def found(user: User, query: str = "violin lessons", **limits) -> list[str]:
    return [hit.chunk_text for hit in HybridSearchEngine(user).search(query, judged=False, **limits)]


def messages(chat: Session) -> list[Message]:
    return list(chat.messages.all())


def test_both_sides_of_a_chat_are_found_with_their_date_and_message(ada: User):
    ada.time_zone = "Asia/Tokyo"
    ada.save()
    chat = say(
        ada,
        "I began violin lessons.",
        "Lovely, how is the teacher?",
        at=datetime(2026, 2, 27, 20, tzinfo=UTC),
    )
    hits = HybridSearchEngine(ada).search("violin lessons")
    assert {hit.chunk_text for hit in hits} == {"I began violin lessons.", "Lovely, how is the teacher?"}
    first = next(hit for hit in hits if "began" in hit.chunk_text)
    assert first.source_type == Source.TRANSCRIPT
    assert first.source_date is not None
    assert first.source_date == "2026-02-28"
    assert first.source_key == f"chat:{chat.id}"
    assert first.anchor == messages(chat)[0].pk
    reply = next(hit for hit in hits if "teacher" in hit.chunk_text)
    assert reply.context == "I began violin lessons."


def test_new_messages_join_on_the_next_search(ada: User):
    chat = say(ada, "Hello there.")
    assert found(ada, "Hello there") == ["Hello there."]
    say(ada, "Violin lessons start on Monday.", session=chat, type="user")
    assert found(ada, top_k=1) == ["Violin lessons start on Monday."]


def test_only_what_user_and_assistant_said_is_indexed(ada: User):
    chat = say(ada, "Hi.")
    for kind in (Message.Type.TOOL_CALL, Message.Type.TOOL_RESULT, Message.Type.ERROR, Message.Type.SYSTEM):
        say(ada, "violin lessons", session=chat, type=kind)
    assert "violin lessons" not in found(ada)


def test_a_deleted_chat_is_silent_at_once_even_if_the_index_was_not_told(ada: User):
    chat = say(ada, "Violin lessons on Monday.")
    assert found(ada)
    Session.objects.filter(pk=chat.pk).update(deleted_at=datetime.now(UTC))
    assert found(ada) == []


def test_a_chat_with_memory_off_is_not_found(ada: User):
    chat = say(ada, "Violin lessons on Monday.", memory_mode=Session.MemoryMode.OFF)
    assert found(ada) == []
    assert not MemoryIndex.objects.exists()
    Session.objects.filter(pk=chat.pk).update(memory_mode=Session.MemoryMode.READ_ONLY)
    MemoryTriggers(ada).on_transcript_changed(chat.pk)
    assert found(ada)
    Session.objects.filter(pk=chat.pk).update(memory_mode=Session.MemoryMode.OFF)
    assert found(ada) == []


def test_removing_a_chat_takes_its_rows_out_and_undo_brings_them_back(ada: User):
    chat = say(ada, "Violin lessons on Monday.")
    assert found(ada)
    Session.objects.filter(pk=chat.pk).update(deleted_at=datetime.now(UTC))
    Index(ada).chats.remove(chat.pk)
    assert not MemoryIndex.objects.exists()
    assert found(ada) == []
    Session.objects.filter(pk=chat.pk).update(deleted_at=None)
    MemoryTriggers(ada).on_transcript_changed(chat.pk)
    run_tasks()
    assert found(ada) == ["Violin lessons on Monday."]


def test_a_version_set_aside_is_silent_and_returns_when_switched_back(ada: User):
    chat = say(ada, "Which lessons?", "Violin lessons.")
    old = messages(chat)[-1]
    assert "Violin lessons." in found(ada)
    say(ada, "Piano lessons.", session=chat, type="ai_response")
    new = messages(chat)[-1]
    Message.objects.filter(pk=old.pk).update(shelf=old)
    MemoryTriggers(ada).on_transcript_changed(chat.pk)
    assert "Violin lessons." not in found(ada)
    assert "Piano lessons." in found(ada)
    Message.objects.filter(pk=old.pk).update(shelf=None)
    Message.objects.filter(pk=new.pk).update(shelf=new)
    MemoryTriggers(ada).on_transcript_changed(chat.pk)
    assert "Violin lessons." in found(ada)
    assert "Piano lessons." not in found(ada)


def test_a_growing_reply_waits_until_it_is_finished(ada: User):
    chat = say(ada, "Tell me of the violin.")
    run = Run.objects.create(session=chat, prompt=messages(chat)[0], status=Run.Status.RUNNING)
    reply = Message.objects.create(session=chat, type="ai_response", content="The violin is", run=run)
    other = say(ada, "Violin strings are bought.")
    assert set(found(ada)) == {"Tell me of the violin.", "Violin strings are bought."}
    Message.objects.filter(pk=reply.pk).update(content="The violin is a string instrument.")
    Run.objects.filter(pk=run.pk).update(status=Run.Status.DONE)
    assert "The violin is a string instrument." in found(ada)
    assert "The violin is" not in found(ada)
    assert MemoryIndex.objects.filter(source_key=f"chat:{other.pk}").count() == 1


def test_what_came_after_a_growing_reply_is_read_once(ada: User, monkeypatch: pytest.MonkeyPatch):
    chat = say(ada, "Tell me of the violin.")
    run = Run.objects.create(session=chat, prompt=messages(chat)[0], status=Run.Status.RUNNING)
    Message.objects.create(session=chat, type="ai_response", content="The violin is", run=run)
    say(ada, "Violin strings are bought.")
    assert len(found(ada)) == 2
    read, turns = list[str](), chats.turns

    def noted(said: list[Message], count: Count) -> Iterator[chats.Turn]:
        read.extend(message.content for message in said)
        return turns(said, count)

    monkeypatch.setattr(chats, "turns", noted)
    say(ada, "Violin lessons start on Monday.")
    assert "Violin lessons start on Monday." in found(ada)
    assert read == ["Violin lessons start on Monday."]
    Index(ada).rebuild()
    assert len(read) == 4


def test_a_long_message_is_found_by_its_end(ada: User):
    long = " ".join(f"Point {n} is about the weather in city {n}." for n in range(150))
    say(ada, f"{long} And the violin is in the attic.")
    Index(ada).rebuild()
    assert "violin is in the attic" in found(ada, "violin attic")[0]


def test_another_users_chats_are_never_found(ada: User, ben: User):
    say(ben, "Violin lessons on Monday.")
    assert found(ben)
    assert found(ada) == []


def test_a_rebuild_drops_rows_of_messages_that_are_gone(ada: User):
    chat = say(ada, "Violin lessons on Monday.", "Good.")
    Index(ada).rebuild()
    assert MemoryIndex.objects.count() == 2
    chat.delete()
    Index(ada).rebuild()
    assert not MemoryIndex.objects.exists()


def test_the_chat_one_is_in_can_be_left_out(ada: User):
    here = say(ada, "Violin lessons on Monday.")
    say(ada, "Violin lessons were on Friday.")
    assert found(ada, leave_out=f"chat:{here.pk}") == ["Violin lessons were on Friday."]


def test_what_was_said_with_memory_off_is_never_found(ada: User):
    manager = MemoryManager(ada)
    chat = Session.objects.create(owner=ada, memory_mode="off")
    sending.send(chat, "My secret diagnosis is scurvy")
    chat.memory_mode = Session.MemoryMode.NORMAL
    chat.save()
    sending.send(chat, "Let us speak of oranges")
    hits = {hit.chunk_text for hit in manager.search_memory("scurvy diagnosis oranges", top_k=20)}
    assert hits == {"Let us speak of oranges"}
    ada.memory_enabled = False
    ada.save()
    sending.send(Session.objects.get(id=chat.id), "My salary is a secret too")
    ada.memory_enabled = True
    ada.save()
    manager.rebuild_index()
    hits = {hit.chunk_text for hit in manager.search_memory("secret salary oranges", top_k=20)}
    assert hits == {"Let us speak of oranges"}
    assert [message.off_record for message in chat.messages.filter(type="user")] == [True, False, True]
    assert [message.off_record for message in chat.messages.filter(type="ai_response")] == [True, False, True]


# Who said it


def speakers(user: User) -> list[tuple[str, str]]:
    Index(user).sync()
    return list(MemoryIndex.objects.filter(owner=user).order_by("id").values_list("speaker", "chunk_text"))


def test_each_piece_of_a_chat_knows_who_said_it(ada: User):
    mail = "From: Eve\nSubject: Boats\n\nI bought a red boat."
    say(ada, f"What should I reply?\n\n{mail}", "> wow\nTell her that it is lovely.")
    assert speakers(ada) == [
        ("user", "What should I reply?"),
        ("pasted", mail),
        ("assistant", "> wow\nTell her that it is lovely."),
    ]
    found = HybridSearchEngine(ada).search("red boat", judged=False)
    assert [hit.speaker for hit in found if "red boat" in hit.chunk_text] == ["pasted"]


def test_a_role_play_is_known_as_such_also_in_messages_indexed_later(ada: User):
    chat = say(ada, "Pretend you are a pirate and I am a king", "Arr, your majesty!")
    assert [who for who, _ in speakers(ada)] == ["user", "played"]
    say(
        ada,
        "I own three castles",
        "Splendid!",
        "Stop the role-play.",
        "Of course.",
        "I own a bike",
        session=chat,
    )
    assert [who for who, _ in speakers(ada)][2:] == ["played", "played", "user", "assistant", "user"]


def test_a_rebuild_names_the_speakers_of_older_rows_and_keeps_their_vectors(ada: User):
    say(ada, "I have a cat")
    speakers(ada)
    before = MemoryIndex.objects.get()
    MemoryIndex.objects.update(speaker="")
    Index(ada).rebuild()
    after = MemoryIndex.objects.get()
    assert (after.id, after.speaker, after.embedding) == (before.id, "user", before.embedding)
