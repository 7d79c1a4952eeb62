"""Chats of programs known again: by their newest messages, and when the first reply is made again."""

from datetime import timedelta
from typing import Any

import openai
import pytest
from django.utils import timezone

from chat.models import AiModel, Message, Session
from people.models import User
from tests.connect.conftest import token_for
from tests.connect.v1.talking import Connect, ask, assistant, one_chat, said, user
from tests.modelserver import ModelServer

pytestmark = pytest.mark.django_db(transaction=True)


def talk(client: openai.OpenAI, server: ModelServer, window: int, turns: int = 6) -> list[Any]:
    """A conversation of a client that sends the newest messages alone; all that was said."""
    whole = list[Any]()
    for number in range(turns):
        whole.append(user(f"Question {number}"))
        server.reply(f"Answer {number}", match=f"Question {number}")
        answer = ask(client, *whole[-window:]).choices[0].message.content
        whole.append(assistant(answer))
    return whole


def texts(chat: Session) -> list[str]:
    return [text for _, text in said(chat)]


@pytest.mark.parametrize("window", [3, 4, 5])
def test_a_window_that_moves_on_is_one_chat(
    connect: Connect, model: AiModel, model_server: ModelServer, window: int
) -> None:
    whole = talk(connect(), model_server, window)
    assert texts(one_chat()) == [each["content"] for each in whole]
    # Sent whole again, it is still known by its start.
    ask(connect(), *whole, user("Good night"))
    assert texts(one_chat())[-2] == "Good night"


def test_a_reply_made_again_in_a_window_is_a_version(
    connect: Connect, model: AiModel, model_server: ModelServer
) -> None:
    client = connect()
    whole = talk(client, model_server, window=5)
    model_server.reply("Another answer", match="Question 5")
    ask(client, *whole[-6:-1])
    assert texts(one_chat())[-2:] == ["Question 5", "Another answer"]
    assert Message.objects.get(content="Another answer").version_of == Message.objects.get(content="Answer 5")


def test_one_exchange_that_was_gone_on_with_says_too_little(
    connect: Connect, model: AiModel, model_server: ModelServer
) -> None:
    client = connect()
    whole = talk(client, model_server, window=3, turns=3)
    ask(client, *whole[2:4], user("Something else"))
    assert Session.objects.count() == 2
    assert not Message.objects.exclude(shelf=None).exists()


def test_anothers_window_is_not_known(
    connect: Connect, ben: User, model: AiModel, model_server: ModelServer
) -> None:
    whole = talk(connect(), model_server, window=5, turns=3)
    ask(connect(secret=token_for(ben)), *whole[-4:], user("Mine"))
    assert Session.objects.filter(owner=ben).count() == 1
    assert "Mine" not in texts(Session.objects.exclude(owner=ben).get())


def test_the_first_reply_made_again_is_a_version(
    connect: Connect, model: AiModel, model_server: ModelServer
) -> None:
    client = connect()
    for answer in ("Tea", "Coffee", "Water"):
        model_server.reply(answer, match="What shall I drink?")
        ask(client, user("What shall I drink?"))
    assert texts(one_chat()) == ["What shall I drink?", "Water"]
    first = Message.objects.get(content="Tea")
    assert set(Message.objects.filter(version_of=first).values_list("content", flat=True)) == {
        "Coffee",
        "Water",
    }


@pytest.mark.parametrize("why", ["later", "another program", "gone on"])
def test_the_same_first_words_are_another_chat(connect: Connect, model: AiModel, why: str) -> None:
    client = connect()
    ask(client, user("Hello"))
    if why == "later":
        Session.objects.update(active_at=timezone.now() - timedelta(hours=1))
    elif why == "another program":
        client = connect(name="Phone")
    else:
        ask(client, user("Hello"), assistant("Hello from the scripted model."), user("Go on"))
    ask(client, user("Hello"))
    assert Session.objects.count() == 2
