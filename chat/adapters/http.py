"""Exchanges with a provider over HTTP: a streamed answer with its limits and retries, and one JSON lookup."""

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
from chat.adapters import client, faults
from chat.adapters.addresses import GIVEN
from chat.adapters.bounds import Edge
from chat.adapters.events import Event, Finished
from chat.adapters.request import ModelRequest
from chat.errors import ModelError

# Bytes: of one event of a stream, of a whole stream, of an answer that comes at once, of an error, of a list.
# Read JSON may take thirty times the room that its text did.
LONGEST_EVENT = 2 * 1024 * 1024
LONGEST_ANSWER = 64 * 1024 * 1024
LONGEST_WHOLE = 4 * 1024 * 1024
LONGEST_ERROR = 64 * 1024
LONGEST_LOOKUP = 4 * 1024 * 1024
MOST_EVENTS = 300_000
# After so many events that were there at once, other replies have their turn.
EVENTS_A_TURN = 100
LOOKUP_SILENCE = 10.0
MOST_RETRIES = 3
MOST_ADJUSTMENTS = 5
# Seconds: a longer Retry-After is the user's to wait for.
LONGEST_WAIT = 20.0
FIRST_WAIT = 0.5

ENDLESS = "The provider's reply has no end, so it was stopped."

# What this server would not take, learnt from its complaint, so that the next request leaves it out.
Quirks = dict[str, Any]
_learnt: dict[tuple[str, str], Quirks] = {}


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One HTTP request to a provider."""

    url: str
    headers: dict[str, str]
    body: dict[str, Any]


class AnswerReader(Protocol):
    """Turns one answer's messages into events; made anew for each attempt."""

    def read(self, data: dict[str, Any]) -> Iterable[Event]: ...
    def whole(self, data: dict[str, Any]) -> Iterable[Event]: ...
    def close(self, *, done: bool) -> Iterable[Event]: ...


@dataclass(frozen=True, slots=True)
class Wire:
    """A protocol: how to ask, how to read, and what to leave out when a server complains."""

    call: Callable[[ModelRequest, Quirks], WireRequest]
    reader: Callable[[ModelRequest], AnswerReader]
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
        edge = Edge()
        try:
            async with contextlib.aclosing(_attempt(request, wire, quirks, ends)) as events:
                async for event in events:
                    begun = True
                    for taken in edge.take(event):
                        yield taken
                    if edge.is_full:
                        yield Finished("length")
                        return
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
    """Seconds until the next attempt, or None if another would not help."""
    if error.code not in (errors.RATE_LIMIT, errors.SERVER) or retries >= MOST_RETRIES:
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= LONGEST_WAIT else None
    # Not a secret: spread over time, so that many chats don't come back at once.
    return FIRST_WAIT * 2.0**retries * random.uniform(0.8, 1.2)  # noqa: S311


async def _attempt(
    request: ModelRequest, wire: Wire, quirks: Quirks, ends: float
) -> AsyncGenerator[Event, None]:
    call = wire.call(request, quirks)
    reader = wire.reader(request)
    with _network():
        response = await post(call, request.silence, ends, given=request.given)
        try:
            if response.status_code != 200:
                body = await read_body(response, LONGEST_ERROR, ends, cut=True)
                raise Rejected(faults.read(response.status_code, response.headers, body), call.body)
            kind = response.headers.get("content-type", "").lower()
            if "html" in kind:
                raise faults.explain(faults.Fault(200, html=True), model=request.model)
            if "json" in kind and "event" not in kind and "ndjson" not in kind:
                data = _load((await read_body(response, LONGEST_WHOLE, ends)).decode("utf-8", "replace"))
                for event in _guarded(reader.whole(data)):
                    yield event
                return
            done, count = False, 0
            response.headers["content-type"] = "text/event-stream; charset=utf-8"
            response.stream = Watched(response.stream, ends)
            async with contextlib.aclosing(EventSource(response).aiter_sse()) as messages:
                async for message in messages:
                    count += 1
                    if count > MOST_EVENTS:
                        raise ModelError(errors.BAD_STREAM, ENDLESS)
                    if count % EVENTS_A_TURN == 0:
                        await asyncio.sleep(0)
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


async def post(call: WireRequest, silence: float, ends: float, *, given: bool = False) -> httpx.Response:
    """The answer's head; its body is still to be read, and the response to be closed."""
    http = client.client()
    content = json.dumps(call.body, ensure_ascii=False).encode("utf-8", "replace")
    headers = {"Content-Type": "application/json", **call.headers}
    request = http.build_request(
        "POST",
        call.url,
        headers=headers,
        content=content,
        timeout=client.timeouts(silence),
        extensions={GIVEN: given},
    )
    async with asyncio.timeout_at(ends):
        return await http.send(request, stream=True)


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
    raise ModelError(errors.BAD_STREAM, "The provider's reply is too large.")


async def fetch_json(
    method: str,
    url: str,
    headers: dict[str, str],
    body: Any,
    ends: float,
    secrets: Iterable[str] = (),
    most: int = LONGEST_LOOKUP,
    *,
    given: bool = False,
) -> Any:
    """One JSON answer to a small question, with the same errors that a conversation has."""
    http = client.client()
    with _network():
        request = http.build_request(
            method,
            url,
            headers=headers,
            json=body,
            timeout=client.timeouts(LOOKUP_SILENCE),
            extensions={GIVEN: given},
        )
        async with asyncio.timeout_at(ends):
            response = await http.send(request, stream=True)
        try:
            failed = response.status_code != 200
            raw = await read_body(response, LONGEST_ERROR if failed else most, ends, cut=failed)
        finally:
            await response.aclose()
    if failed:
        fault = faults.read(response.status_code, response.headers, raw)
        raise faults.explain(fault, model="", secrets=secrets)
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise ModelError(
            errors.NOT_JSON, "Check the provider's address: it did not return a list of models."
        ) from None


class Watched(httpx.AsyncByteStream):
    """A body that may neither go on for ever, nor be endless, nor hold an endless event."""

    def __init__(self, stream: Any, ends: float) -> None:
        self.stream = stream
        self.ends = ends

    async def __aiter__(self) -> AsyncIterator[bytes]:
        event = total = 0
        seam = b""
        pieces = aiter(self.stream)
        while True:
            async with asyncio.timeout_at(self.ends):
                piece = await anext(pieces, None)
            if piece is None:
                return
            total += len(piece)
            # A blank line ends an event, and may have begun in the piece before.
            seam += piece
            blank = max(seam.rfind(b"\n\n"), seam.rfind(b"\n\r\n"))
            event = event + len(piece) if blank < 0 else len(seam) - blank
            seam = seam[-2:]
            if event > LONGEST_EVENT or total > LONGEST_ANSWER:
                raise ModelError(errors.BAD_STREAM, ENDLESS)
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
        raise ModelError(errors.BAD_STREAM, "The provider's reply is not valid JSON. Try again.")
    return data


def _guarded(events: Iterable[Event]) -> Iterator[Event]:
    """The events; data of another shape than the protocol's is an error with a sentence."""
    try:
        yield from events
    except (AttributeError, KeyError, IndexError, TypeError, ValueError, RecursionError):
        raise ModelError(
            errors.BAD_STREAM, "The provider's reply doesn't match its protocol. Check the protocol."
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
        return ModelError(errors.UNREACHABLE, "The provider does not respond: is it running?")
    if isinstance(fault, (httpx.TimeoutException, TimeoutError)):
        return ModelError(errors.TIMEOUT, "The provider took too long to reply. Try again.")
    if isinstance(fault, (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError)):
        return ModelError(errors.UNREACHABLE, "The provider's address is not a valid http or https address.")
    if isinstance(fault, httpx.ConnectError):
        if isinstance(_root(fault), ssl.SSLError):
            return ModelError(errors.UNREACHABLE, "The provider's certificate can't be trusted.")
        return ModelError(
            errors.UNREACHABLE, "The provider can't be reached: check its address and that it is running."
        )
    return ModelError(errors.CUT, errors.BROKEN_OFF)


def _root(fault: BaseException) -> BaseException:
    while (cause := fault.__cause__ or fault.__context__) is not None:
        fault = cause
    return fault
