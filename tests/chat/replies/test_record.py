"""Off the record: by asking, by the message's button, by the model's tool; always with a way back."""

import pytest
from django.test import Client

from chat.models import AiModel, Message, Session
from chat.replies import sending, store
from memory.manager import MemoryManager
from memory.tools import TOOLS
from oneclaw.toolkit import ToolContext
from people.models import User
from tests.memory.conftest import say, summary
from tests.modelserver import ModelServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quiet")]
HTMX = {"HX-Request": "true"}


@pytest.fixture
def page(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def exchange(ada: User, text: str, session: Session | None = None) -> tuple[Message, Message]:
    session = session or Session(owner=ada)
    run = sending.send(session, text)
    return run.prompt, Message.objects.get(run=run, type=Message.Type.AI_RESPONSE)


def test_a_message_that_asks_for_it_is_off_the_record_with_its_reply(ada: User):
    said, reply = exchange(
        ada, "Don't write this down, but I am going to leave my job and move to Oslo next year"
    )
    assert said.off_record
    assert said.silenced_at
    assert reply.off_record
    assert reply.run_id
    again = store._add(store.Claimed(reply.run_id, said.session_id, reply), type=Message.Type.AI_RESPONSE)
    assert again.off_record


def test_a_bare_request_is_about_what_was_said_before(ada: User):
    before, reply = exchange(ada, "I am going to leave my job")
    exchange(ada, "Please don't write that down.", before.session)
    before.refresh_from_db()
    reply.refresh_from_db()
    assert before.off_record
    assert reply.off_record


def test_other_messages_stay_on_the_record(ada: User):
    said, reply = exchange(ada, "I don't remember that")
    assert (said.off_record, reply.off_record) == (False, False)


def test_the_button_takes_an_exchange_off_and_puts_it_back(page: Client, ada: User):
    said, reply = exchange(ada, "I am going to leave my job")
    address = f"/chat/{said.session_id}/messages/{said.id}/record/"
    answer = page.post(address, headers=HTMX).content.decode()
    assert answer.count("Off the record") == 2
    assert "Put back" in answer
    reply.refresh_from_db()
    assert reply.off_record
    shown = page.get(f"/chat/{said.session_id}/").content.decode()
    assert "Off the record" in shown
    assert "Keep off the record" in page.post(address, {"on": "1"}, headers=HTMX).content.decode()
    said.refresh_from_db()
    assert (said.off_record, said.silenced_at) == (False, None)
    assert page.post(address)["Location"] == f"/chat/{said.session_id}/"


def test_anothers_message_is_not_there(page: Client, ben: User):
    said, _ = exchange(ben, "Mine")
    assert page.post(f"/chat/{said.session_id}/messages/{said.id}/record/").status_code == 404
    assert MemoryManager(User.objects.get(username="ada")).take_off_record(said.id) == []


def test_what_was_said_with_memory_off_has_a_mark_and_no_way_back(page: Client, ada: User):
    said, _ = exchange(ada, "In private", Session(owner=ada, memory_mode=Session.MemoryMode.OFF))
    page.post(f"/chat/{said.session_id}/messages/{said.id}/record/", {"on": "1"})
    said.refresh_from_db()
    assert said.off_record
    assert "Put back" not in page.get(f"/chat/{said.session_id}/").content.decode()


def test_what_was_logged_already_is_offered_for_removal(
    page: Client, ada: User, make_provider, model_server: ModelServer
):
    make_provider()
    chat = say(ada, "I am going to leave my job", "Brave.")
    model_server.reply(summary("Is going to leave the job", "- [profile] Will leave the job"))
    memory = MemoryManager(ada)
    memory.flush_daily_log(chat.id)
    first = chat.messages.earliest("id")
    page.post(f"/chat/{chat.id}/messages/{first.id}/record/", headers=HTMX)
    note = chat.messages.get(type=Message.Type.SYSTEM)
    assert note.tool_data
    listed = note.tool_data["forget"]
    assert [(each["kind"], each["sure"]) for each in listed] == [("entry", False), ("log", False)]
    page.post(f"/chat/notes/{note.id}/forget/", {"ref": [each["ref"] for each in listed]})
    assert "job" not in memory.read_long_term_memory() + memory.read_log(ada.today())


def test_the_tool_says_only_what_is_so(ada: User, make_provider, model_server: ModelServer):
    said, reply = exchange(ada, "Between you and me: I sing in the shower")
    (tool,) = (tool for tool in TOOLS if tool.name == "keep_off_record")
    result = tool.run(ToolContext(ada, said.session_id, said.id), {})
    assert result.ok
    reply.refresh_from_db()
    assert reply.off_record
    assert tool.run(ToolContext(ada, said.session_id), {}).code == "validation_error"


def test_nothing_of_it_reaches_a_summary(ada: User, make_provider, model_server: ModelServer):
    model: AiModel = make_provider()
    assert model.may_write_memory
    chat = say(ada, "I like tea", "Good.", "This is off the record: I quit", "Oh.")
    secret = chat.messages.filter(content__contains="quit").get()
    MemoryManager(ada).take_off_record(secret.id)
    chat.messages.filter(content="Oh.").update(off_record=True)
    model_server.reply(summary("Likes tea"))
    MemoryManager(ada).flush_daily_log(chat.id)
    assert "quit" not in "".join(asked.text for asked in model_server.requests)
