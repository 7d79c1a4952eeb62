"""Switches that are turned while a reply is being made: they hold from the next tool call on."""

from collections.abc import Callable, Iterator

import pytest

from chat.models import Agent, AiModel, Message, Provider, Session
from chat.replies import sending
from memory.manager import MemoryManager
from people.models import User
from tests.chat.conftest import settle
from tests.modelserver import ModelServer
from tests.modelserver.script import Gate, Script

pytestmark = pytest.mark.django_db(transaction=True)
Make = Callable[..., AiModel]
SAVE = ("save_memory", {"content": "Likes very strong coffee"})
READ: tuple[str, dict[str, str]] = ("read_memory", {})

SWITCHES: dict[str, Callable[[], object]] = {
    "memory": lambda: User.objects.update(memory_enabled=False),
    "account": lambda: User.objects.update(is_active=False),
    "chat off": lambda: Session.objects.update(memory_mode=Session.MemoryMode.OFF),
    "agent reads": lambda: Agent.objects.update(reads_memory=False, writes_memory=False),
    "agent writes": lambda: Agent.objects.update(writes_memory=False),
    "chat read-only": lambda: Session.objects.update(memory_mode=Session.MemoryMode.READ_ONLY),
    "trust to write": lambda: Provider.objects.update(can_write_memory=False),
    "trust to read": lambda: Provider.objects.update(send_memory=False),
    "provider": lambda: Provider.objects.update(enabled=False),
    "deleted": lambda: Session.objects.all().delete(),
}


@pytest.fixture
def chat(ada: User) -> Iterator[Session]:
    MemoryManager(ada).save_to_long_term_memory("Lives in Porto")
    agent = Agent.objects.create(owner=ada, name="Keeper")
    yield Session.objects.create(owner=ada, title="Bridges", title_by="user", agent=agent)
    settle()


def held(server: ModelServer, *calls: tuple[str, dict[str, str]]) -> Gate:
    """A reply that is about to call tools, and waits."""
    gate = Gate()
    server.add(Script(text="Let me see", calls=calls, gate=gate, gate_after=2))
    return gate


@pytest.mark.parametrize("switch", SWITCHES)
def test_nothing_is_written_after_a_switch(
    switch: str, ada: User, chat: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    gate = held(model_server, SAVE)
    sending.send(chat, "I like strong coffee")
    gate.wait_until_reached()
    SWITCHES[switch]()
    gate.release()
    settle()
    assert "coffee" not in MemoryManager(ada).read_long_term_memory()
    if switch != "deleted":
        result = Message.objects.get(type="tool_result")
        assert result.error_code == "not_allowed"
        assert "meanwhile" in result.content


@pytest.mark.parametrize(
    "switch", ["memory", "account", "chat off", "agent reads", "trust to read", "provider"]
)
def test_nothing_is_read_or_sent_after_a_switch(
    switch: str, chat: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    gate = held(model_server, READ)
    model_server.reply("Well.")
    sending.send(chat, "Where do I live?")
    gate.wait_until_reached()
    assert "Porto" in model_server.asked[0].text
    SWITCHES[switch]()
    gate.release()
    settle()
    assert "Porto" not in model_server.asked[1].text


def test_what_is_switched_between_two_rounds_holds_in_the_second(
    ada: User, chat: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    model_server.tool_calls(SAVE)
    gate = held(model_server, ("save_memory", {"content": "Drinks tea in the evening"}))
    sending.send(chat, "I like strong coffee, and tea in the evening")
    gate.wait_until_reached()
    SWITCHES["memory"]()
    gate.release()
    settle()
    text = MemoryManager(ada).read_long_term_memory()
    assert ("coffee" in text, "tea" in text) == (True, False)


def test_a_switch_back_on_is_seen_too(
    ada: User, chat: Session, make_provider: Make, model_server: ModelServer
):
    """Only what was offered when the reply began can be called."""
    make_provider()
    SWITCHES["chat read-only"]()
    gate = held(model_server, SAVE)
    sending.send(chat, "I like strong coffee")
    gate.wait_until_reached()
    Session.objects.update(memory_mode=Session.MemoryMode.NORMAL)
    gate.release()
    settle()
    assert "coffee" not in MemoryManager(ada).read_long_term_memory()
