"""A token that is revoked while something is under way: it stops within the second, and nothing is kept."""

import time
from typing import Any

import openai
import pytest
from django.db import connections

from chat.models import AiModel, Message, Run, Session
from connect.models import Token
from connect.v1 import chats, replying
from people.models import User
from tests.chat.conftest import until
from tests.connect.v1.talking import Connect, ask, one_chat, user
from tests.modelserver import ModelServer, Recorded

pytestmark = pytest.mark.django_db(transaction=True)


def revoke(owner: User) -> None:
    Token.objects.filter(owner=owner).delete()


@pytest.mark.parametrize("stream", [False, True])
def test_what_was_asked_is_not_kept(
    connect: Connect, ada: User, model: AiModel, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    keep = chats.keep

    def later(*given: Any) -> chats.Kept:
        revoke(ada)
        return keep(*given)

    monkeypatch.setattr(chats, "keep", later)
    with pytest.raises(openai.AuthenticationError, match="revoked"):
        ask(connect(), user("Remember the blue door"), stream=stream)
    assert not Message.objects.exists()
    assert not Session.objects.exists()


def test_what_the_model_says_after_it_is_not_kept(
    connect: Connect, ada: User, model: AiModel, model_server: ModelServer
) -> None:
    gate = model_server.gated("One two three four five six", after=3, match="Count")
    stream = ask(connect(), user("Count"), stream=True)
    until(lambda: "three" in one_chat().messages.get(type="ai_response").content)
    revoke(ada)
    gate.release()
    with pytest.raises(openai.APIError, match="revoked"):
        list(stream)
    until(lambda: Run.objects.filter(status=Run.Status.STOPPED).exists())
    reply = one_chat().messages.get(type="ai_response")
    assert "three" in reply.content
    assert "six" not in reply.content


# A second, and as much again for each thing that a busy machine does meanwhile.
SOON = 5


def test_a_stream_stops_within_a_second(
    connect: Connect, ada: User, model: AiModel, model_server: ModelServer
) -> None:
    gate = model_server.gated("One two three four five six", after=3, match="Count")
    stream = ask(connect(), user("Count"), stream=True)
    next(iter(stream))
    began = time.monotonic()
    revoke(ada)
    with pytest.raises(openai.APIError, match="revoked"):
        list(stream)
    assert time.monotonic() - began < SOON
    assert replying.LOOK_EVERY < 0.5
    gate.release()
    until(lambda: Run.objects.filter(status=Run.Status.STOPPED).exists())


@pytest.mark.parametrize("scope", ["read", "write"])
def test_an_answer_that_is_whole_by_then_is_not_given(
    connect: Connect, ada: User, model: AiModel, model_server: ModelServer, scope: str
) -> None:
    def answer(request: Recorded) -> str:
        revoke(ada)
        connections.close_all()
        return "Twelve hours."

    model_server.function(answer, match="rye")
    with pytest.raises(openai.AuthenticationError, match="revoked"):
        ask(connect(scope), user("How long for rye?"))
    assert not Message.objects.filter(content="Twelve hours.").exists()
