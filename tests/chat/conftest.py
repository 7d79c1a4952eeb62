"""People and chats for the tests of the chat."""

import time
from collections.abc import Callable

import pytest
from django.test import Client

from chat.models import Message, Session
from chat.replies import follow_up
from chat.replies.engine import engine
from people.models import User


@pytest.fixture
def user(db: None) -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def other(db: None) -> User:
    return User.objects.create_user("bob")


@pytest.fixture
def page(client: Client, user: User) -> Client:
    """A browser without scripts, logged in."""
    client.force_login(user)
    return client


@pytest.fixture
def session(user: User) -> Session:
    return Session.objects.create(owner=user, title="Bridges", title_by="user")


def said(session: Session, *texts: str) -> list[Message]:
    """Messages of user and assistant by turns, finished long ago."""
    kinds = (Message.Type.USER, Message.Type.AI_RESPONSE)
    return [
        Message.objects.create(session=session, type=kinds[number % 2], content=text)
        for number, text in enumerate(texts)
    ]


def until(condition: Callable[[], object], seconds: float = 30) -> None:
    """Wait for something that another thread does."""
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "It never came to that."
        time.sleep(0.01)


def settle() -> None:
    """Wait until no reply and none of its follow-ups goes on."""
    until(lambda: engine.is_idle() and follow_up.is_idle())


@pytest.fixture
def quiet(transactional_db: None):
    """For tests with replies: none goes on into the next test."""
    yield
    settle()
