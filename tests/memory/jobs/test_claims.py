"""Claims: their keys, which installed databases hold, and who may take one."""

from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import pytest
import time_machine

from memory.jobs import claims
from memory.models import Claim
from people.models import User

CHAT = UUID("2f1c8f0e-6f0a-4b57-9d55-0d9a3f4f8f10")


def test_the_keys_are_those_of_installed_databases():
    user, day = User(pk=7), date(2026, 2, 28)
    assert claims.flush(CHAT) == claims.flush(str(CHAT)) == f"flush:{CHAT}"
    assert claims.flush_all(user) == "all:7"
    assert claims.change_day(user) == "day:7"
    assert claims.redo_day(user, day) == claims.redo_day(user, "2026-02-28") == "redo:7:2026-02-28"
    assert claims.redo_highlights(user, day) == "highlights:7:2026-02-28"
    assert claims.compacting(user) == "compacting:7"
    assert claims.daily_compaction(user) == "compact:7"
    assert claims.manual_compaction(user) == "compact-now:7"
    assert claims.compaction_proposal(user) == "propose:7"
    assert claims.refresh_index(user) == "index:7"
    assert claims.rebuild_index(user) == "rebuild:7"


@pytest.mark.django_db
def test_the_claim_of_a_dead_process_is_taken_over():
    key = claims.flush(CHAT)
    Claim.objects.create(key=key, held_at=datetime.now(UTC), holder=f"{claims.place()}:999999999:aa")
    assert claims.take(key)


@pytest.mark.django_db
def test_the_claim_of_another_machine_lasts_until_it_is_stale():
    key = claims.flush(CHAT)
    Claim.objects.create(key=key, held_at=datetime.now(UTC), holder="elsewhere:1:aa")
    assert claims.take(key) is None
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=16)):
        assert claims.take(key)
