"""The OpenAI adapter against a real server and a real model: the protocol is checked, never the meaning."""

import asyncio
import json

import pytest

from chat import errors
from chat.adapters import ChatTurn, ModelRequest, client, stream
from chat.adapters.events import Event, Finished, TextDelta, Usage
from chat.errors import ModelError
from tests.realmodel import RealModel

# Long enough that the answer is still being written when somebody stops or kills it.
LONG = "Write a long story about a train that travels from Paris to Lisbon."


@pytest.fixture(autouse=True)
async def closed_after():
    yield
    await client.close()


def asking(model: RealModel, text: str = "Say hello.", **how: object) -> ModelRequest:
    values: dict[str, object] = {
        "kind": "openai",
        "base_url": model.url,
        "model": model.name,
        "key": model.key,
        "messages": (ChatTurn("user", text),),
        "system": ("You are a storyteller.",),
        "temperature": 0.0,
        "max_tokens": 8,
    }
    return ModelRequest(**(values | how))  # type: ignore[arg-type]


async def answer(request: ModelRequest) -> list[Event]:
    return [event async for event in stream(request)]


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_an_answer_streams_piece_by_piece(real_model: RealModel):
    events = await answer(asking(real_model, LONG, max_tokens=24))
    pieces = [event for event in events if isinstance(event, TextDelta)]
    assert len(pieces) > 5
    assert events[-1] == Finished("length")


async def test_usage_is_what_the_server_counted(real_model: RealModel):
    events = await answer(asking(real_model))
    (usage,) = [event for event in events if isinstance(event, Usage)]
    assert usage.input_tokens
    assert usage.output_tokens
    assert usage.input_tokens > 10
    assert 1 <= usage.output_tokens <= 8


async def test_a_whole_answer_comes_as_one_json_document(real_model: RealModel):
    events = await answer(asking(real_model, stream=False))
    assert text_of(events)
    assert isinstance(events[-1], Finished)
    assert any(isinstance(event, Usage) for event in events)


async def test_streamed_or_whole_the_answer_is_the_same(real_model: RealModel):
    streamed = text_of(await answer(asking(real_model)))
    assert streamed.strip() == text_of(await answer(asking(real_model, stream=False))).strip()


async def test_a_stop_word_ends_the_answer(real_model: RealModel):
    free = text_of(await answer(asking(real_model, LONG, max_tokens=32)))
    word = free.split()[2]
    events = await answer(asking(real_model, LONG, max_tokens=32, stop=(word,)))
    assert text_of(events) == free[: free.index(word)]
    assert events[-1] == Finished("stop")


async def test_whoever_stops_listening_stops_the_model(real_model: RealModel):
    following = stream(asking(real_model, LONG, max_tokens=200))
    async for event in following:
        if isinstance(event, TextDelta):
            break
    await following.aclose()
    # Both of the server's places are free again: neither of these waits for the two hundred tokens.
    events = await asyncio.wait_for(
        asyncio.gather(answer(asking(real_model)), answer(asking(real_model))), timeout=30
    )
    assert all(isinstance(each[-1], Finished) for each in events)


async def test_too_long_a_conversation_is_told_from_other_faults(real_model: RealModel):
    with pytest.raises(ModelError) as raised:
        await answer(asking(real_model, "word " * real_model.context * 2))
    assert raised.value.code == errors.CONTEXT_TOO_LONG


async def test_an_answer_that_fills_the_context_still_ends_as_it_should(real_model: RealModel):
    nearly = "word " * (real_model.context - 60)
    events = await answer(asking(real_model, nearly, max_tokens=200))
    assert isinstance(events[-1], Finished)


async def test_a_wrong_key_is_called_a_wrong_key(real_model: RealModel):
    with pytest.raises(ModelError) as raised:
        await answer(asking(real_model, key="not-the-key"))
    assert raised.value.code == errors.AUTH
    assert "not-the-key" not in f"{raised.value!r} {raised.value.message}"


async def test_five_at_once_are_all_answered_and_not_mixed_up(real_model: RealModel):
    words = ["apple", "river", "seven", "Lisbon", "train"]
    prompts = [f"Repeat this word ten times: {word}" for word in words]
    alone = [text_of(await answer(asking(real_model, prompt))) for prompt in prompts[:1]]
    together = await asyncio.gather(*(answer(asking(real_model, prompt)) for prompt in prompts))
    assert all(isinstance(events[-1], Finished) for events in together)
    assert text_of(together[0]) == alone[0]


async def test_unicode_arrives_whole(real_model: RealModel):
    events = await answer(asking(real_model, "Write these again: 你好 🌍 žluťoučký 🚆", max_tokens=32))
    assert "\ufffd" not in text_of(events).rstrip("\ufffd")
    json.dumps(text_of(events)).encode()


async def test_a_server_that_dies_in_mid_answer_is_a_broken_connection(mortal_model: RealModel):
    heard: list[Event] = []

    async def listen() -> None:
        async for event in stream(asking(mortal_model, LONG, max_tokens=200)):
            heard.append(event)
            if len(heard) == 3:
                mortal_model.kill()

    with pytest.raises(ModelError) as raised:
        await listen()
    assert raised.value.code in (errors.CUT, errors.UNREACHABLE)
    assert text_of(heard)


async def test_a_server_that_is_gone_is_unreachable(mortal_model: RealModel):
    mortal_model.kill()
    with pytest.raises(ModelError) as raised:
        await answer(asking(mortal_model))
    assert raised.value.code == errors.UNREACHABLE
