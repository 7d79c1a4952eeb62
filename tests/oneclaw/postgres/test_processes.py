"""Several web processes over one PostgreSQL: any follows and stops any reply, and the dead are replaced."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone
from django_q.models import OrmQ
from httpx_sse import EventSource, ServerSentEvent

from chat.models import AiModel, Message, Run, Session
from chat.replies import elsewhere, sending, store, temporary
from chat.replies.running import Live
from oneclaw import wiring
from oneclaw.models import Process, TakenTask
from oneclaw.server import heartbeat, presence
from oneclaw.server.watch import Watch
from oneclaw.site import health
from people.models import User
from tests.chat import serving
from tests.chat.conftest import until as soon
from tests.modelserver import ModelServer

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("quiet"),
]
Make = Callable[..., AiModel]
# Of a machine whose processes nobody here can count.
ELSEWHERE = "000000000000.7.abcd"


def until(holds: Callable[[], object]) -> None:
    soon(holds, 90.0)


@pytest.fixture
def webs() -> Iterator[list[serving.Process]]:
    """Two web processes over the tests' database."""
    with ExitStack() as ending:
        started = [serving.Process(), serving.Process()]
        for web in started:
            ending.callback(web.kill)
            web.start()
        yield started


def say(web: serving.Process, user: User, session: Session, text: str) -> None:
    with serving.browser(web.address, user) as client:
        assert client.post(reverse("chat:send", args=[session.id]), data={"text": text}).status_code == 200


def page(web: serving.Process, user: User, session: Session) -> str:
    with serving.browser(web.address, user) as client:
        return client.get(reverse("chat:session", args=[session.id])).text


class Page:
    """A page that follows a run's stream in a thread."""

    def __init__(self, web: serving.Process, user: User, run: Run) -> None:
        self.events: list[ServerSentEvent] = []
        self._client = serving.browser(web.address, user)
        self._path = reverse("chat:stream", args=[run.session_id, run.id])
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        timeout = httpx.Timeout(30, read=120)
        with self._client, self._client.stream("GET", self._path, timeout=timeout) as response:
            for event in EventSource(response).iter_sse():
                self.events.append(event)

    @property
    def text(self) -> str:
        return " ".join(event.data for event in self.events)

    def names(self) -> list[str]:
        """What came, once the reply has ended."""
        self._thread.join(120)
        return [event.event for event in self.events]


def test_another_process_follows_a_reply_without_loss_or_repeat(
    webs: list[serving.Process],
    user: User,
    session: Session,
    make_provider: Make,
    model_server: ModelServer,
):
    make_provider()
    text = "\n\n".join(f"This is paragraph number {number}." for number in range(6))
    gate = model_server.gated(text, after=14)
    say(webs[0], user, session, "six paragraphs please")
    gate.wait_until_reached(60)
    until(lambda: Message.objects.filter(content__contains="number 1").exists())
    follower = Page(webs[1], user, Run.objects.get())
    until(lambda: "number 1" in follower.text)
    assert "number 5" not in follower.text
    gate.release()
    names = follower.names()
    assert names[-2:] == ["done", "close"]
    grown = "".join(event.data for event in follower.events if event.event in ("start", "blocks"))
    assert all(grown.count(f"number {number}.") <= 1 for number in range(6))
    done = follower.events[-2].data
    assert [done.count(f"number {number}.") for number in range(6)] == [1] * 6, done
    assert Run.objects.get().status == Run.Status.DONE


def test_stop_works_from_another_process_and_what_waits_comes_next(
    webs: list[serving.Process],
    user: User,
    session: Session,
    make_provider: Make,
    model_server: ModelServer,
):
    make_provider()
    gate = model_server.gated("one two three", after=2, match="count to three")
    say(webs[0], user, session, "count to three")
    gate.wait_until_reached(60)
    model_server.reply("Four it is.", match="then four")
    # Sent to the other process while the first answers: it waits for its turn, and only once.
    say(webs[1], user, session, "then four")
    first, second = Run.objects.order_by("created_at")
    assert (first.status, second.status) == (Run.Status.RUNNING, Run.Status.QUEUED)
    with serving.browser(webs[1].address, user) as client:
        client.post(reverse("chat:stop", args=[session.id]))
    until(lambda: Run.objects.get(id=first.id).status == Run.Status.STOPPED)
    gate.release()
    until(lambda: Run.objects.get(id=second.id).status == Run.Status.DONE)
    said = list(Message.objects.filter(type="ai_response").order_by("id").values_list("content", flat=True))
    assert said == ["one two", "Four it is."]
    assert not Message.objects.filter(type="error").exists()


def test_a_page_elsewhere_says_that_a_process_was_killed_and_offers_retry(
    webs: list[serving.Process],
    user: User,
    session: Session,
    make_provider: Make,
    model_server: ModelServer,
):
    make_provider()
    gate = model_server.gated("one two three", after=2, match="count to three")
    say(webs[0], user, session, "count to three")
    gate.wait_until_reached(60)
    until(lambda: Message.objects.filter(content="one two").exists())
    run = Run.objects.get()
    follower = Page(webs[1], user, run)
    until(lambda: "one two" in follower.text)
    # A second message waits behind it, sent to the process that is about to die.
    model_server.reply("Later is now.", match="and later")
    say(webs[0], user, session, "and later")
    webs[0].kill()
    assert follower.names()[-2:] == ["done", "close"]
    done = follower.events[-2].data
    assert "one two" in done
    assert "The server that was writing this reply stopped" in done
    reply = Message.objects.filter(run=run, type="ai_response").get()
    retry = reverse("chat:retry", args=[session.id, reply.id])
    assert retry in done
    assert retry in page(webs[1], user, session)
    until(lambda: not Run.objects.filter(status__in=Run.OPEN).exists())
    assert Message.objects.filter(content="Later is now.").count() == 1
    gate.release()
    model_server.reply("one two three four", match="count to three")
    with serving.browser(webs[1].address, user) as client:
        client.post(retry)
    until(lambda: Message.objects.filter(content="one two three four", shelf=None).exists())


def test_a_process_that_was_taken_for_dead_does_not_write_over_what_was_marked(
    webs: list[serving.Process],
    user: User,
    session: Session,
    make_provider: Make,
    model_server: ModelServer,
):
    """Stopped as a machine that lost its network is: its lease runs out, and it comes back."""
    make_provider()
    gate = model_server.gated("one two three", after=2)
    say(webs[0], user, session, "count to three")
    gate.wait_until_reached(60)
    until(lambda: Message.objects.filter(content="one two").exists())
    frozen = webs[0].process
    assert frozen is not None
    frozen.send_signal(signal.SIGSTOP)
    try:
        until(lambda: Run.objects.get().status == Run.Status.INTERRUPTED)
    finally:
        frozen.send_signal(signal.SIGCONT)
    gate.release()
    until(lambda: len(presence.call_roll().living) == 2)
    # It takes another message as if nothing had been.
    model_server.reply("Here again.")
    say(webs[0], user, session, "are you there?")
    until(lambda: Message.objects.filter(content="Here again.").exists())
    assert Run.objects.order_by("created_at").first().status == Run.Status.INTERRUPTED  # type: ignore[union-attr]
    assert Message.objects.filter(type="error").count() == 1


def known(process_id: str, *, seconds: float, kind: str = "web", steady: float = 60.0) -> None:
    """A process whose lease has so many seconds left."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO oneclaw_process (id, kind, host, started_at, steady_since, until) "
            "VALUES (%s, %s, 'x', now(), now() - make_interval(secs => %s), "
            "now() + make_interval(secs => %s))",
            [process_id, kind, steady, seconds],
        )


def test_a_worker_whose_longer_lease_outlives_an_outage_proves_nothing():
    known(ELSEWHERE, seconds=-1)
    # It last beat twenty seconds ago, as everybody did.
    known("111111111111.8.abcd", seconds=10, kind="worker")
    assert not presence.call_roll().dead
    with connection.cursor() as cursor:
        cursor.execute("UPDATE oneclaw_process SET until = now() + interval '28 s' WHERE kind = 'worker'")
    assert presence.call_roll().dead == {ELSEWHERE}


def test_leases_say_who_is_dead_and_nobody_is_right_after_the_database_was_away():
    known(ELSEWHERE, seconds=-1)
    assert not presence.call_roll().dead
    presence.renew(Process.Kind.WEB)
    assert not presence.call_roll().dead
    Process.objects.filter(id=presence.me()).delete()
    known(presence.me(), seconds=9)
    roll = presence.call_roll()
    assert roll.dead == {ELSEWHERE}
    assert roll.living == {presence.me()}
    presence.renew(Process.Kind.WEB)
    assert presence.call_roll().dead == {ELSEWHERE}
    # One that comes back begins its steady time anew.
    with connection.cursor() as cursor:
        cursor.execute("UPDATE oneclaw_process SET until = now() - interval '1 s'")
    presence.renew(Process.Kind.WEB)
    assert not presence.call_roll().dead


def test_a_process_of_this_machine_that_is_gone_is_dead_at_once():
    gone = f"{presence.machine()}.999999999.abcd"
    known(gone, seconds=9)
    assert presence.is_dead(gone)
    assert not presence.is_dead(presence.me())
    assert not presence.is_dead(ELSEWHERE)


def test_whoever_is_long_gone_is_forgotten_by_the_round_and_not_by_a_look():
    known(ELSEWHERE, seconds=-presence.FORGOTTEN - 9)
    known("111111111111.8.abcd", seconds=-9)
    # Right after the database was away nobody is dead, so nobody is forgotten before their work was tended.
    presence.forget(presence.call_roll())
    assert Process.objects.count() == 2
    known(presence.me(), seconds=9)
    health.report()
    roll = presence.call_roll()
    assert Process.objects.count() == 3
    presence.forget(roll)
    assert not Process.objects.filter(id=ELSEWHERE).exists()
    assert Process.objects.count() == 2


def test_a_process_that_came_back_after_the_roll_was_called_is_kept():
    known(ELSEWHERE, seconds=-presence.FORGOTTEN - 9)
    known(presence.me(), seconds=9)
    roll = presence.call_roll()
    assert roll.long_gone == {ELSEWHERE}
    Process.objects.filter(id=ELSEWHERE).update(until=timezone.now() + timedelta(seconds=9))
    presence.forget(roll)
    assert Process.objects.filter(id=ELSEWHERE).exists()


def test_the_rounds_of_web_and_worker_forget_the_long_gone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(presence, "BEAT", 0.05)
    known(ELSEWHERE, seconds=-presence.FORGOTTEN - 9)
    known("111111111111.8.abcd", seconds=9)
    heartbeat.beat()
    assert not Process.objects.filter(id=ELSEWHERE).exists()
    known(ELSEWHERE, seconds=-presence.FORGOTTEN - 9)
    watching = Watch()
    watching.begin()
    try:
        until(lambda: not Process.objects.filter(id=ELSEWHERE).exists())
    finally:
        watching.end()


def test_a_starting_process_leaves_anothers_replies_and_temporary_chats_alone(
    user: User,
    session: Session,
):
    Session.objects.filter(id=session.id).update(temporary=True)
    message = Message.objects.create(session=session, type="user", content="hello")
    run = Run.objects.create(session=session, prompt=message, status="running", holder=ELSEWHERE)
    Message.objects.create(session=session, type="ai_response", run=run, content="so far")
    known(ELSEWHERE, seconds=9)
    wiring.close_temporary_chats()
    assert sending.interrupt_open_runs() == 0
    assert Session.objects.filter(id=session.id).exists()
    Process.objects.all().delete()
    known(ELSEWHERE, seconds=-9)
    known(presence.me(), seconds=9)
    sending.tend(presence.call_roll())
    run.refresh_from_db()
    assert run.status == Run.Status.INTERRUPTED
    assert Message.objects.get(type="error").content == store.CUT_BY_DEATH
    wiring.close_temporary_chats()
    assert not Session.objects.filter(id=session.id).exists()


def test_the_tasks_of_a_dead_worker_are_due_again_and_those_of_the_living_are_not():
    broker = heartbeat.Broker(list_key="oneclaw")
    for payload in ("one", "two"):
        broker.enqueue(payload)
    taken = broker.dequeue()
    assert taken is not None
    [(task, _)] = taken
    assert TakenTask.objects.get().process_id == presence.me()
    TakenTask.objects.update(process_id=ELSEWHERE)
    known(ELSEWHERE, seconds=9, kind="worker")
    known(presence.me(), seconds=9)
    assert heartbeat.is_alive()
    assert heartbeat.release_tasks(presence.call_roll()) == 0
    Process.objects.filter(id=ELSEWHERE).update(until=timezone.now())
    assert heartbeat.release_tasks(presence.call_roll()) == 1
    assert not heartbeat.is_alive()
    assert OrmQ.objects.filter(lock__lte=timezone.now()).count() == 2
    again = broker.dequeue()
    assert again is not None
    assert again[0][0] == task
    broker.acknowledge(task)
    assert not TakenTask.objects.exists()


def test_a_mirror_is_drawn_anew_only_when_rows_come():
    one, two = Message(id=1, content="a"), Message(id=2, content="b")
    live = Live(Run().id, None, None)
    live.show([], one)
    shape, version = live.shape, live.version
    live.show([], Message(id=1, content="a"))
    assert (live.shape, live.version) == (shape, version)
    live.show([], Message(id=1, content="a and more"))
    assert (live.shape, live.text) == (shape, "a and more")
    live.show([one], two)
    assert (live.shape, live.text) == (shape + 1, "b")


def test_a_mirror_has_its_reader_before_anybody_looks(monkeypatch: pytest.MonkeyPatch):
    """However quick the loop is: one without readers ends, and a page would take a part for the whole."""
    counts = list[int]()

    class Quick:
        def submit(self, work: Any) -> None:
            counts.append(next(iter(elsewhere._mirrors.values())).readers)
            work.close()

        def call(self, *_: Any) -> None:
            pass

    monkeypatch.setattr("chat.replies.elsewhere.threads.loop", Quick())
    monkeypatch.setattr(elsewhere, "_mirrors", {})
    with elsewhere.followed(Run().id):
        pass
    assert counts == [1]


def test_words_of_others_that_mean_nothing_are_passed_over():
    elsewhere.heard(f"run {Run().id}")
    elsewhere.heard(f"stop {Run().id}")
    with pytest.raises(ValueError):
        elsewhere.heard("what")


def test_a_temporary_chat_that_another_process_answers_in_is_closed_when_its_reply_has_ended(
    webs: list[serving.Process],
    user: User,
    session: Session,
    make_provider: Make,
    model_server: ModelServer,
):
    make_provider()
    Session.objects.filter(id=session.id).update(temporary=True)
    gate = model_server.gated("one two three", after=2)
    say(webs[0], user, session, "count to three")
    gate.wait_until_reached(60)
    with serving.browser(webs[1].address, user) as client:
        client.post(reverse("chat:leave", args=[session.id]), data={"now": "1"})
    assert not Session.objects.filter(id=session.id).exists()
    assert not Message.objects.exists()
    gate.release()
    assert temporary.close_all() == 0
