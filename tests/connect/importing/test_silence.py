"""What was said off the record there, or forgotten here, comes as a chat and never as memory."""

import pytest
from django.urls import reverse

from chat.models import Message
from connect.importing import uploads, work
from memory.dailylog import forgotten
from memory.dailylog.forgotten import Register
from memory.manager import MemoryManager
from memory.models import Forgotten
from tests.connect import exports

pytestmark = pytest.mark.django_db

SISTER = "Your sister Ottilie was expelled from school in Bruges"


def brought(user, tmp_path, bring, *turns: str, name: str = "a"):
    return bring(user, exports.chatgpt(tmp_path / f"{name}.zip", [exports.plain("c1", "One", *turns)]))


def silent() -> list[str]:
    rows = Message.objects.filter(off_record=True).exclude(silenced_at=None)
    return list(rows.order_by("id").values_list("content", flat=True))


def test_what_was_said_off_the_record_there_is_off_it_here_with_its_reply(ada, tmp_path, bring):
    asked = "Off the record, please don't remember this: the vault's word is Quagga, and Wilhelm knows it"
    import_ = brought(ada, tmp_path, bring, "Our cat is called Moss", "Nice.", asked, "Quagga it is.")
    assert silent() == [asked, "Quagga it is."]
    assert import_.added["silent"] == 2
    assert not MemoryManager(ada).search_memory("Quagga vault Wilhelm")
    assert MemoryManager(ada).search_memory("What is the cat called?")


def test_the_preview_says_what_stays_off_the_record(ada, tmp_path, bring, client):
    MemoryManager(ada).keep_forgotten([SISTER])
    asked = "Off the record, please don't remember this: the vault's word is Quagga, and Wilhelm knows it"
    sister = "My sister Ottilie was expelled from school in Bruges"
    import_ = brought(ada, tmp_path, bring, asked, "Quagga it is.", sister, "Oh.")
    assert import_.plan["silent"] == import_.added["silent"] == 3
    # A newer export counts what is new in it, and what it takes off the record that is here.
    more = (
        asked,
        "Quagga it is.",
        sister,
        "Oh.",
        "We have a cat",
        "Nice.",
        "Please don't write that down",
        "I won't.",
    )
    newer = brought(ada, tmp_path, bring, *more, name="b")
    assert newer.plan["silent"] == newer.added["silent"] == 4
    client.force_login(ada)
    newer.status = newer.Status.READY
    newer.save()
    page = client.get(reverse("settings:import", args=[newer.pk])).content.decode()
    assert "It would bring" in page
    assert "4 messages off the record" in page


def test_a_request_and_nothing_else_is_about_the_message_before_it(ada, tmp_path, bring):
    brought(
        ada,
        tmp_path,
        bring,
        *("Hello there, how is the weather?", "Fine."),
        *("Wilhelm hides the Quagga in the barn", "I see."),
        *("Please don't write that down", "I won't."),
    )
    assert silent() == [
        *("Wilhelm hides the Quagga in the barn", "I see."),
        *("Please don't write that down", "I won't."),
    ]


def test_a_newer_export_takes_what_is_here_off_the_record(ada, tmp_path, bring):
    turns = ("Wilhelm hides the Quagga in the barn", "I see.")
    brought(ada, tmp_path, bring, *turns)
    assert MemoryManager(ada).search_memory("Where is the Quagga?")
    brought(ada, tmp_path, bring, *turns, "Please don't write that down", "I won't.", name="b")
    assert len(silent()) == 4
    assert not MemoryManager(ada).search_memory("Where is the Quagga?")
    # Put back on the record here, it is not taken off once more by the same words.
    MemoryManager(ada).put_on_record(Message.objects.earliest("id").id)
    newer = (*turns, "Please don't write that down", "I won't.", "And now?", "Now what?")
    brought(ada, tmp_path, bring, *newer, name="c")
    assert len(silent()) == 2


def test_what_was_forgotten_here_does_not_come_back_with_a_chat(ada, tmp_path, bring):
    MemoryManager(ada).keep_forgotten([SISTER])
    long = "We talked about the garden and the roses for a long time. " * 20
    told = f"{long}\nMy sister Ottilie was expelled from school in Bruges.\n{long}"
    brought(ada, tmp_path, bring, "What do you know of roses?", "They need sun.", told, "I am sorry.")
    assert silent() == [told]
    assert not [hit for hit in MemoryManager(ada).search_memory("Ottilie") if "Ottilie" in hit.chunk_text]
    assert MemoryManager(ada).search_memory("What do roses need?")


def test_taking_back_the_forgetting_puts_it_on_the_record(ada, tmp_path, bring):
    manager = MemoryManager(ada)
    manager.keep_forgotten([SISTER])
    brought(ada, tmp_path, bring, "My sister Ottilie was expelled from school in Bruges", "Oh.")
    assert len(silent()) == 1
    manager.undo_forgetting(Forgotten.objects.get().pk)
    assert silent() == []
    assert manager.search_memory("Who was expelled from school?")


def test_other_facts_about_the_same_person_come(ada, tmp_path, bring):
    MemoryManager(ada).keep_forgotten([SISTER])
    brought(ada, tmp_path, bring, "Ottilie bakes a plum cake on Sundays", "Lovely.", "Thanks", "Welcome.")
    assert silent() == []


def test_nothing_is_looked_at_where_nothing_was_forgotten(ada, tmp_path, bring, monkeypatch):
    monkeypatch.setattr(Register, "names", lambda register, text: 1 / 0)
    assert brought(ada, tmp_path, bring, "Hello", "Hi").added["chats"] == 1


def test_meanings_are_compared_for_so_many_pieces_only(ada, monkeypatch):
    MemoryManager(ada).keep_forgotten([SISTER])
    compared = list[str]()
    monkeypatch.setattr(forgotten, "near", lambda kept, texts: compared.extend(texts))
    register = Register(ada, most_compared=3)
    for number in range(10):
        register.names(f"In Bruges there is a school, number {number}, for carpenters and for painters too.")
    assert len(compared) == 3
    assert register.names("The weather is fine") is None


def test_undoing_the_import_leaves_what_keeps_it_forgotten(ada, tmp_path, bring, monkeypatch):
    monkeypatch.setattr("connect.importing.uploads.async_task", lambda *args: None)
    MemoryManager(ada).keep_forgotten([SISTER])
    import_ = brought(ada, tmp_path, bring, "My sister Ottilie was expelled from school in Bruges", "Oh.")
    uploads.undo(import_)
    work.undo(import_)
    assert MemoryManager(ada).was_forgotten(SISTER)
