"""What a provider or a model server may do to OneClaw: nothing but spoil its own reply."""

import functools
import gzip
import itertools
import json
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings

from chat.adapters import bounds, http
from chat.adapters.events import Finished
from chat.adapters.tool_calls import TOO_DEEP, TOO_LONG, UNREADABLE
from chat.errors import ModelError
from chat.providers import catalogue
from tests.chat.adapters.exchanges import KINDS, answer, calls_of, failure, request_to, text_of, thinking_of
from tests.modelserver import ModelServer
from tests.modelserver.script import Script
from tests.security import hostile

STREAM, JSON = "text/event-stream", "application/json"
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "gzip, gzip": lambda body: gzip.compress(gzip.compress(body)),
    "br": lambda body: body,
    "zstd": lambda body: body,
    "identity, gzip": gzip.compress,
}


# Compression


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("encoding", PACKED)
@pytest.mark.parametrize("content_type", [STREAM, JSON])
async def test_a_packed_answer_is_left_unread(
    kind: str, encoding: str, content_type: str, model_server: ModelServer
) -> None:
    body = PACKED[encoding](hostile.spoken(kind, Script("Hello")))
    model_server.pour(lambda: [body], content_type, headers={"Content-Encoding": encoding})
    error, events = await failure(request_to(kind, model_server))
    assert (error.code, events) == ("bad_stream", [])
    assert "compressed" in error.message
    assert model_server.last.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_packed_error_is_left_unread(kind: str, model_server: ModelServer) -> None:
    headers = {"Content-Encoding": "gzip", "Content-Type": JSON}
    model_server.error(400, gzip.compress(b'{"error": {"message": "no"}}'), headers)
    error, _ = await failure(request_to(kind, model_server))
    assert error.code == "bad_stream"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_packed_list_of_models_is_left_unread(kind: str, model_server: ModelServer) -> None:
    rows = gzip.compress(json.dumps({"data": [{"id": "m"}]}).encode())
    model_server.pour(lambda: [rows], JSON, headers={"Content-Encoding": "gzip"}, match="models")
    with pytest.raises(ModelError) as caught:
        await catalogue.models(kind, model_server.base_url(kind))
    assert caught.value.code == "bad_stream"
    assert model_server.last.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("encoding", ["identity", "Identity", ""])
async def test_an_answer_that_says_it_is_not_packed_is_read(encoding: str, model_server: ModelServer) -> None:
    body = hostile.spoken("openai", Script("Hello"))
    model_server.pour(lambda: [body], headers={"Content-Encoding": encoding})
    assert text_of(await answer(request_to("openai", model_server))) == "Hello"


# Size


@pytest.mark.parametrize("kind", KINDS)
async def test_an_endless_answer_is_cut_with_a_mark(kind: str, model_server: ModelServer) -> None:
    model_server.pour(functools.partial(hostile.text, kind))
    events = await answer(request_to(kind, model_server))
    text, mark = text_of(events), bounds.CUT.format(most=bounds.MOST_TEXT)
    assert text.endswith(mark)
    assert text.startswith("word word ")
    assert len(text) == bounds.MOST_TEXT + len(mark)
    assert events[-1] == Finished("length")


@pytest.mark.parametrize("kind", KINDS)
async def test_endless_thoughts_are_cut_and_what_is_said_after_them_is_heard(
    kind: str, model_server: ModelServer
) -> None:
    model_server.pour(functools.partial(hostile.thoughts_enough, kind))
    events = await answer(request_to(kind, model_server))
    mark = bounds.CUT.format(most=bounds.MOST_TEXT)
    assert len(thinking_of(events)) == bounds.MOST_TEXT + len(mark)
    assert thinking_of(events).endswith(mark)
    assert text_of(events) == "Done."


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("flood", [hostile.one_line, hostile.one_event])
async def test_an_event_without_an_end_is_an_error(
    kind: str, flood: Callable[[str], Iterator[bytes]], model_server: ModelServer
) -> None:
    model_server.pour(functools.partial(flood, kind))
    error, events = await failure(request_to(kind, model_server))
    assert (error.code, events) == ("bad_stream", [])


@pytest.mark.parametrize("kind", KINDS)
async def test_events_are_counted(
    kind: str, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "MOST_EVENTS", 500)
    model_server.pour(lambda: itertools.repeat(b'data: {"type": "ping"}\n\n' * 100))
    error, _ = await failure(request_to(kind, model_server))
    assert error.code == "bad_stream"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_blank_line_in_any_piece_ends_an_event(
    kind: str, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the bytes are cut, an answer of many events is not taken for one that never ends."""
    monkeypatch.setattr(http, "LONGEST_EVENT", 600)
    body = hostile.spoken(kind, Script("one two three four five six seven eight")).replace(b"\n", b"\r\n")
    model_server.pour(lambda: (body[at : at + 1] for at in range(len(body))))
    assert text_of(await answer(request_to(kind, model_server))).endswith("seven eight")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_trickle_ends_with_the_deadline(kind: str, model_server: ModelServer) -> None:
    def pieces() -> Iterator[bytes]:
        yield hostile.openings(kind)
        while True:
            time.sleep(0.02)
            yield b":"

    model_server.pour(pieces)
    began = time.monotonic()
    error, _ = await failure(request_to(kind, model_server, deadline=0.5))
    assert error.code == "timeout"
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("kind", KINDS)
async def test_an_endless_error_is_read_in_part(kind: str, model_server: ModelServer) -> None:
    model_server.pour(lambda: itertools.repeat(b"no " * 10_000), "text/plain", status=400)
    error, _ = await failure(request_to(kind, model_server))
    assert error.code == "bad_request"
    assert len(error.message) < 500


def test_no_flood_costs_much_memory(model_server: ModelServer) -> None:
    """In a process of its own, whose memory nobody else uses."""
    packed = {"Content-Encoding": "gzip"}
    for flood in (*hostile.FLOODS, hostile.bomb, hostile.whole, hostile.models):
        for kind in hostile.KINDS:
            model_server.pour(
                functools.partial(flood, kind),
                JSON if flood in (hostile.whole, hostile.models) else STREAM,
                headers=packed if flood is hostile.bomb else {},
                match="models" if flood is hostile.models else None,
            )
    names = [flood.__name__ for flood in (*hostile.FLOODS, hostile.bomb, hostile.whole, hostile.models)]
    costs = appetite(model_server, ",".join(names))
    assert len(costs) == 3 * len(names)
    assert max(cost["mb"] for cost in costs) < 150, costs
    for cost in costs:
        if cost["attack"] in ("bomb", "whole", "models", "one_line", "one_event"):
            assert cost["code"] in ("bad_stream", "not_json"), cost


def appetite(server: ModelServer, attack: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.security.appetite", server.url, attack],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


# Tool calls


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return {"query": value}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (deep(900), TOO_DEEP),
        (deep(bounds.DEEPEST + 1), TOO_DEEP),
        (deep(20), ""),
        ({"query": "x" * (bounds.MOST_ARGUMENTS + 1)}, TOO_LONG),
        ({"query": "x" * (bounds.MOST_ARGUMENTS - 100)}, ""),
        ({"query": 10**40}, ""),
        ({"query": -(10**40)}, ""),
    ],
)
async def test_arguments_are_bounded(kind: str, given: Any, problem: str, model_server: ModelServer) -> None:
    model_server.pour(
        lambda: [hostile.called(kind, 0, "search", json.dumps(given), given), hostile.ended(kind)]
    )
    (call,) = calls_of(await answer(request_to(kind, model_server)))
    assert call.problem == problem
    assert call.arguments == ({} if problem else given)


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_arguments_deeper_than_any_parser_goes(kind: str, model_server: ModelServer) -> None:
    text = '{"a":' * 12_000 + "1" + "}" * 12_000
    short = text[: bounds.MOST_ARGUMENTS - 10]
    model_server.pour(lambda: [hostile.called(kind, 0, "search", short), hostile.ended(kind)])
    (call,) = calls_of(await answer(request_to(kind, model_server)))
    assert call.problem == UNREADABLE


@pytest.mark.parametrize("kind", KINDS)
async def test_calls_are_counted(kind: str, model_server: ModelServer) -> None:
    sent = [hostile.called(kind, number, "get_current_time", "{}", {}) for number in range(2_000)]
    model_server.pour(lambda: [*sent, hostile.ended(kind)])
    calls = calls_of(await answer(request_to(kind, model_server)))
    assert len(calls) <= bounds.MOST_CALLS
    assert len({call.id for call in calls}) == len(calls)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("levels", [900, 100_000])
async def test_an_answer_nested_too_deep_is_an_error(
    kind: str, levels: int, model_server: ModelServer
) -> None:
    body = b'{"error": ' + b"[" * levels + b"]" * levels + b"}"
    model_server.default = Script(body=b"data: " + body + b"\n\n", headers={"Content-Type": STREAM})
    error, events = await failure(request_to(kind, model_server))
    assert (error.code in ("bad_stream", "server"), events) == (True, [])
    model_server.default = Script(status=400, body=body)
    error, _ = await failure(request_to(kind, model_server))
    assert error.code == "bad_request"


# Characters

HALF, OTHER_HALF = "\ud83d", "\ude00"


def bad(text: str) -> bool:
    """Whether a text can't be stored."""
    return "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_character_in_two_pieces_is_one_again(kind: str, model_server: ModelServer) -> None:
    words = [f"a{HALF}", f"{OTHER_HALF}b{HALF}", f"{HALF}{OTHER_HALF}", "c\0d", HALF]
    pieces = [
        hostile.openings(kind, "thinking"),
        *(surrogate_safe(hostile.thought, kind, word) for word in words),
        hostile.openings(kind),
        *(surrogate_safe(hostile.said, kind, word) for word in words),
        hostile.ended(kind),
    ]
    model_server.pour(lambda: pieces)
    events = await answer(request_to(kind, model_server))
    assert text_of(events) == "a😀b�😀cd�"
    assert thinking_of(events) == "a😀b�😀cd�"


def surrogate_safe(make: Callable[[str, str], bytes], kind: str, text: str) -> bytes:
    """A piece with a text that UTF-8 can't carry, as JSON escapes it."""
    return make(kind, "@@@").replace(b'"@@@"', json.dumps(text).encode())
