"""What a page says of a chat counts only for its owner, and leaves nothing behind that piles up."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone
from django_q.models import OrmQ

from chat.models import AiModel
from memory import tasks
from memory.manager import MemoryManager
from memory.models import Claim
from memory.triggers import MemoryTriggers
from people.models import User
from tests.memory.conftest import run_tasks, say, summary
from tests.modelserver import ModelServer

pytestmark = pytest.mark.django_db(transaction=True)
NOON = datetime(2026, 2, 28, 12, tzinfo=UTC)


@pytest.fixture
def as_ben(ben: User) -> Client:
    client = Client()
    client.force_login(ben)
    return client


def test_a_stranger_can_not_take_a_chats_turn_away(
    ada: User, ben: User, as_ben: Client, make_provider: Callable[..., AiModel], model_server: ModelServer
) -> None:
    make_provider()
    chat = say(ada, "hello", at=NOON)
    model_server.reply(summary("hers"))
    as_ben.post("/memory/hidden/", {"session": str(chat.id)})
    MemoryTriggers(ben).on_session_end(chat.id)
    MemoryTriggers(ben).on_session_switch(chat.id, uuid4())
    assert not Claim.objects.filter(key__contains=str(chat.id)).exists()
    assert MemoryTriggers(ada).on_session_end(chat.id)
    run_tasks()
    assert "- hers" in (MemoryManager(ada).files.read_daily_log("2026-02-28") or "")


def test_invented_chats_leave_no_rows(as_ben: Client) -> None:
    for _ in range(20):
        as_ben.post("/memory/hidden/", {"session": str(uuid4())})
    # What is new in any of his own chats is due, once.
    assert Claim.objects.count() == 1
    assert OrmQ.objects.count() == 1


def test_invented_days_leave_no_rows(as_ben: Client, ben: User) -> None:
    for day in ("2026-01-01", "1026-01-02", "9026-01-03"):
        for action in ("redo", "summarise"):
            assert as_ben.post(f"/memory/logs/{day}/{action}/").status_code == 404
    assert not Claim.objects.exists()
    MemoryManager(ben).files.append_to_daily_log("2026-01-01", "- Bread")
    assert as_ben.post("/memory/logs/2026-01-01/redo/").status_code == 302
    assert Claim.objects.count() == 1


def test_claims_of_what_is_gone_are_removed(ada: User) -> None:
    chat, now = say(ada, "hello"), timezone.now()
    kept: dict[str, dict[str, Any]] = {
        f"flush:{chat.id}": {},
        f"flush:{uuid4()}": {"held_at": now, "holder": "x:1:2"},
        f"redo:{ada.pk}:2026-01-01": {"queued_at": now},
        f"compact:{ada.pk}": {"done_on": now.date()},
        f"day:{ada.pk}": {},
    }
    gone: dict[str, dict[str, Any]] = {
        f"flush:{uuid4()}": {},
        f"flush:{uuid4().hex}": {"queued_at": now - timedelta(hours=1)},
        "flush:nonsense": {},
        f"redo:{ada.pk}:2026-01-02": {},
        f"highlights:{ada.pk}:2026-01-02": {},
    }
    for key, fields in (kept | gone).items():
        Claim.objects.create(key=key, **fields)
    assert tasks.prune_claims() == f"{len(gone)} claims"
    assert set(Claim.objects.values_list("key", flat=True)) == set(kept)
