"""Chats to flush, a summarising model, and a worker that runs what was enqueued."""

from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from typing import Any

import pytest
from django_q.models import OrmQ
from django_q.signing import SignedPackage

from chat.models import AiModel, Message, Session
from people.models import User

SUMMARY = "## Daily Summary\n- {0}\n\n## Long-term Facts\n{1}\n"
Say = Callable[..., Session]


def summary(said: str = "Talked about bread", facts: str = "None") -> str:
    return SUMMARY.format(said, facts)


def say(
    owner: User,
    *texts: str,
    session: Session | None = None,
    at: datetime | None = None,
    type: str = "",
    **fields: Any,
) -> Session:
    """A chat in which these were said, by turns from the user on."""
    session = session or Session.objects.create(owner=owner, title="A chat", **fields)
    when = {"created_at": at} if at else {}
    start = session.messages.count()
    for number, text in enumerate(texts, start=start):
        kind = type or (Message.Type.USER if number % 2 == 0 else Message.Type.AI_RESPONSE)
        Message.objects.create(session=session, type=kind, content=text, **when)
    return session


def run_tasks(limit: int = 50) -> list[str]:
    """Do as the worker does with everything in the queue; the names of what ran."""
    ran = list[str]()
    while (row := OrmQ.objects.order_by("id").first()) and len(ran) < limit:
        task = SignedPackage.loads(row.payload)
        row.delete()
        module, _, name = task["func"].rpartition(".")
        getattr(import_module(module), name)(*task["args"], **task["kwargs"])
        ran.append(name)
    return ran


@pytest.fixture
def model(make_provider: Callable[..., AiModel]) -> AiModel:
    """The default model, trusted with memory."""
    return make_provider()
