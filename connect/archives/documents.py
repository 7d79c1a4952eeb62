"""JSON of any size, read item by item: nothing in it is held for longer, or larger, than one item may be."""

import codecs
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO
from zipfile import BadZipFile

# Bytes of memory that one item may take, the length of one string in the file, and how deep it may nest.
MOST_ITEM, MOST_STRING, DEEPEST = 64 * 2**20, 48 * 2**20, 64
EVENT_BYTES = 90
PIECE = 64 * 1024
# Objects around the items that some programs write.
WRAPPERS = ("conversations", "chats", "memories", "data")

READ_ERRORS = (
    BadZipFile,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    UnicodeDecodeError,
    zlib.error,
)


class Damaged(Exception):
    """The file can't be read any further; the message says why."""


@dataclass(frozen=True, slots=True)
class TooMuch:
    """Stands for an item that is too large or too deep to be taken in."""

    why: str


class Feed:
    """A file as UTF-8 for the parser, whatever its encoding, and the count of what was read in vain."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.silent = 0
        self.decoder: codecs.IncrementalDecoder | None = None

    def read(self, size: int = PIECE) -> bytes:
        if size == 0:
            return b""
        try:
            data = self.stream.read(PIECE)
        except READ_ERRORS as error:
            raise Damaged(
                f"It can't be unpacked: {error}" if str(error) else "It can't be unpacked."
            ) from None
        self.silent += len(data)
        if self.silent > MOST_STRING:
            raise Damaged("A single text in it is too long.")
        if self.decoder is None:
            self.decoder = codecs.getincrementaldecoder(encoding_of(data))("replace")
        text = self.decoder.decode(data, final=not data)
        if data and not text:
            return self.read(size)
        return text.encode("utf-8", "replace")


def encoding_of(start: bytes) -> str:
    """How a text is encoded, by its first bytes."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if start[1:2] == b"\0" and start[:1] in b"[{ \n":
        return "utf-16-le"
    if start[:1] == b"\0":
        return "utf-16-be"
    return "utf-8-sig"


def items(stream: BinaryIO) -> Iterator[Any]:
    """The items of a list, or of a list within an object, or the object itself; one after the other.

    An item that is too much comes as TooMuch. Damaged is raised where the text can't be read on.
    """
    feed = Feed(stream)
    for value in _built(_events(feed)):
        feed.silent = 0
        yield value


def _events(feed: Feed) -> Iterator[tuple[str, Any]]:
    import ijson

    try:
        for event in ijson.basic_parse(feed, use_float=True, multiple_values=True, buf_size=PIECE):
            feed.silent = 0
            yield event
    except (ijson.JSONError, ValueError, OverflowError, UnicodeError) as error:
        reason = str(error).strip().splitlines()[0][:120] if str(error).strip() else "it ends early"
        raise Damaged(f"It is not valid JSON from here on: {reason}") from None
    except RecursionError:
        raise Damaged("It nests too deep.") from None


def _built(events: Iterator[tuple[str, Any]]) -> Iterator[Any]:
    for event, value in events:
        if event == "start_array":
            yield from _listed(events)
        elif event == "start_map":
            yield from _object(events)
        else:
            yield value


def _listed(events: Iterator[tuple[str, Any]]) -> Iterator[Any]:
    for event, value in events:
        if event == "end_array":
            return
        yield Item(event, value).built(events)


def _object(events: Iterator[tuple[str, Any]]) -> Iterator[Any]:
    """An object; if it only wraps a list of others, these."""
    whole, key, wrapped = Item("start_map", None), "", False
    for event, value in events:
        if event == "map_key" and whole.depth == 1:
            key = value
        if event == "start_array" and whole.depth == 1 and key in WRAPPERS:
            wrapped = True
            yield from _listed(events)
            event, value = "null", None
        if whole.take(event, value):
            if not wrapped:
                yield whole.value
            return


class Item:
    """One value as it is put together from events, within its bounds."""

    def __init__(self, event: str, value: Any) -> None:
        self.depth, self.cost, self.problem = 0, 0, ""
        self.value: Any = None
        self.stack = list[Any]()
        self.keys = list[str]()
        self.done = self.take(event, value)

    def built(self, events: Iterator[tuple[str, Any]]) -> Any:
        if not self.done:
            for event, value in events:
                if self.take(event, value):
                    break
            else:
                raise Damaged("It ends in the middle.")
        return TooMuch(self.problem) if self.problem else self.value

    def take(self, event: str, value: Any) -> bool:
        """Add an event; True when the value is whole."""
        if event == "start_map" or event == "start_array":
            self.depth += 1
            self._open({} if event == "start_map" else [])
            return False
        if event == "end_map" or event == "end_array":
            self.depth -= 1
            if not self.problem:
                self.stack.pop()
                self.keys.pop()
            if self.depth == 0 and self.problem:
                self.value = TooMuch(self.problem)
            return self.depth == 0
        if self.problem:
            return self.depth == 0
        self.cost += EVENT_BYTES + (sys.getsizeof(value) if isinstance(value, str) else 0)
        if self.cost > MOST_ITEM:
            self._give_up("It is too large.")
        elif event == "map_key":
            self.keys[-1] = value
        else:
            self._put(value)
        return self.depth == 0

    def _open(self, container: Any) -> None:
        if self.problem:
            return
        if self.depth > DEEPEST:
            self._give_up("It nests too deep.")
            return
        self.cost += EVENT_BYTES
        self._put(container)
        self.stack.append(container)
        self.keys.append("")

    def _put(self, value: Any) -> None:
        if not self.stack:
            self.value = value
        elif isinstance(self.stack[-1], list):
            self.stack[-1].append(value)
        else:
            self.stack[-1][self.keys[-1]] = value

    def _give_up(self, problem: str) -> None:
        self.problem, self.value = problem, None
        self.stack, self.keys = [], []


def first_keys(stream: BinaryIO, most: int = 4_000) -> tuple[dict[str, set[str]], Any]:
    """The keys of the first object, each with the keys of the first object within it; without reading on."""
    found, path = dict[str, set[str]](), list[str]()
    first: dict[str, Any] = {}
    arrays = 0
    try:
        for number, (event, value) in enumerate(_events(Feed(stream))):
            if number > most:
                break
            if event == "start_map":
                path.append("")
            elif event == "map_key":
                path[-1] = value
                if len(path) == 1:
                    found.setdefault(value, set())
                elif len(path) == 2:
                    found[path[0]].add(value)
            elif event == "end_map":
                path.pop()
                if not path:
                    break
            elif event in ("start_array", "end_array"):
                arrays += 1 if event == "start_array" else -1
                if event == "end_array" and not path and arrays == 0:
                    break
            elif len(path) == 1 and path[0] and isinstance(value, str):
                first.setdefault(path[0], value[:200])
    except Damaged:
        pass
    return found, first
