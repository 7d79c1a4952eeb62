"""Secrets stay in the chat they were said in: no log, no MEMORY.md, no index, no prompt has them."""

from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse

from chat.commands import commands
from chat.models import AiModel
from memory.index.index import Index
from memory.manager import MemoryManager, SecretRefused
from memory.models import IndexState, MemoryIndex
from memory.tools import TOOLS
from oneclaw.masking import MASK
from oneclaw.toolkit import ToolContext
from people.models import User
from tests.memory.conftest import say, summary
from tests.modelserver import ModelServer

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 2, 28, 12, tzinfo=UTC)
CARD = "4111 1111 1111 1111"


def everything_sent(server: ModelServer) -> str:
    return "\n".join(request.text for request in server.requests)


def test_a_summariser_is_never_told_a_secret(ada: User, model: AiModel, model_server: ModelServer):
    chat = say(ada, f"Book it with {CARD}, cvc 737. The wifi password is swordfish.", "Booked.", at=NOON)
    # Even a model that knows it from elsewhere can't get it into the files.
    model_server.reply(summary(f"Booked with {CARD}", f"- [notes] Card {CARD} is used for trips"))
    memory = MemoryManager(ada)
    assert memory.flush_daily_log(chat.id).ok
    sent = everything_sent(model_server)
    assert MASK in sent
    assert not [word for word in (CARD, "737", "swordfish") if word in sent]
    assert f"Booked with {MASK}" in memory.read_log("2026-02-28")
    assert CARD not in memory.read_long_term_memory() + memory.read_log("2026-02-28")


def test_the_index_and_recall_have_no_secrets(ada: User):
    say(ada, f"My card for the train to Lisbon is {CARD}", "Noted: the password is hunter2", at=NOON)
    memory = MemoryManager(ada)
    memory.files.write_memory_file("# Long-term Memory\n\n## Notes\n- The bank's password is hunter2\n")
    memory.files.append_to_daily_log("2026-02-27", f"- Paid the train with {CARD}")
    memory.refresh_index()
    rows = MemoryIndex.objects.filter(owner=ada)
    stored = "\n".join(f"{row.chunk_text} {row.context} {row.terms}" for row in rows)
    assert stored.count(MASK) >= 4
    assert not [word for word in ("4111", "hunter2") if word in stored]
    said = memory.inject("Which card and password did I use for the train to Lisbon?").text
    assert MASK in said
    assert not [word for word in ("4111", "hunter2") if word in said]


def test_a_line_of_a_file_with_a_key_is_still_where_the_index_says(ada: User):
    key = (
        "-----BEGIN PRIVATE KEY-----\n"
        + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 5
        + "-----END PRIVATE KEY-----"
    )
    memory = MemoryManager(ada)
    memory.files.write_memory_file(f"# Long-term Memory\n\n{key}\n\n- Keeps bees in the garden\n")
    memory.refresh_index()
    row = MemoryIndex.objects.get(owner=ada, chunk_text__contains="bees")
    line = memory.read_long_term_memory().split("\n").index("- Keeps bees in the garden")
    plain = "# Long-term Memory\n\n" + "x\n" * (line - 3) + "\n- Keeps bees in the garden\n"
    memory.files.write_memory_file(plain)
    memory.refresh_index()
    assert row.anchor == MemoryIndex.objects.get(owner=ada, chunk_text__contains="bees").anchor


def test_what_was_indexed_before_is_masked_when_the_chats_are_read_again(ada: User):
    say(ada, f"My card is {CARD}", at=NOON)
    Index(ada).sync()
    MemoryIndex.objects.filter(owner=ada).update(chunk_text=f"My card is {CARD}", text_hash="old")
    IndexState.objects.update(last_message=0)
    Index(ada).sync()
    assert MemoryIndex.objects.get(owner=ada).chunk_text == f"My card is {MASK}"


def test_tools_and_commands_refuse_a_secret_with_a_sentence(ada: User):
    context = ToolContext(ada)
    save, update, read = TOOLS[0], TOOLS[1], TOOLS[2]
    result = save.run(context, {"content": f"Pays with {CARD}"})
    assert result.code == "secret_refused"
    assert "a card number" in result.content
    save.run(context, {"content": "Pays by card"})
    result = update.run(context, {"old_text": "Pays by card", "new_text": f"Pays with {CARD}"})
    assert result.code == "secret_refused"
    said = commands.run(
        commands.Place(ada), commands.Typed(commands.BY_NAME["remember"], "my PIN is 4711", "")
    )
    assert said.data["failed"]
    assert "a password" in said.text
    with pytest.raises(SecretRefused):
        MemoryManager(ada).save_to_long_term_memory("my password is hunter2")
    assert "4711" not in read.run(context, {}).content


def test_a_file_edited_by_hand_stays_and_is_masked_for_models(
    ada: User, model: AiModel, model_server: ModelServer
):
    memory, text = (
        MemoryManager(ada),
        "# Long-term Memory\n\n## Notes\n- The wifi password is swordfish\n- Likes tea\n",
    )
    memory.save_edit("", text)
    assert memory.read_long_term_memory() == text
    assert f"password is {MASK}" in memory.inject("tea").text
    assert f"password is {MASK}" in TOOLS[2].run(ToolContext(ada), {}).content
    say(ada, "hello")
    model_server.reply("# Long-term Memory\n\n## Notes\n- Likes tea; the wifi password is [secret 1]\n")
    assert memory.force_compact_memory()
    assert "swordfish" not in everything_sent(model_server)
    assert "- Likes tea; the wifi password is swordfish\n" in memory.read_long_term_memory()


def test_a_compaction_that_drops_a_secret_is_refused(ada: User, model: AiModel, model_server: ModelServer):
    text = "# Long-term Memory\n\n## Notes\n- The wifi password is swordfish\n- Likes tea with milk\n"
    memory = MemoryManager(ada)
    memory.save_edit("", text)
    model_server.reply(text.replace("swordfish", "known"))
    assert not memory.force_compact_memory()
    assert memory.read_long_term_memory() == text


def test_a_log_shows_a_mask_that_leads_to_the_chat(ada: User, model: AiModel, model_server: ModelServer):
    chat = say(ada, f"Book it with {CARD}", "Booked.", at=NOON)
    model_server.reply(summary(f"Booked with {MASK}"))
    MemoryManager(ada).flush_daily_log(chat.id)
    client = Client()
    client.force_login(ada)
    page = client.get(reverse("memory:day", args=["2026-02-28"])).content.decode()
    assert f'<a href="{reverse("chat:session", args=[chat.id])}" title=' in page
    assert f"{MASK}</a>" in page
