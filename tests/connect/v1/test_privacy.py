"""What a chat, its agent and its provider keep from programs, and what is said off the record by one."""

from collections.abc import Callable
from typing import Any

import pytest

from chat.models import Agent, AiModel, Message, Provider, Session
from memory.manager import MemoryManager
from people.models import User
from tests.connect.v1.talking import Connect, ask, assistant, one_chat, user
from tests.modelserver import ModelServer

pytestmark = pytest.mark.django_db(transaction=True)
Held = Callable[..., Session]


@pytest.fixture
def held(ada: User) -> Held:
    """A chat on a page, with what is chosen for it."""

    def make(**chosen: Any) -> Session:
        chat = Session.objects.create(owner=ada, title="On a page", **chosen)
        for kind, text in (("user", "Hello"), ("ai_response", "Hi there")):
            Message.objects.create(session=chat, type=kind, content=text)
        return chat

    return make


def in_chat(chat: Session, **more: str) -> dict[str, Any]:
    return {"extra_body": {"oneclaw": {"chat": str(chat.pk), **more}}}


def about_the_boat(server: ModelServer) -> str:
    return next(request.text for request in server.asked if "How is my boat?" in request.text)


@pytest.mark.parametrize(("scope", "mode"), [("write", "on"), ("write", "read"), ("read", "on")])
def test_nothing_is_recalled_into_a_chat_with_memory_off(
    connect: Connect,
    model: AiModel,
    model_server: ModelServer,
    memory: MemoryManager,
    held: Held,
    scope: str,
    mode: str,
) -> None:
    chat = held(memory_mode=Session.MemoryMode.OFF)
    found = ask(connect(scope), user("How is my boat?"), **in_chat(chat, memory=mode))
    assert "Petrel" not in about_the_boat(model_server)
    assert (found.oneclaw["memory"], found.oneclaw["recalled"]) == ("off", 0)
    reply = chat.messages.filter(type="ai_response").last()
    if found.oneclaw["chat"]:
        assert reply is not None
        assert reply.receipt == {"off": "Memory is off in this chat."}


def test_all_that_is_kept_in_a_chat_with_memory_off_is_off_the_record(
    connect: Connect, model: AiModel, held: Held
) -> None:
    chat = held(memory_mode=Session.MemoryMode.OFF)
    newest = chat.messages.latest("id").id
    history = [
        user("Hello"),
        assistant("Hi there"),
        user("And?"),
        assistant("Made up"),
        user("How is my boat?"),
    ]
    ask(connect(), *history, **in_chat(chat))
    new = chat.messages.filter(id__gt=newest)
    assert new.count() == 4
    assert not new.filter(off_record=False).exists()


@pytest.mark.parametrize("scope", ["write", "read"])
def test_an_agent_that_reads_no_memory_gets_none(
    connect: Connect,
    ada: User,
    model: AiModel,
    model_server: ModelServer,
    memory: MemoryManager,
    held: Held,
    scope: str,
) -> None:
    agent = Agent.objects.create(owner=ada, name="Stranger", prompt="Be brief.", reads_memory=False)
    chat = held(agent=agent)
    found = ask(connect(scope), user("How is my boat?"), **in_chat(chat))
    assert "Petrel" not in about_the_boat(model_server)
    assert (found.oneclaw["memory"], found.oneclaw["recalled"]) == ("off", 0)


def test_what_is_said_with_an_agent_that_writes_no_memory_stays_off_the_record(
    connect: Connect, ada: User, model: AiModel, model_server: ModelServer, memory: MemoryManager, held: Held
) -> None:
    agent = Agent.objects.create(owner=ada, name="Guest", prompt="Be brief.", writes_memory=False)
    chat = held(agent=agent)
    found = ask(connect(), user("How is my boat?"), **in_chat(chat))
    assert "Petrel" in about_the_boat(model_server)
    assert found.oneclaw["memory"] == "read"
    assert chat.messages.filter(off_record=True).count() == 2


def test_a_chat_whose_memory_is_read_only_says_so(
    connect: Connect, model: AiModel, model_server: ModelServer, memory: MemoryManager, held: Held
) -> None:
    chat = held(memory_mode=Session.MemoryMode.READ_ONLY)
    found = ask(connect(), user("How is my boat?"), **in_chat(chat))
    assert "Petrel" in about_the_boat(model_server)
    assert (found.oneclaw["memory"], found.oneclaw["chat"]) == ("read", str(chat.pk))


def test_a_provider_that_gets_no_memory_is_told_as_such(
    connect: Connect, model: AiModel, model_server: ModelServer, memory: MemoryManager, held: Held
) -> None:
    Provider.objects.update(send_memory=False)
    found = ask(connect("read"), user("How is my boat?"), **in_chat(held()))
    assert "Petrel" not in about_the_boat(model_server)
    assert found.oneclaw["memory"] == "off"


@pytest.mark.parametrize(("scope", "mode"), [("write", "on"), ("write", "read"), ("read", "on")])
def test_a_chat_known_by_its_start_keeps_its_mode(
    connect: Connect,
    model: AiModel,
    model_server: ModelServer,
    memory: MemoryManager,
    scope: str,
    mode: str,
) -> None:
    ask(connect(), user("Hello"))
    Session.objects.update(memory_mode=Session.MemoryMode.OFF)
    talk = [user("Hello"), assistant("Hello from the scripted model."), user("How is my boat?")]
    found = ask(connect(scope), *talk, extra_body={"oneclaw": {"memory": mode}})
    assert "Petrel" not in about_the_boat(model_server)
    assert found.oneclaw["memory"] == "off"
    assert one_chat()


def test_a_request_for_silence_is_about_what_was_said_before(
    connect: Connect, ada: User, model: AiModel, model_server: ModelServer
) -> None:
    model_server.reply("Noted.", match="zebra")
    client, talk = connect(), [user("My locker at the zebra house has number 4711.")]
    ask(client, *talk)
    talk += [assistant("Noted."), user("Please don't write that down.")]
    ask(client, *talk)
    assert not Message.objects.filter(off_record=False).exists()
    assert not Message.objects.filter(silenced_at=None).exists()
    assert not MemoryManager(ada).search_memory("Which number has the locker at the zebra house?")


def test_a_request_for_silence_inside_a_history_that_is_new_here(connect: Connect, model: AiModel) -> None:
    ask(
        connect(),
        user("I moved to Porto."),
        assistant("Nice."),
        user("My locker has number 4711."),
        assistant("A locker, I see."),
        user("Please don't write that down."),
        assistant("As you wish."),
        user("What is new?"),
    )
    on_record = Message.objects.filter(off_record=False).order_by("id").values_list("content", flat=True)
    assert list(on_record) == ["I moved to Porto.", "Nice.", "What is new?", "Hello from the scripted model."]
