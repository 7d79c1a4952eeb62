"""What is sent: the agent, the summary, memory last and only where it may, and history that fits."""

from collections.abc import Callable
from uuid import UUID

import pytest
from django.conf import settings

from chat import memory as port
from chat.adapters import ChatTurn
from chat.models import Agent, AiModel, Message, Run, Session
from chat.replies import history, prompt, sending
from chat.sessions import thread
from memory.manager import MemoryManager
from people.models import User
from tests.chat.conftest import said, settle
from tests.modelserver import ModelServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quiet")]
Make = Callable[..., AiModel]
SECRET = "Ada keeps seven peacocks"


@pytest.fixture
def memory(user: User) -> MemoryManager:
    manager = MemoryManager(user)
    manager.save_to_long_term_memory(SECRET, "profile")
    return manager


def ask(session: Session, text: str = "What birds do I keep?") -> Message:
    run = sending.send(session, text)
    settle()
    return Message.objects.filter(run=run, type="ai_response").earliest("id")


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("kind", ["openai", "anthropic", "gemini"])
def test_memory_goes_last_into_the_system_prompt_with_a_receipt(
    session: Session, make_provider: Make, model_server: ModelServer, kind: str
):
    make_provider(kind)
    session.agent = Agent.objects.create(owner=session.owner, name="Keeper", prompt="You keep birds.")
    session.summary = "They spoke of aviaries."
    session.save()
    reply = ask(session)
    system = model_server.asked[0].system
    assert system.index("You keep birds.") < system.index("aviaries") < system.index(SECRET)
    assert reply.receipt["long_term"]["lines"] > 0
    assert "save_memory" in model_server.asked[0].tool_names


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("kind", ["openai", "anthropic", "gemini"])
@pytest.mark.parametrize("how", ["chat", "user", "provider"])
def test_with_memory_off_nothing_of_it_is_in_any_byte_sent(
    user: User, session: Session, make_provider: Make, model_server: ModelServer, kind: str, how: str
):
    make_provider(kind, send_memory=how != "provider")
    user.memory_enabled = how != "user"
    user.save()
    session.memory_mode = "off" if how == "chat" else "normal"
    session.save()
    # An earlier reply, while memory was on, read it with a tool.
    said(session, "Read my memory", "Done.")
    call = {"session": session, "tool_name": "read_memory", "tool_call_id": "c1"}
    Message.objects.create(type="tool_call", tool_data={}, **call)
    Message.objects.create(type="tool_result", content=f"It says: {SECRET}", **call)
    reply = ask(session)
    for request in model_server.asked:
        assert "peacocks" not in request.text
        assert "MEMORY.md" not in request.text
        assert "_memory" not in request.text
    assert reply.content
    assert reply.receipt["off"]


@pytest.mark.usefixtures("memory")
def test_read_only_recalls_but_offers_nothing_that_writes(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    session.memory_mode = "read_only"
    session.save()
    ask(session)
    request = model_server.asked[0]
    assert SECRET in request.system
    assert not {"save_memory", "update_memory"} & set(request.tool_names)


def test_memory_that_fails_or_is_slow_never_blocks_the_message(
    session: Session, make_provider: Make, monkeypatch: pytest.MonkeyPatch
):
    import threading

    make_provider()
    released = threading.Event()

    def failing(*values: object) -> None:
        raise OSError("disk on fire")

    monkeypatch.setattr(port, "inject", failing)
    reply = ask(session, "Hello")
    assert reply.content
    assert "could not be read" in reply.receipt["off"]
    monkeypatch.setattr(settings, "MEMORY_SECONDS", 0.05)
    monkeypatch.setattr(port, "inject", lambda *values: released.wait(10))
    reply = ask(session, "Hello again")
    released.set()
    assert reply.content
    assert "too long" in reply.receipt["off"]


def test_the_oldest_messages_are_left_out_and_it_is_said(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider(context_window=2000, can_write_memory=False)
    said(session, *(f"Message number {n}: " + "lorem ipsum " * 40 for n in range(20)))
    reply = ask(session, "And now?")
    sent = model_server.asked[0]
    assert "Message number 0:" not in sent.text
    assert "Message number 18:" in sent.text
    assert sent.json["messages"][1]["role"] == "user"
    assert reply.receipt["left_out_messages"] >= 10


def test_a_request_that_the_provider_finds_too_long_is_halved_once(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider(context_window=4000, can_write_memory=False)
    said(session, *(f"Message number {n}: " + "lorem ipsum " * 40 for n in range(20)))
    body = {"error": {"message": "maximum context length is 100 tokens", "code": "context_length_exceeded"}}
    model_server.error(400, body)
    model_server.reply("Short enough.")
    assert ask(session, "And now?").content == "Short enough."
    first, second = model_server.asked[:2]
    assert len(second.raw) < len(first.raw)


def test_memory_is_asked_with_the_message_before(
    session: Session, make_provider: Make, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
):
    asked = list[tuple[str, str]]()

    def inject(user: User, query: str, previous: str, most: int, session_id: UUID) -> port.Injection:
        asked.append((query, previous))
        return port.Injection()

    monkeypatch.setattr(port, "inject", inject)
    make_provider()
    for words in ("Where is Oslo?", "and why?"):
        model_server.reply("There.")
        ask(session, words)
    assert asked == [("Where is Oslo?", ""), ("and why?", "Where is Oslo?")]


def test_fitting_keeps_whole_exchanges_and_always_the_newest():
    turns = tuple(ChatTurn("user" if n % 2 == 0 else "assistant", "x" * 400) for n in range(9))
    assert prompt.fitting(turns, 10_000, keep=1) == turns
    assert prompt.fitting(turns, 330, keep=1) == turns[6:]
    assert prompt.fitting(turns, 0, keep=1) == turns[8:]


def test_rows_of_a_run_stay_together_when_a_message_came_in_between(session: Session):
    run = Run(session=session)
    rows = [
        Message(id=1, type="user", content="one"),
        Message(id=2, type="ai_response", content="let me see", run=run),
        Message(id=3, type="user", content="two"),
        Message(id=4, type="tool_call", tool_name="t", tool_call_id="c", tool_data={}, run=run),
        Message(id=5, type="tool_result", tool_name="t", tool_call_id="c", content="r", run=run),
        Message(id=6, type="ai_response", content="seen", run=run),
    ]
    assert [row.id for row in thread.in_order(rows)] == [1, 2, 4, 5, 6, 3]
    turns = history.turns(thread.in_order(rows))
    assert [turn.role for turn in turns] == ["user", "assistant", "tool", "assistant", "user"]
    assert turns[1].tool_calls[0].id == turns[2].tool_results[0].call_id == "c"


def keeper(session: Session, **switches: bool) -> Agent:
    session.agent = Agent.objects.create(owner=session.owner, name="Keeper", **switches)
    session.save()
    return session.agent


@pytest.mark.usefixtures("memory")
def test_an_agent_that_reads_no_memory_is_sent_none_even_by_what_it_saves(
    session: Session, make_provider: Make, model_server: ModelServer, memory: MemoryManager
):
    make_provider()
    keeper(session, reads_memory=False)
    model_server.tool_calls(("save_memory", {"content": "Feeds them at seven"}))
    reply = ask(session, "I feed my birds at seven. What birds do I keep?")
    assert [SECRET in asked.text for asked in model_server.asked] == [False, False]
    assert {"read_memory", "search_memory", "update_memory"}.isdisjoint(model_server.asked[0].tool_names)
    assert "save_memory" in model_server.asked[0].tool_names
    assert "Feeds them at seven" in memory.read_long_term_memory()
    assert reply.receipt == {"off": "Keeper reads no memory."}
    assert not reply.off_record


@pytest.mark.usefixtures("memory")
def test_what_is_said_with_an_agent_that_writes_no_memory_stays_off_the_record(
    session: Session, make_provider: Make, model_server: ModelServer, memory: MemoryManager
):
    make_provider()
    keeper(session, writes_memory=False)
    reply = ask(session, "I keep an ostrich. What birds do I keep?")
    asked = model_server.asked[0]
    assert SECRET in asked.text
    assert "search_memory" in asked.tool_names
    assert {"save_memory", "update_memory"}.isdisjoint(asked.tool_names)
    assert set(session.messages.values_list("off_record", flat=True)) == {True}
    session.agent = None
    session.save()
    later = ask(session, "And a peahen")
    assert not later.off_record
    memory.flush_daily_log(session.id)
    assert "ostrich" not in model_server.asked[-1].text, "the summary heard what was off the record"
    assert not [hit for hit in memory.search_memory("ostrich") if "ostrich" in hit.chunk_text]
    assert reply.receipt["long_term"]["lines"] > 0


@pytest.mark.usefixtures("memory")
def test_an_agent_never_widens_what_the_chat_allows(
    session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    keeper(session)
    session.memory_mode = Session.MemoryMode.OFF
    session.save()
    ask(session)
    assert SECRET not in model_server.asked[0].text
    assert "save_memory" not in model_server.asked[0].tool_names
