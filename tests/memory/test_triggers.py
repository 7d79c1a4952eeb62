"""When memory writes itself: which trigger enqueues what, and how a burst makes one flush."""

import threading
from ast import literal_eval
from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

import pytest
import time_machine
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django_q.models import OrmQ, Schedule

from chat.models import AiModel, Run, Session
from chat.sessions import sessions
from memory import tasks
from memory.dailylog import DailyLogWriter, unlogged
from memory.jobs.ledger import Outcome, Trigger
from memory.manager import MemoryManager
from memory.models import LedgerEntry
from memory.storage import log_entries
from memory.storage.files import MemoryFileStorage
from memory.triggers import MemoryTriggers
from oneclaw.schedules import SCHEDULES
from people.models import User
from tests.memory.conftest import run_tasks, say, summary
from tests.modelserver import Gate, ModelServer, Script

pytestmark = pytest.mark.django_db(transaction=True)
NOON = datetime(2026, 2, 28, 12, tzinfo=UTC)
DAY = date(2026, 2, 28)


def bodies(user: User, day: date = DAY) -> list[str]:
    return [e.body for e in log_entries.entries_of(MemoryFileStorage(user).read_daily_log(day) or "")]


def test_ending_a_chat_flushes_it(ada: User, model: AiModel, model_server: ModelServer):
    chat = say(ada, "hello", at=NOON)
    model_server.reply(summary("ended"))
    assert MemoryTriggers(ada).on_session_end(chat.id)
    assert not model_server.requests
    assert run_tasks() == ["flush_session"]
    assert bodies(ada) == ["- ended"]
    assert LedgerEntry.objects.get().trigger == Trigger.SESSION_END


def test_opening_another_chat_flushes_the_previous_one(ada: User, model: AiModel, model_server: ModelServer):
    one, two = say(ada, "one", at=NOON), say(ada, "two", at=NOON)
    model_server.default = summary("of one")
    assert MemoryTriggers(ada).on_session_switch(one.id, two.id)
    run_tasks()
    assert bodies(ada) == ["- of one"]
    assert [chat.id for chat in unlogged.chats(ada)] == [two.id]


def test_no_switch_is_no_trigger(ada: User):
    one, two = uuid4(), uuid4()
    triggers = MemoryTriggers(ada)
    assert not triggers.on_session_switch(one, None)  # a new chat
    assert not triggers.on_session_switch(one, one)  # the same chat
    assert not triggers.on_session_switch(None, two)  # no chat before
    assert not triggers.on_session_switch(one, str(one))
    assert not OrmQ.objects.exists()


def test_switching_with_memory_off_is_no_trigger_and_no_crash(ada: User):
    User.objects.update(memory_enabled=False)
    ada.refresh_from_db()
    assert not MemoryTriggers(ada).on_session_switch(uuid4(), uuid4())
    assert not MemoryTriggers(ada).on_app_background()
    assert not OrmQ.objects.exists()


def test_opening_chats_in_the_browser_switches(ada: User, client: Client, model: AiModel):
    client.force_login(ada)
    one, two = say(ada, "one"), say(ada, "two")
    client.get(reverse("chat:session", args=[one.id]))
    client.get(reverse("chat:session", args=[one.id]))
    client.get(reverse("home"))
    assert not OrmQ.objects.exists()
    client.get(reverse("chat:session", args=[two.id]))
    assert OrmQ.objects.count() == 1


def test_a_hidden_page_flushes_its_idle_chat(ada: User, model: AiModel, model_server: ModelServer):
    chat = say(ada, "idle", at=NOON)
    model_server.reply(summary("in the background"))
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    assert client.post(reverse("memory:hidden"), {"session": str(chat.id)}).status_code == 403
    page = client.get(reverse("home"))
    token = page.context["csrf_token"]
    # A beacon can't set headers: the token comes in the body.
    answer = client.post(
        reverse("memory:hidden"), {"session": str(chat.id), "csrfmiddlewaretoken": str(token)}
    )
    assert answer.status_code == 204
    run_tasks()
    assert bodies(ada) == ["- in the background"]


def test_a_hidden_page_without_a_chat_flushes_all_idle_ones(
    ada: User, ben: User, model: AiModel, model_server: ModelServer
):
    say(ada, "one", at=NOON), say(ada, "two", at=NOON), say(ben, "three", at=NOON)
    model_server.default = summary("x")
    MemoryTriggers(ada).on_app_background(None)
    run_tasks()
    assert bodies(ada) == ["- x", "- x"]
    assert bodies(ben) == []


def test_a_hidden_page_in_mid_reply_is_flushed_when_the_reply_is_there(
    ada: User, model: AiModel, model_server: ModelServer
):
    prompt = say(ada, "question", at=NOON).messages.get()
    Run.objects.create(session=prompt.session, prompt=prompt, status=Run.Status.RUNNING)
    MemoryTriggers(ada).on_app_background(prompt.session_id)
    run_tasks()
    assert not model_server.requests
    again = Schedule.objects.get(func="memory.tasks.flush_session")
    assert again.next_run > timezone.now()
    say(ada, "answer", session=prompt.session, at=NOON)
    Run.objects.update(status=Run.Status.DONE)
    model_server.reply(summary("both"))
    tasks.flush_session(*literal_eval(again.args))
    assert bodies(ada) == ["- both"]
    assert "question" in model_server.requests[0].text
    assert "answer" in model_server.requests[0].text


def test_another_users_chat_is_not_flushed(ada: User, ben: User, model: AiModel, model_server: ModelServer):
    chat = say(ben, "private")
    MemoryTriggers(ada).on_app_background(chat.id)
    run_tasks()
    assert not model_server.requests


def test_a_trigger_in_a_transaction_waits_for_its_commit(ada: User):
    chat = say(ada, "hello")
    with transaction.atomic():
        MemoryTriggers(ada).on_session_end(chat.id)
        assert not OrmQ.objects.exists()
    assert OrmQ.objects.count() == 1


def test_a_burst_of_triggers_makes_one_task_and_one_flush(
    ada: User, model: AiModel, model_server: ModelServer
):
    chat = say(ada, "hello", at=NOON)
    model_server.default = summary("once")
    for _ in range(20):
        MemoryTriggers(ada).on_app_background(chat.id)
        MemoryTriggers(ada).on_session_end(chat.id)
        MemoryTriggers(ada).on_session_switch(chat.id, uuid4())
    assert OrmQ.objects.count() == 1
    run_tasks()
    assert bodies(ada) == ["- once"]
    assert MemoryTriggers(ada).on_session_end(chat.id)


def test_a_request_lost_with_its_queue_is_made_again(ada: User):
    chat = say(ada, "hello").id
    assert MemoryTriggers(ada).on_session_end(chat)
    OrmQ.objects.all().delete()
    assert not MemoryTriggers(ada).on_session_end(chat)
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=11)):
        assert MemoryTriggers(ada).on_session_end(chat)


def test_flushes_at_the_same_time_write_one_entry(ada: User, model: AiModel, model_server: ModelServer):
    chat = say(ada, "hello", "there", at=NOON)
    model_server.default = Script(text=summary("once"), delay=0.02)

    def flush() -> None:
        try:
            DailyLogWriter(ada).write_daily_log(chat.id)
        finally:
            connection.close()

    threads = [threading.Thread(target=flush) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert bodies(ada) == ["- once"]
    assert len(model_server.requests) == 1


def test_messages_that_come_during_a_flush_are_taken_along(
    ada: User, model: AiModel, model_server: ModelServer
):
    chat = say(ada, "early word", at=NOON)
    gate = Gate()
    model_server.reply(summary("first"), gate=gate)
    model_server.reply(summary("second"))

    def flush() -> None:
        try:
            DailyLogWriter(ada).write_daily_log(chat.id)
        finally:
            connection.close()

    thread = threading.Thread(target=flush)
    thread.start()
    gate.wait_until_reached()
    say(ada, "meanwhile", session=chat, at=NOON)
    # The trigger's task finds the chat taken, and its holder goes round again.
    assert DailyLogWriter(ada).write_daily_log(chat.id, wait=0).outcome == Outcome.NOTHING
    gate.release()
    thread.join(60)
    assert bodies(ada) == ["- first", "- second"]
    assert "early word" not in model_server.requests[1].text


def test_a_first_visit_only_stores_the_date(ada: User, client: Client):
    client.force_login(ada)
    with time_machine.travel(NOON):
        assert client.post(reverse("memory:returned")).status_code == 204
    ada.refresh_from_db()
    assert ada.last_active_date == DAY
    assert not OrmQ.objects.exists()


def test_returning_on_the_same_day_is_no_trigger(ada: User):
    User.objects.update(last_active_date=DAY)
    ada.refresh_from_db()
    with time_machine.travel(NOON):
        assert not MemoryTriggers(ada).on_return()


def test_returning_on_a_later_day_flushes_everything_once(
    ada: User, model: AiModel, model_server: ModelServer
):
    say(ada, "one", at=NOON), say(ada, "two", at=NOON)
    User.objects.update(last_active_date=DAY)
    model_server.default = summary("yesterday")
    with time_machine.travel(NOON + timedelta(days=1)):
        tabs = [User.objects.get(pk=ada.pk) for _ in range(3)]
        assert [MemoryTriggers(tab).on_return() for tab in tabs] == [True, False, False]
        assert run_tasks() == ["change_day", "compact_daily"]
    assert bodies(ada) == ["- yesterday", "- yesterday"]
    assert bodies(ada, DAY + timedelta(days=1)) == []
    ada.refresh_from_db()
    assert ada.last_active_date == DAY + timedelta(days=1)
    assert {row.trigger for row in LedgerEntry.objects.all()} == {"day_change"}


def test_opening_a_page_on_a_later_day_is_a_return(ada: User, client: Client):
    client.force_login(ada)
    User.objects.update(last_active_date=date(2020, 1, 1))
    client.get(reverse("home"))
    assert OrmQ.objects.count() == 1


def test_the_day_changes_by_the_users_own_clock(ada: User):
    User.objects.update(last_active_date=DAY, time_zone="Asia/Tokyo")
    ada.refresh_from_db()
    with time_machine.travel(datetime(2026, 2, 28, 14, 59, tzinfo=UTC)):
        assert not MemoryTriggers(ada).on_return()
    with time_machine.travel(datetime(2026, 2, 28, 15, 1, tzinfo=UTC)):
        assert MemoryTriggers(ada).on_return()


def test_a_clock_that_jumps_back_a_day_triggers_nothing_and_loses_nothing(
    ada: User, model: AiModel, model_server: ModelServer
):
    chat = say(ada, "hello", at=NOON)
    User.objects.update(last_active_date=DAY)
    ada.refresh_from_db()
    model_server.default = summary("kept")
    with time_machine.travel(NOON - timedelta(days=1)):
        assert not MemoryTriggers(ada).on_return()
        say(ada, "of a wrong clock", session=chat, at=NOON - timedelta(days=1))
    with time_machine.travel(NOON + timedelta(days=1)):
        assert MemoryTriggers(ada).on_return()
        run_tasks()
    assert bodies(ada) == ["- kept"]
    assert bodies(ada, DAY - timedelta(days=1)) == ["- kept"]


def test_the_hourly_round_heals_days_that_were_missed(ada: User, model: AiModel, model_server: ModelServer):
    chat = say(ada, "old", at=NOON - timedelta(days=3))
    say(ada, "newer", session=chat, at=NOON - timedelta(days=1))
    today = say(ada, "of today", at=NOON)
    model_server.default = summary("healed")
    with time_machine.travel(NOON):
        tasks.every_hour()
        run_tasks()
    assert bodies(ada, DAY - timedelta(days=3)) == ["- healed"]
    assert bodies(ada, DAY - timedelta(days=1)) == ["- healed"]
    assert [chat.id for chat in unlogged.chats(ada)] == [today.id]
    assert {row.trigger for row in LedgerEntry.objects.filter(kind="flush")} == {"schedule"}


def test_the_hourly_round_asks_no_more_of_the_database_with_more_people(ada: User, ben: User):
    """With nothing due for them: whom to look at closer is one question for hundreds of people."""

    def asked() -> int:
        with time_machine.travel(NOON), CaptureQueriesContext(connection) as queries:
            assert tasks.every_hour() == "0 users"
        return len(queries)

    User.objects.update(date_joined=NOON - timedelta(days=9))
    MemoryManager(ada).save_to_long_term_memory("Keeps bees")
    few = asked()
    many = [User(username=f"person-{n}", date_joined=NOON - timedelta(days=9)) for n in range(50)]
    User.objects.bulk_create(many)
    assert asked() == few
    assert run_tasks() == []


def test_the_hourly_round_goes_by_each_users_zone(
    ada: User, ben: User, model: AiModel, model_server: ModelServer
):
    User.objects.filter(pk=ada.pk).update(time_zone="Pacific/Auckland")
    User.objects.filter(pk=ben.pk).update(time_zone="America/Los_Angeles")
    say(ada, "hers", at=datetime(2026, 2, 28, 10, tzinfo=UTC))
    say(ben, "his", at=datetime(2026, 2, 28, 10, tzinfo=UTC))
    model_server.default = summary("x")
    with time_machine.travel(NOON):
        tasks.every_hour()
        run_tasks()
    # At noon in London it is the 1st in Auckland, and still early on the 28th in Los Angeles.
    assert LedgerEntry.objects.filter(kind="flush").get().owner == ada


def test_a_provider_that_is_down_is_asked_once_a_round(ada: User, model: AiModel, model_server: ModelServer):
    for _ in range(5):
        say(ada, "hello")
    model_server.default = Script(status=401, body=b"{}")
    tasks.flush_user(ada.pk, Trigger.MANUAL)
    assert len(model_server.requests) == 1
    assert unlogged.chats(ada).count() == 5


def test_pre_compaction_waits_for_the_log(ada: User, model: AiModel, model_server: ModelServer):
    chat = say(ada, "hello", at=NOON)
    model_server.reply(summary("before it is shortened"), delay=0.02)
    assert MemoryTriggers(ada).on_pre_compaction(chat.id)
    assert bodies(ada) == ["- before it is shortened"]
    assert not OrmQ.objects.exists()


def test_pre_compaction_gives_up_after_its_time(ada: User, model: AiModel, model_server: ModelServer):
    chat = say(ada, "hello")
    model_server.default = Script(text="x", hang=True, gate_after=0)
    assert not MemoryTriggers(ada).on_pre_compaction(chat.id, seconds=1.0)
    chat.refresh_from_db()
    assert chat.last_logged_message is None


def test_a_failed_flush_can_be_run_again(ada: User, ben: User, model: AiModel, model_server: ModelServer):
    chat = say(ada, "hello", at=NOON)
    model_server.error(401)
    DailyLogWriter(ada).write_daily_log(chat.id)
    row = LedgerEntry.objects.get()
    assert not MemoryTriggers(ben).retry(row)
    assert MemoryTriggers(ada).retry(row)
    model_server.reply(summary("second try"))
    run_tasks()
    assert bodies(ada) == ["- second try"]
    assert not MemoryTriggers(ada).retry(LedgerEntry.objects.latest("id"))


def test_what_was_said_while_memory_was_off_stays_out_of_it(
    ada: User, model: AiModel, model_server: ModelServer
):
    chat = say(ada, "open", memory_mode=Session.MemoryMode.OFF)
    sessions.set_memory_mode(chat, Session.MemoryMode.NORMAL)
    assert DailyLogWriter(ada).write_daily_log(chat.id).outcome == Outcome.NOTHING
    assert not model_server.requests
    say(ada, "later", session=chat)
    model_server.reply(summary())
    assert DailyLogWriter(ada).write_daily_log(chat.id).outcome == Outcome.WRITTEN


def test_the_end_button_flushes_its_chat(
    ada: User, client: Client, model: AiModel, model_server: ModelServer
):
    chat = say(ada, "hello", at=NOON)
    model_server.reply(summary("by the button"))
    client.force_login(ada)
    assert client.post(reverse("chat:end", args=[chat.id])).status_code == 302
    run_tasks()
    assert bodies(ada) == ["- by the button"]


@pytest.mark.parametrize("name", ["hidden", "returned", "forget"])
def test_strangers_trigger_nothing(name, client: Client):
    assert client.post(reverse(f"memory:{name}")).status_code == 302
    assert not OrmQ.objects.exists()


def test_the_schedule_is_declared():
    assert ("memory.tasks.every_hour", 60) in [(each.func, each.minutes) for each in SCHEDULES]


def test_one_chat_that_the_model_refuses_does_not_keep_the_others_unlogged(
    ada: User, model: AiModel, model_server: ModelServer
):
    say(ada, "refuse this", at=NOON), say(ada, "one", at=NOON), say(ada, "two", at=NOON)
    model_server.default = summary("fine")
    model_server.error(
        400, {"error": {"message": "content policy"}}, match=lambda asked: "refuse" in asked.text
    )
    outcomes = [flush.outcome for flush in tasks.flush_chats(MemoryManager(ada), Trigger.DAY_CHANGE)]
    assert outcomes == ["failed", "written", "written"]


def test_a_provider_that_is_down_is_asked_once(ada: User, model: AiModel, model_server: ModelServer):
    say(ada, "one", at=NOON), say(ada, "two", at=NOON)
    for _ in range(3):
        model_server.error(401, {"error": {"message": "bad key"}})
    assert [flush.outcome for flush in tasks.flush_chats(MemoryManager(ada), Trigger.DAY_CHANGE)] == [
        "failed"
    ]
