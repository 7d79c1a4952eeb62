"""What a hostile provider sends, in the bytes of each protocol."""

import gzip
import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

from tests.modelserver.protocols import STREAMS, sse
from tests.modelserver.script import Script

KINDS = ("openai", "anthropic", "gemini")


def spoken(kind: str, script: Script) -> bytes:
    """An ordinary answer, whole."""
    return b"".join(STREAMS[kind](script))


def openings(kind: str, block: str = "text") -> bytes:
    """What has to come before the first piece."""
    if kind != "anthropic":
        return b""
    return sse({"type": "content_block_start", "index": 0, "content_block": {"type": block}})


def said(kind: str, text: str) -> bytes:
    """One piece of an answer."""
    if kind == "openai":
        return delta({"content": text})
    if kind == "gemini":
        return parts([{"text": text}])
    return sse({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})


def thought(kind: str, text: str) -> bytes:
    """One piece of thinking."""
    if kind == "openai":
        return delta({"reasoning_content": text})
    if kind == "gemini":
        return parts([{"text": text, "thought": True}])
    told = {"type": "thinking_delta", "thinking": text}
    return sse({"type": "content_block_delta", "index": 0, "delta": told})


def called(kind: str, number: int, name: str, arguments: str, given: Any = None) -> bytes:
    """One whole tool call; `given` are its arguments where a protocol has them as JSON, not as text."""
    if kind == "openai":
        function = {"name": name, "arguments": arguments}
        return delta({"tool_calls": [{"index": number, "id": f"call_{number}", "function": function}]})
    if kind == "gemini":
        return parts([{"functionCall": {"name": name, "args": given}}])
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
    told = {"type": "input_json_delta", "partial_json": arguments}
    return sse({"type": "content_block_start", "index": number, "content_block": block}) + sse(
        {"type": "content_block_delta", "index": number, "delta": told}
    )


def ended(kind: str, reason: str = "") -> bytes:
    """The end of an answer."""
    if kind == "openai":
        choice = {"index": 0, "delta": {}, "finish_reason": reason or "stop"}
        return sse({"choices": [choice]}) + sse("[DONE]")
    if kind == "gemini":
        return sse({"candidates": [{"content": {"parts": []}, "finishReason": reason or "STOP"}]})
    return sse({"type": "message_delta", "delta": {"stop_reason": reason or "end_turn"}})


def delta(told: dict[str, Any]) -> bytes:
    return sse({"choices": [{"index": 0, "delta": told}]})


def parts(told: list[Any]) -> bytes:
    return sse({"candidates": [{"content": {"role": "model", "parts": told}}]})


# Floods: pieces of a body, most of them without end.


def bomb(kind: str) -> Iterator[bytes]:
    """Two hundred kilobytes that unpack to two hundred megabytes."""
    yield gzip.compress(openings(kind) + said(kind, "x" * 1_000_000) * 200, compresslevel=6)


def one_line(kind: str) -> Iterator[bytes]:
    yield openings(kind) + b"data: "
    yield from itertools.repeat(b"x" * 65_536)


def one_event(kind: str) -> Iterator[bytes]:
    """Many short lines that never end the event they belong to."""
    yield openings(kind)
    yield from itertools.repeat(b"data: xxxxxxxxxxxxxxxxxxxx\n" * 1_000)


def text(kind: str) -> Iterator[bytes]:
    yield openings(kind)
    yield from itertools.repeat(said(kind, "word " * 10_000))


def thoughts(kind: str) -> Iterator[bytes]:
    yield openings(kind, "thinking")
    yield from itertools.repeat(thought(kind, "hm " * 20_000))


def calls(kind: str) -> Iterator[bytes]:
    """Call after call, each with arguments that take twenty times the room of their letters."""
    given: dict[str, Any] = {"a": [{}] * 10_000}
    one = called(kind, 99_999, "get_current_time", json.dumps(given), given)
    for number in range(10_000, 10_250):
        yield one.replace(b"99999", b"%d" % number)
    yield ended(kind)


def objects(kind: str) -> Iterator[bytes]:
    """Events that are small on the wire and large when read, in fields that nobody asked for."""
    filler = b'data: {"type": "ping", "filler": [' + b"{}," * 600_000 + b"{}]}\n\n"
    yield from itertools.repeat(filler, 5)
    yield ended(kind)


def kept(kind: str) -> Iterator[bytes]:
    """Things that have to be kept for the next round, again and again."""
    if kind == "openai":
        one = delta({"reasoning_details": [{"signature": "99999", "more": [{}] * 20_000}]})
    elif kind == "gemini":
        call = {"functionCall": {"name": "x", "args": {}}, "thoughtSignature": "99999" + "x" * 100_000}
        one = parts([call])
    else:
        block = {"type": "redacted_thinking", "data": "x" * 1_000, "more": [{}] * 20_000}
        one = sse({"type": "content_block_start", "index": 99_999, "content_block": block})
    for number in range(10_000, 10_130):
        yield one.replace(b"99999", b"%d" % number)
    yield ended(kind)


def whole(kind: str) -> Iterator[bytes]:
    """A JSON answer at once, as servers give it that don't stream."""
    yield b'{"choices": ['
    yield from itertools.repeat(b"{}," * 20_000)


def models(kind: str) -> Iterator[bytes]:
    """A list of models without an end."""
    yield b'{"data": ['
    yield from itertools.repeat(b"{}," * 20_000)


def thoughts_enough(kind: str) -> Iterator[bytes]:
    """More than may be thought, and then an end."""
    yield from itertools.islice(thoughts(kind), 60)
    yield openings(kind) + said(kind, "Done.") + ended(kind)


FLOODS = (one_line, one_event, text, thoughts, calls, objects, kept)


def fields(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every text in a value of JSON; a key's place ends with `None` and the key."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from fields(each, (*path, key))
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from fields(each, (*path, at))


def spoilt(value: Any, path: tuple[Any, ...], text: str) -> Any:
    """The value with the text at a place replaced."""
    if not path:
        return text
    step, *rest = path
    items: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
    changed = {at: spoilt(each, tuple(rest), text) if at == step else each for at, each in items}
    return changed if isinstance(value, dict) else list(changed.values())
