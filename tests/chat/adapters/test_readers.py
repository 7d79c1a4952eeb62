"""Whatever a provider sends, a reader gives events or a ModelError and nothing else."""

import copy
import dataclasses
import json
import pickle
import random
from typing import Any

import pytest

from chat.adapters import ModelRequest, anthropic, faults, gemini, http, openai
from chat.adapters.events import Event, Finished, TextDelta, ThinkingDelta, ToolCall, Usage
from chat.errors import ModelError
from tests.chat.adapters.exchanges import KINDS
from tests.modelserver import Script
from tests.modelserver.protocols import STREAMS, WHOLES

WIRES = {"openai": openai.WIRE, "anthropic": anthropic.WIRE, "gemini": gemini.WIRE}
SCRIPT = Script("One two", thinking="Hm", calls=[("clock", {"zone": "UTC"}), ("search", {"query": "x"})])
JUNK: list[Any] = [
    None,
    True,
    -1,
    0.5,
    "",
    "junk",
    [],
    [None],
    {},
    {"type": "text"},
    {"error": "x"},
    [[1]],
    10**30,
]


def messages(kind: str) -> list[dict[str, Any]]:
    lines = [line for sent in STREAMS[kind](SCRIPT) for line in sent.decode().splitlines()]
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: {")]
    return [json.loads(line) for line in data]


def spoil(value: Any, dice: random.Random) -> Any:
    """The same with one thing in it replaced, left out, or doubled."""
    if not isinstance(value, (dict, list)) or not value or dice.random() < 0.15:
        return dice.choice(JUNK)
    spoilt = copy.copy(value)
    at: Any = dice.choice(list(value)) if isinstance(value, dict) else dice.randrange(len(value))
    if dice.random() < 0.2:
        del spoilt[at]
    else:
        spoilt[at] = spoil(value[at], dice)
    return spoilt


def is_sound(event: Event) -> bool:
    """Whether everything in an event is of the type it says."""
    match event:
        case TextDelta(text) | ThinkingDelta(text):
            return isinstance(text, str)
        case ToolCall(id, name, arguments):
            return isinstance(id, str) and isinstance(name, str) and isinstance(arguments, dict)
        case Usage():
            return all(count is None or isinstance(count, int) for count in dataclasses.astuple(event))
        case Finished(_, state):
            return state is None or bool(json.dumps(state))


def read(kind: str, stream: list[Any]) -> list[Event]:
    reader = WIRES[kind].reader(ModelRequest(kind, "http://x", "m", ()))
    events: list[Event] = []
    for message in stream:
        events += http._guarded(reader.read(http._load(json.dumps(message))))
    return [*events, *http._guarded(reader.close(done=False))]


@pytest.mark.parametrize("kind", KINDS)
def test_a_spoilt_stream_is_an_answer_or_an_error(kind: str) -> None:
    dice = random.Random(7)
    whole = messages(kind)
    outcomes = set()
    for _ in range(1500):
        stream = list(whole)
        for _ in range(dice.randint(1, 3)):
            at = dice.randrange(len(stream))
            stream[at] = spoil(stream[at], dice)
        try:
            events = read(kind, stream)
            assert isinstance(events[-1], Finished)
            assert all(map(is_sound, events))
            outcomes.add("finished")
        except ModelError as error:
            outcomes.add(error.code)
    assert {"finished", "bad_stream"} <= outcomes


@pytest.mark.parametrize("kind", KINDS)
def test_a_spoilt_single_answer_is_an_answer_or_an_error(kind: str) -> None:
    dice = random.Random(8)
    for _ in range(500):
        reader = WIRES[kind].reader(ModelRequest(kind, "http://x", "m", ()))
        spoilt = spoil(WHOLES[kind](SCRIPT), dice)
        try:
            events = list(http._guarded(reader.whole(http._load(json.dumps(spoilt)))))
        except ModelError:
            continue
        assert isinstance(events[-1], Finished)
        assert all(map(is_sound, events))


def test_a_spoilt_error_is_an_error_with_a_sentence() -> None:
    dice = random.Random(9)
    details = [{"reason": "X", "violations": [{"quotaId": "PerDay"}], "retryDelay": "3s"}]
    whole = {
        "error": {"message": "m", "type": "t", "code": 400, "details": details, "metadata": {"raw": "r"}}
    }
    for status in range(200, 600):
        body = json.dumps(spoil(whole, dice)).encode()
        error = faults.explain(faults.read(status, {}, body), model="m", secrets=["sk-0000"])
        assert error.code
        assert error.message.endswith((".", "”"))


def test_an_error_comes_whole_out_of_another_process() -> None:
    error = pickle.loads(pickle.dumps(ModelError("rate_limit", "Wait.", 7)))
    assert (error.code, error.message, error.retry_after) == ("rate_limit", "Wait.", 7)
