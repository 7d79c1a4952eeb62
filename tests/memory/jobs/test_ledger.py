"""The ledger keeps what happened, within a bound, each for its own user."""

import subprocess
from datetime import timedelta

import pytest
from django.utils import timezone

from chat.models import Session
from memory import tasks
from memory.jobs import claims, ledger
from memory.jobs.ledger import Kind, Outcome, Trigger
from memory.models import Claim, LedgerEntry
from oneclaw import wiring
from people.models import User

pytestmark = pytest.mark.django_db


def test_the_oldest_rows_go(ada: User, ben: User):
    ledger.finish(ledger.start(ben, Kind.FLUSH, Trigger.MANUAL), Outcome.WRITTEN)
    rows = [ledger.start(ada, Kind.FLUSH, Trigger.MANUAL) for _ in range(6)]
    assert ledger.prune(ada, keep=4) == 2
    assert list(ledger.recent(ada)) == rows[:1:-1]
    assert ledger.recent(ben).count() == 1


def test_a_row_left_running_by_a_crash_is_closed_by_the_next(ada: User):
    left = ledger.start(ada, Kind.FLUSH, Trigger.MANUAL)
    other = ledger.start(ada, Kind.COMPACTION, Trigger.MANUAL)
    ledger.start(ada, Kind.FLUSH, Trigger.MANUAL)
    left.refresh_from_db()
    other.refresh_from_db()
    assert (left.outcome, other.outcome) == (Outcome.FAILED, Outcome.RUNNING)


def test_a_row_left_running_for_long_is_closed_by_the_hourly_round(ada: User):
    old = ledger.start(ada, Kind.COMPACTION, Trigger.MANUAL)
    LedgerEntry.objects.update(started_at=timezone.now() - timedelta(hours=1))
    new = ledger.start(ada, Kind.FLUSH, Trigger.MANUAL)
    tasks.every_hour()
    assert [LedgerEntry.objects.get(pk=row.pk).outcome for row in (old, new)] == ["failed", "running"]


def test_rows_of_a_killed_worker_are_closed_when_the_next_one_starts(ada: User):
    chat = Session.objects.create(owner=ada)
    for key in (claims.flush(chat.id), claims.compacting(ada)):
        assert claims.take(key)
    flush = ledger.start(ada, Kind.FLUSH, Trigger.SESSION_END, chat.id)
    compaction = ledger.start(ada, Kind.COMPACTION, Trigger.MANUAL)
    wiring.close_interrupted_work()
    assert set(LedgerEntry.objects.values_list("outcome", flat=True)) == {"running"}
    with subprocess.Popen(["true"]) as gone:
        pass
    Claim.objects.update(holder=f"{claims.place()}:{gone.pid}:x")
    wiring.close_interrupted_work()
    for row in (flush, compaction):
        row.refresh_from_db()
        assert row.outcome == Outcome.FAILED
        assert "stopped before this was done" in row.detail


def test_a_long_error_is_cut(ada: User):
    row = ledger.finish(ledger.start(ada, Kind.FLUSH, Trigger.MANUAL), Outcome.FAILED, "x" * 5_000)
    assert len(LedgerEntry.objects.get(pk=row.pk).detail) == ledger.DETAIL_CHARS


def test_the_last_of_a_kind(ada: User):
    assert ledger.last(ada, Kind.COMPACTION) is None
    row = ledger.start(ada, Kind.COMPACTION, Trigger.MANUAL)
    ledger.start(ada, Kind.FLUSH, Trigger.MANUAL)
    assert ledger.last(ada, Kind.COMPACTION) == row
