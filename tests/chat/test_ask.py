"""One question and its whole answer, from a thread or a worker."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from chat.ask import Answer, ask_model
from chat.errors import ModelError
from chat.models import Agent, AiModel, Session
from people.models import User
from tests.modelserver import ModelServer


def test_an_answer_comes_whole_with_its_tokens(
    model_server: ModelServer, make_provider: Callable[..., AiModel]
) -> None:
    model_server.thinking("Hm.", "A short title", usage=(40, 5))
    assert ask_model(
        make_provider(), "Name this", system="Be brief.", max_tokens=20, temperature=0
    ) == Answer("A short title", 40, 5)
    body = model_server.last.json
    assert model_server.last.system == "Be brief."
    assert (body["max_tokens"], body["temperature"]) == (20, 0)


def test_a_model_that_thought_away_its_limit_is_asked_with_more_room(
    model_server: ModelServer, make_provider: Callable[..., AiModel]
) -> None:
    model_server.thinking("On and on", finish="length")
    model_server.reply("Short title")
    assert ask_model(make_provider(), "Name this", max_tokens=20).text == "Short title"
    limits = [sent.json["max_tokens"] for sent in model_server.asked]
    assert limits[0] == 20
    assert limits[1] > 4_000


def test_a_fault_is_a_model_error(model_server: ModelServer, make_provider: Callable[..., AiModel]) -> None:
    model_server.error(401)
    with pytest.raises(ModelError) as caught:
        ask_model(make_provider(), "Hi")
    assert caught.value.code == "auth"


def test_an_answer_that_never_comes_is_given_up(
    model_server: ModelServer, make_provider: Callable[..., AiModel]
) -> None:
    model_server.hang()
    with pytest.raises(ModelError) as caught:
        ask_model(make_provider(), "Hi", timeout=0.3)
    assert caught.value.code == "timeout"


def test_many_threads_ask_at_once(model_server: ModelServer, make_provider: Callable[..., AiModel]) -> None:
    model = make_provider()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: ask_model(model, f"Question {n}").text, range(16)))
    assert answers == ["Hello from the scripted model."] * 16


def test_a_chat_has_its_own_model_then_its_agents_then_the_default(
    ada: User, make_provider: Callable[..., AiModel]
) -> None:
    default, agents, own = (make_provider(name=f"Provider {n}") for n in range(3))
    agent = Agent.objects.create(owner=ada, name="Poet", model=agents)
    session = Session.objects.create(owner=ada, agent=agent, model=own)
    assert session.resolve_model() == own
    own.provider.enabled = False
    own.provider.save()
    assert session.resolve_model() == agents
    agent.model = None
    agent.save()
    assert Session.objects.get(pk=session.pk).resolve_model() == default
    default.delete()
    assert Session.objects.get(pk=session.pk).resolve_model() == agents
    agents.provider.delete()
    assert Session.objects.get(pk=session.pk).resolve_model() is None
