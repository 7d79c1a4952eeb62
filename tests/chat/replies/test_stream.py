"""The stream over real HTTP: live, resumed, followed twice, owner-checked, and across a killed process."""

import threading
import uuid
from collections.abc import Callable, Generator, Iterator

import httpx
import pytest
from django.urls import reverse
from httpx_sse import EventSource, ServerSentEvent

from chat.models import AiModel, Message, Run, Session
from chat.replies import running, sending, stream
from chat.replies.running import Live
from chat.sessions.thread import thinking_time
from people.models import User
from tests.chat import serving
from tests.chat.conftest import settle, until
from tests.modelserver import ModelServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quiet")]
Make = Callable[..., AiModel]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving.in_thread() as address:
        yield address


@pytest.fixture
def web(address: str, user: User) -> Iterator[httpx.Client]:
    with serving.browser(address, user) as client:
        yield client


def path(run: Run) -> str:
    return reverse("chat:stream", args=[run.session_id, run.id])


def events(client: httpx.Client, run: Run, **headers: str) -> Generator[ServerSentEvent, None, None]:
    with client.stream("GET", path(run), headers=headers) as response:
        assert response.status_code == 200
        yield from EventSource(response).iter_sse()


def test_a_reply_streams_and_ends_with_the_finished_one(
    web: httpx.Client, session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    gate = model_server.gated("# Piers\n\nThey **stand** there.\n\nFor long.", after=3)
    web.post(reverse("chat:send", args=[session.id]), data={"text": "How do bridges stand?"})
    gate.wait_until_reached()
    found = []
    for event in events(web, Run.objects.get()):
        found.append(event)
        gate.release()
    names = [event.event for event in found]
    assert names[0] in ("start", "note")
    assert names[-2:] == ["done", "close"]
    assert "<strong>stand</strong>" in found[-2].data
    assert "For long." in found[-2].data


def test_the_tab_closes_and_the_reply_is_whole_on_return(
    web: httpx.Client, session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    gate = model_server.gated("one two three four", after=2)
    web.post(reverse("chat:send", args=[session.id]), data={"text": "count"})
    gate.wait_until_reached()
    first = events(web, Run.objects.get())
    next(first)
    first.close()
    gate.release()
    settle()
    assert "one two three four" in web.get(reverse("chat:session", args=[session.id])).text


def test_two_tabs_see_the_same_and_stop_from_one_ends_both(
    web: httpx.Client,
    address: str,
    user: User,
    session: Session,
    make_provider: Make,
    model_server: ModelServer,
):
    make_provider()
    gate = model_server.gated("one two three four", after=2)
    web.post(reverse("chat:send", args=[session.id]), data={"text": "count"})
    run = Run.objects.get()
    gate.wait_until_reached()
    until(lambda: (live := running.get(run.id)) and live.text == "one two")
    with serving.browser(address, user) as second:
        tabs = [events(web, run), events(second, run)]
        starts = [next(tab) for tab in tabs]
        assert starts[0].data == starts[1].data
        assert "one two" in starts[0].data
        assert second.post(reverse("chat:stop", args=[session.id])).status_code == 204
        ends = [list(tab) for tab in tabs]
    gate.release()
    for found in ends:
        assert found[-1].event == "close"
        assert "one two" in found[-2].data
    assert Run.objects.get().status == Run.Status.STOPPED


def test_a_reconnect_gets_what_it_lacks_and_nothing_twice(
    web: httpx.Client, session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    paragraphs = [f"Paragraph number {n}.\n\n" for n in range(6)]
    gate = model_server.gated("", chunks=paragraphs, after=3)
    web.post(reverse("chat:send", args=[session.id]), data={"text": "write"})
    run = Run.objects.get()
    gate.wait_until_reached()
    until(lambda: (live := running.get(run.id)) and "number 2" in live.text)
    first = events(web, run)
    before = [next(first)]
    mark = before[0].id
    first.close()
    again = events(web, run, **{"Last-Event-ID": mark})
    next_event = next(again)
    assert next_event.event == "tail"
    gate.release()
    rest = [next_event, *again]
    assert "start" not in [event.event for event in rest]
    # The tail of the first page became a block later; every other paragraph came once.
    html = "".join(event.data for event in [*before, *rest] if event.event in ("start", "blocks"))
    assert [html.count(f"number {number}.") for number in (0, 1, 3, 4)] == [1, 1, 1, 1]
    assert rest[-2].event == "done"


def test_a_finished_run_answers_with_the_finished_reply(
    web: httpx.Client, session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    model_server.reply("All said.")
    run = sending.send(session, "speak")
    settle()
    found = list(events(web, run))
    assert [event.event for event in found] == ["done", "close"]
    assert "All said." in found[0].data


def test_anothers_stream_is_a_404_and_a_strangers_a_login(
    address: str, session: Session, other: User, make_provider: Make
):
    make_provider()
    run = sending.send(session, "speak")
    settle()
    with serving.browser(address, other) as client:
        assert client.get(path(run)).status_code == 404
    assert httpx.get(address + path(run), timeout=60).status_code == 302


def test_markup_in_a_reply_is_never_markup_in_the_stream(
    web: httpx.Client, session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    model_server.thinking("<script>think()</script>", "<script>alert(1)</script> <img src=x onerror=y>")
    run = sending.send(session, "speak")
    found = list(events(web, run))
    for event in found:
        assert "<script" not in event.data
        assert "<img" not in event.data


def test_ids_that_are_rubbish_begin_anew():
    for mark in ("", "x", "1", "a.1", "a.1.x", "a.-1.2", "a.1.2.3", "a." + "9" * 40 + ".1"):
        assert stream.Seen.read(mark).shape == -1
    assert stream.Seen.read("a.3.14").mark == "a.3.14"


def test_a_killed_web_process_leaves_the_part_and_a_retry(
    user: User, session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    gate = model_server.gated("one two three", after=2)
    server = serving.Process()
    server.start()
    try:
        with serving.browser(server.address, user) as web:
            web.post(reverse("chat:send", args=[session.id]), data={"text": "count to three"})
            gate.wait_until_reached()
            until(lambda: Message.objects.filter(content="one two").exists())
            server.kill()
            gate.release()
            server.start()
            page = web.get(reverse("chat:session", args=[session.id])).text
            assert "count to three" in page
            assert "one two" in page
            assert Run.objects.get().status == Run.Status.INTERRUPTED
            reply = Message.objects.get(type="ai_response")
            model_server.reply("one two three four")
            web.post(reverse("chat:retry", args=[session.id, reply.id]))
            until(lambda: Message.objects.filter(content="one two three four").exists())
            until(lambda: not Run.objects.filter(status__in=Run.OPEN).exists())
    finally:
        server.kill()


async def test_a_page_is_drawn_beside_the_loop_that_serves_all(monkeypatch: pytest.MonkeyPatch):
    drawn_by = []

    def news(live: Live, seen: stream.Seen) -> str:
        drawn_by.append(threading.current_thread())
        return stream.event("tail", "a")

    async def final() -> str:
        return ""

    monkeypatch.setattr(stream, "news", news)
    live = Live(uuid.uuid4(), uuid.uuid4(), Message())
    live.finish()
    told = "".join([text async for text in stream.follow(live, "", final)])
    assert told.startswith("event: tail")
    assert threading.current_thread() not in drawn_by
    assert len(drawn_by) == 1


@pytest.mark.parametrize(
    ("milliseconds", "going_on", "told"),
    [
        (None, False, "Reasoning"),
        (None, True, "Thinking"),
        (300, True, "Thinking"),
        (300, False, "Thought for less than a second"),
        (4_100, True, "Thinking for 4 s"),
        (4_100, False, "Thought for 4 s"),
        (72_000, False, "Thought for 1 min 12 s"),
    ],
)
def test_how_long_a_model_thought_in_words(milliseconds: int | None, going_on: bool, told: str):
    assert thinking_time(milliseconds, going_on=going_on) == told


def test_the_time_of_thinking_is_stored_and_ends_with_the_first_word(
    web: httpx.Client, session: Session, make_provider: Make, model_server: ModelServer
):
    make_provider(supports_thinking=True)
    gate = model_server.gated("So it is.", after=3, thinking="Let me think.")
    web.post(reverse("chat:send", args=[session.id]), data={"text": "Why?"})
    gate.wait_until_reached()
    until(lambda: (live := running.get(Run.objects.get().id)) and live.text)
    live = running.get(Run.objects.get().id)
    assert live is not None
    assert not live.is_thinking
    before = live.thinking_ms
    gate.release()
    settle()
    assert Message.objects.get(type="ai_response").thinking_ms == before
    model_server.reply("Without a thought.")
    web.post(reverse("chat:send", args=[session.id]), data={"text": "And?"})
    settle()
    assert Message.objects.filter(type="ai_response").latest("id").thinking_ms is None
