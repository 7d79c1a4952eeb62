"""One exchange with a provider over HTTP: send, watch the limits, retry, hand each message to its reader."""

import asyncio
import contextlib
import json
import random
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import httpx
from httpx_sse import EventSource

from chat import errors
from chat.adapters import connection, faults
from chat.adapters.request import ModelRequest
from chat.errors import ModelError
from chat.events import Event

LONGEST_LINE = 4 * 1024 * 1024
LONGEST_ANSWER = 64 * 1024 * 1024
LONGEST_ERROR = 256 * 1024
MOST_RETRIES = 3
MOST_ADJUSTMENTS = 5
# Seconds: a longer Retry-After is the user's to wait for.
LONGEST_WAIT = 20.0
FIRST_WAIT = 0.5

# What this server would not take, learnt from its complaint, so that the next request leaves it out.
Quirks = dict[str, Any]
_learnt: dict[tuple[str, str], Quirks] = {}


@dataclass(frozen=True, slots=True)
class Call:
    """A request as bytes will carry it."""

    url: str
    headers: dict[str, str]
    body: dict[str, Any]


class Reader(Protocol):
    """Turns one answer's messages into events; made anew for each attempt."""

    def read(self, data: dict[str, Any]) -> Iterable[Event]: ...
    def whole(self, data: dict[str, Any]) -> Iterable[Event]: ...
    def close(self, *, done: bool) -> Iterable[Event]: ...


@dataclass(frozen=True, slots=True)
class Wire:
    """A protocol: how to ask, how to read, and what to leave out when a server complains."""

    call: Callable[[ModelRequest, Quirks], Call]
    reader: Callable[[ModelRequest], Reader]
    quirk: Callable[[str, dict[str, Any]], Quirks]


class Rejected(Exception):
    """The provider answered with an error status."""

    def __init__(self, fault: faults.Fault, body: dict[str, Any]) -> None:
        super().__init__(fault.status)
        self.fault = fault
        self.body = body


async def converse(request: ModelRequest, wire: Wire) -> AsyncGenerator[Event, None]:
    """The answer's events. Before the first of them 429 and 5xx are tried again; after it nothing is."""
    ends = asyncio.get_running_loop().time() + request.deadline
    quirks = _learnt.setdefault((request.base_url, request.model), {})
    begun, retries, adjustments = False, 0, 0
    while True:
        try:
            async with contextlib.aclosing(_attempt(request, wire, quirks, ends)) as events:
                async for event in events:
                    begun = True
                    yield event
            return
        except Rejected as rejected:
            if rejected.fault.status in (400, 404, 422) and adjustments < MOST_ADJUSTMENTS:
                new = wire.quirk(rejected.fault.said, rejected.body)
                if new and not new.items() <= quirks.items():
                    quirks.update(new)
                    adjustments += 1
                    continue
            error = faults.explain(rejected.fault, model=request.model, secrets=request.secrets)
        except ModelError as failure:
            error = failure
        wait = _wait(error, retries)
        if begun or wait is None or asyncio.get_running_loop().time() + wait > ends:
            raise error from None
        retries += 1
        await asyncio.sleep(wait)


def _wait(error: ModelError, retries: int) -> float | None:
    """Seconds until the next attempt, or None where another would not help."""
    if error.code not in (errors.RATE_LIMIT, errors.SERVER) or retries >= MOST_RETRIES:
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= LONGEST_WAIT else None
    # Not a secret: spread over time, so that many chats don't come back at once.
    return FIRST_WAIT * 2**retries * random.uniform(0.8, 1.2)  # noqa: S311


async def _attempt(
    request: ModelRequest, wire: Wire, quirks: Quirks, ends: float
) -> AsyncGenerator[Event, None]:
    call = wire.call(request, quirks)
    reader = wire.reader(request)
    with _network():
        response = await post(call, request.silence, ends)
        try:
            if response.status_code != 200:
                body = await read_body(response, LONGEST_ERROR, ends, cut=True)
                raise Rejected(faults.read(response.status_code, response.headers, body), call.body)
            kind = response.headers.get("content-type", "").lower()
            if "html" in kind:
                raise faults.explain(faults.Fault(200, html=True), model=request.model)
            if "json" in kind and "event" not in kind and "ndjson" not in kind:
                data = _load((await read_body(response, LONGEST_ANSWER, ends)).decode("utf-8", "replace"))
                for event in _guarded(reader.whole(data)):
                    yield event
                return
            done = False
            response.headers["content-type"] = "text/event-stream; charset=utf-8"
            response.stream = Watched(response.stream, ends)
            async with contextlib.aclosing(EventSource(response).aiter_sse()) as messages:
                async for message in messages:
                    if message.data.strip() == "[DONE]":
                        done = True
                        break
                    if message.data:
                        for event in _guarded(reader.read(_load(message.data))):
                            yield event
            for event in _guarded(reader.close(done=done)):
                yield event
        finally:
            await response.aclose()


async def post(call: Call, silence: float, ends: float) -> httpx.Response:
    """The answer's head; its body is still to be read, and the response to be closed."""
    client = connection.client()
    content = json.dumps(call.body, ensure_ascii=False).encode("utf-8", "replace")
    headers = {"Content-Type": "application/json", **call.headers}
    request = client.build_request(
        "POST", call.url, headers=headers, content=content, timeout=connection.timeouts(silence)
    )
    async with asyncio.timeout_at(ends):
        return await client.send(request, stream=True)


async def read_body(response: httpx.Response, most: int, ends: float, *, cut: bool = False) -> bytes:
    """The whole body, up to a limit: beyond it the rest is left (`cut`) or is an error."""
    body = bytearray()
    pieces = response.aiter_bytes()
    while len(body) <= most:
        async with asyncio.timeout_at(ends):
            piece = await anext(pieces, None)
        if piece is None:
            return bytes(body)
        body += piece
    if cut:
        return bytes(body[:most])
    raise ModelError(errors.BAD_STREAM, "The provider's answer is too large to be one.")


class Watched(httpx.AsyncByteStream):
    """A body that may neither go on for ever, nor be endless, nor hold an endless line."""

    def __init__(self, stream: Any, ends: float) -> None:
        self.stream = stream
        self.ends = ends

    async def __aiter__(self) -> AsyncIterator[bytes]:
        line = total = 0
        pieces = aiter(self.stream)
        while True:
            async with asyncio.timeout_at(self.ends):
                piece = await anext(pieces, None)
            if piece is None:
                return
            total += len(piece)
            newline = piece.rfind(b"\n")
            line = line + len(piece) if newline < 0 else len(piece) - newline - 1
            if line > LONGEST_LINE or total > LONGEST_ANSWER:
                raise ModelError(errors.BAD_STREAM, "The provider's answer never ends: it was stopped.")
            yield piece

    async def aclose(self) -> None:
        await self.stream.aclose()


def _load(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        if text.lstrip()[:1] == "<":
            raise faults.explain(faults.Fault(200, html=True), model="") from None
        data = None
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        raise ModelError(errors.BAD_STREAM, "The provider sent something that is not JSON. Try again.")
    return data


def _guarded(events: Iterable[Event]) -> Iterator[Event]:
    """The events; data of another shape than the protocol's is an error with a sentence."""
    try:
        yield from events
    except (AttributeError, KeyError, IndexError, TypeError, ValueError):
        raise ModelError(
            errors.BAD_STREAM, "The provider's answer is not in the form its protocol has. Check its kind."
        ) from None


@contextlib.contextmanager
def _network() -> Iterator[None]:
    """Faults of the network as errors with a sentence; nothing of the request comes along."""
    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, TimeoutError, OSError) as fault:
        raise network_error(fault) from None


def network_error(fault: Exception) -> ModelError:
    if isinstance(fault, httpx.ConnectTimeout):
        return ModelError(errors.UNREACHABLE, "Nothing answers at the provider's address: is it running?")
    if isinstance(fault, (httpx.TimeoutException, TimeoutError)):
        return ModelError(errors.TIMEOUT, "The provider took too long to answer. Try again.")
    if isinstance(fault, (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError)):
        return ModelError(errors.UNREACHABLE, "The provider's address is not a valid http or https one.")
    if isinstance(fault, httpx.ConnectError):
        if isinstance(_root(fault), ssl.SSLError):
            return ModelError(errors.UNREACHABLE, "The provider's certificate can't be trusted.")
        return ModelError(
            errors.UNREACHABLE, "The provider can't be reached: check its address, and that it is running."
        )
    return ModelError(errors.CUT, errors.BROKEN_OFF)


def _root(fault: BaseException) -> BaseException:
    while (cause := fault.__cause__ or fault.__context__) is not None:
        fault = cause
    return fault
