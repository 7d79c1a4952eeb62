"""The worker's settings are bounded, its schedules are one list, and interrupted tasks are due again."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.core.management import call_command
from django.utils import timezone
from django.utils.module_loading import import_string
from django_q.brokers import get_broker
from django_q.conf import Conf
from django_q.models import OrmQ, Schedule
from django_q.tasks import schedule

from oneclaw import schedules
from oneclaw.management.commands.worker import release_interrupted_tasks
from oneclaw.schedules import SCHEDULES, Recurring, sync
from oneclaw.server import heartbeat


@pytest.mark.django_db
def test_nothing_is_tried_for_ever() -> None:
    assert 0 < Conf.TIMEOUT < Conf.RETRY
    assert 0 < Conf.MAX_ATTEMPTS < 10
    assert Conf.ACK_FAILURES
    assert not Conf.CATCH_UP
    assert isinstance(get_broker(), heartbeat.Broker)
    assert settings.Q_CLUSTER["workers"] == Conf.WORKERS


def test_every_schedule_names_a_function_that_is_there() -> None:
    assert len({recurring.name for recurring in SCHEDULES}) == len(SCHEDULES)
    for recurring in SCHEDULES:
        assert callable(import_string(recurring.func)), recurring
        assert recurring.minutes > 0


@pytest.mark.django_db
def test_the_schedules_in_the_database_follow_the_list() -> None:
    one, two = Recurring("one", "a.b", 5), Recurring("two", "a.c", 60)
    sync((one, two))
    first = Schedule.objects.get(name="one")
    Schedule.objects.filter(name="two").update(next_run=timezone.now() + timedelta(days=9))
    later = Schedule.objects.get(name="two").next_run
    sync((Recurring("one", "a.b", 10), two))
    sync((Recurring("one", "a.b", 10), two))
    again = Schedule.objects.get(name="one")
    assert (again.pk, again.minutes, again.repeats) == (first.pk, 10, -1)
    assert Schedule.objects.get(name="two").next_run == later
    sync((two,))
    assert list(Schedule.objects.values_list("name", flat=True)) == ["two"]


@pytest.mark.django_db
def test_what_was_put_off_for_once_outlives_a_restart() -> None:
    schedule("memory.tasks.flush_session", 1, "chat", schedule_type=Schedule.ONCE, next_run=timezone.now())
    sync()
    assert Schedule.objects.filter(func="memory.tasks.flush_session").count() == 1


@pytest.mark.django_db
def test_migrating_makes_the_schedules() -> None:
    Schedule.objects.all().delete()
    call_command("migrate", verbosity=0)
    assert set(Schedule.objects.values_list("name", flat=True)) == {row.name for row in schedules.SCHEDULES}


@pytest.mark.django_db
def test_a_task_that_a_killed_worker_had_taken_is_due_at_once() -> None:
    OrmQ.objects.create(key="oneclaw", payload="x", lock=timezone.now() + timedelta(seconds=900))
    release_interrupted_tasks()
    assert OrmQ.objects.get().lock <= timezone.now()


@pytest.mark.django_db
def test_expired_log_ins_are_forgotten(client) -> None:
    from django.contrib.sessions.models import Session

    from oneclaw.schedules import clear_sessions

    Session.objects.create(session_key="old", expire_date=timezone.now() - timedelta(days=1))
    Session.objects.create(session_key="new", expire_date=timezone.now() + timedelta(days=1))
    clear_sessions()
    assert Session.objects.get().session_key == "new"
