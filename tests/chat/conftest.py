"""People and chats for the tests of the chat."""

import pytest
from django.test import Client

from chat.models import Message, Session
from people.models import User


@pytest.fixture
def user(db: None) -> User:
    return User.objects.create_user("ada", password="analytical engine")


@pytest.fixture
def other(db: None) -> User:
    return User.objects.create_user("bob", password="sponge and square")


@pytest.fixture
def page(client: Client, user: User) -> Client:
    """A browser without scripts, logged in."""
    client.force_login(user)
    return client


@pytest.fixture
def session(user: User) -> Session:
    return Session.objects.create(owner=user, title="Bridges")


def said(session: Session, *texts: str) -> list[Message]:
    """Messages of user and assistant by turns, finished long ago."""
    kinds = (Message.Type.USER, Message.Type.AI_RESPONSE)
    return [
        Message.objects.create(session=session, type=kinds[number % 2], content=text)
        for number, text in enumerate(texts)
    ]
