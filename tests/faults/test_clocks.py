"""Clocks that jump, hours that come twice, and a database that somebody else holds: nothing is lost."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_q.models import Schedule

from chat.models import AiModel, Message
from memory.dailylog import unlogged
from memory.manager import MemoryManager
from memory.models import Revision
from memory.storage import log_entries
from oneclaw import schedules
from oneclaw.server import heartbeat
from oneclaw.sqlite import driver
from people.models import User
from tests.memory.conftest import model, say  # noqa: F401
from tests.modelserver import ModelServer, Script


@pytest.fixture
def lisbon(ada: User) -> User:
    ada.time_zone = "Europe/Lisbon"
    ada.save()
    return ada


def logged(user: User) -> dict[date, list[str]]:
    """The words of each day's log, in order."""
    files = MemoryManager(user).files
    return {
        date.fromisoformat(day): [
            entry.body for entry in log_entries.entries_of(files.read_daily_log(day) or "")
        ]
        for day in sorted(files.list_daily_log_dates())
    }


def repeating(server: ModelServer) -> None:
    """A model whose summary names every message it was shown."""

    def answer(request) -> Script:
        heard = [word for word in request.last_user.split() if word.startswith("word-")]
        return Script("## Daily Summary\n- " + " ".join(heard) + "\n\n## Long-term Facts\nNone\n")

    server.default = Script(function=answer)


# Clocks go forward on 29 March 2026 and back on 25 October, at one o'clock UTC.
@pytest.mark.parametrize(
    ("night", "midnight"),
    [
        (date(2026, 3, 28), datetime(2026, 3, 29, 0, tzinfo=UTC)),
        (date(2026, 10, 24), datetime(2026, 10, 24, 23, tzinfo=UTC)),
    ],
)
@pytest.mark.usefixtures("model")
def test_a_night_with_another_number_of_hours_is_logged_by_local_dates(
    lisbon: User, model_server: ModelServer, night: date, midnight: datetime
) -> None:
    repeating(model_server)
    chat = None
    for minutes in (-90, -1, 0, 30, 90, 150, 23 * 60 - 1):
        at = midnight + timedelta(minutes=minutes)
        chat = say(lisbon, f"word-{minutes}", session=chat, at=at, type="user")
    assert chat
    MemoryManager(lisbon).flush_daily_log(chat.id)
    days = logged(lisbon)
    assert list(days) == [night, night + timedelta(days=1)]
    assert days[night] == ["- word--90 word--1"]
    assert days[night + timedelta(days=1)] == ["- word-0 word-30 word-90 word-150 word-1379"]


@pytest.mark.usefixtures("model")
def test_messages_of_a_clock_that_was_set_back_are_logged_once_each(
    lisbon: User, model_server: ModelServer
) -> None:
    repeating(model_server)
    noon = datetime(2026, 5, 10, 12, tzinfo=UTC)
    chat = say(lisbon, "word-a", at=noon, type="user")
    say(lisbon, "word-b", session=chat, at=noon - timedelta(days=2), type="user")
    say(lisbon, "word-c", session=chat, at=noon + timedelta(days=365), type="user")
    say(lisbon, "word-d", session=chat, at=noon, type="user")
    memory = MemoryManager(lisbon)
    memory.flush_daily_log(chat.id)
    memory.flush_daily_log(chat.id)
    words = [word for bodies in logged(lisbon).values() for body in bodies for word in body.split()[1:]]
    assert sorted(words) == ["word-a", "word-b", "word-c", "word-d"]
    chat.refresh_from_db()
    assert unlogged.parts(lisbon, chat) == []


@pytest.mark.django_db
def test_what_a_wrong_clock_put_off_is_due_when_it_is_right() -> None:
    schedules.sync()
    with time_machine.travel(timezone.now() + timedelta(days=400)):
        Schedule.objects.update(next_run=timezone.now() + timedelta(minutes=60))
    schedules.sync()
    assert not Schedule.objects.filter(next_run__gt=timezone.now()).exists()
    # Sooner than the most frequent one is due again.
    soon = timezone.now() + timedelta(minutes=4)
    Schedule.objects.update(next_run=soon)
    schedules.sync()
    assert set(Schedule.objects.values_list("next_run", flat=True)) == {soon}


def test_a_beat_from_the_future_is_no_sign_of_life(data_dir: Path) -> None:
    heartbeat.beat()
    assert heartbeat.is_alive()
    ahead = time.time() + 3600
    os.utime(heartbeat.file(), (ahead, ahead))
    assert not heartbeat.is_alive()


@contextmanager
def held_by_another(seconds: float) -> Iterator[None]:
    """The database's one write lock, in the hands of another connection for so long."""
    other = driver.choose().connect(
        str(connection.settings_dict["NAME"]), isolation_level=None, check_same_thread=False
    )
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(seconds, lambda: other.execute("ROLLBACK"))
    release.start()
    try:
        yield
    finally:
        release.join(60)
        other.close()


@pytest.mark.sqlite  # has one write lock
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("model")
def test_a_database_locked_for_ten_seconds_is_waited_for(ada: User, client: Client) -> None:
    client.force_login(ada)
    client.get(reverse("memory:home"))
    with held_by_another(10):
        words = {"action": "add", "words": "The boat is called Fortuna", "section": "Notes"}
        answer = client.post(reverse("memory:entry"), words)
    assert answer.status_code in (200, 302)
    assert MemoryManager(ada).read_long_term_memory().count("Fortuna") == 1
    assert Revision.objects.filter(owner=ada, after__contains="Fortuna").count() == 1


@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
def test_one_that_stays_locked_is_said_and_nothing_is_half_done(ada: User, client: Client) -> None:
    client.force_login(ada)
    client.raise_request_exception = False
    client.get(reverse("memory:home"))
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 100")
    try:
        with held_by_another(2):
            answer = client.post(reverse("chat:start"), {"text": "Hello"}, headers={"HX-Request": "true"})
    finally:
        connection.close()
    assert answer.status_code == 503
    assert "Try again in a moment" in answer.content.decode()
    assert not Message.objects.exists()
    assert AiModel.objects.count() == 0
