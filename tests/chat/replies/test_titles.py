"""Titles: first words at once, better ones from a model that may, the user's for good."""

from collections.abc import Callable

import pytest

from chat.models import AiModel, Session
from chat.replies import sending, titles
from chat.sessions import sessions
from people.models import User
from tests.chat.conftest import settle
from tests.modelserver import ModelServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quiet")]
Make = Callable[..., AiModel]


@pytest.fixture
def new_chat(user: User) -> Session:
    return Session(owner=user)


def test_the_model_names_a_chat_after_its_first_reply(
    new_chat: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    model_server.reply('"Standing Bridges."\n', match="You name conversations")
    sending.send(new_chat, "How do bridges stand, and why?")
    assert new_chat.title == "How do bridges stand, and why?"
    settle()
    new_chat.refresh_from_db()
    assert (new_chat.title, new_chat.title_by) == ("Standing Bridges", "model")
    sending.send(new_chat, "And towers?")
    settle()
    named = [request for request in model_server.asked if "You name conversations" in request.text]
    assert len(named) == 1


def test_a_provider_that_isnt_trusted_names_nothing(
    new_chat: Session, make_provider: Make, model_server: ModelServer
):
    make_provider(can_write_memory=False)
    sending.send(new_chat, "Hello")
    settle()
    assert len(model_server.asked) == 1


def test_a_rename_meanwhile_wins(new_chat: Session, make_provider: Make, model_server: ModelServer):
    make_provider()
    gate = model_server.gated("Standing Bridges", match="You name conversations", after=0)
    sending.send(new_chat, "How do bridges stand?")
    gate.wait_until_reached()
    sessions.rename(new_chat, "Mine")
    gate.release()
    settle()
    new_chat.refresh_from_db()
    assert new_chat.title == "Mine"


def test_a_model_that_thinks_its_limit_away_is_given_room(
    new_chat: Session, make_provider: Make, model_server: ModelServer
):
    make_provider()
    model_server.thinking("On and on", finish="length", match="You name conversations")
    model_server.reply("Standing " * 30, match="You name conversations")
    sending.send(new_chat, "How do bridges stand?")
    settle()
    new_chat.refresh_from_db()
    assert new_chat.title.startswith("Standing Standing")
    assert len(new_chat.title) <= titles.LONGEST + 1


def test_no_title_is_no_harm(new_chat: Session, make_provider: Make, model_server: ModelServer):
    make_provider()
    model_server.error(400, match="You name conversations")
    sending.send(new_chat, "How do bridges stand?")
    settle()
    new_chat.refresh_from_db()
    assert new_chat.title == "How do bridges stand?"


def test_a_models_title_is_cleaned():
    assert titles.cleaned("# Title: “Bridges”\nmore") == "Bridges"
    assert titles.cleaned("**Bold Bridges**") == "Bold Bridges"
    assert titles.cleaned("") == ""
    assert len(titles.cleaned("word " * 100)) <= 51
