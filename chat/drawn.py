"""HTML that was drawn before: kept in memory, by all that it was drawn from."""

import dataclasses
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Model, QuerySet
from django.template.loader import get_template
from django.utils import timezone

# An entry takes about so many characters of room itself.
ENTRY = 200
# Of rows that are kept, in characters: those of a few hundred pages.
ROWS = 16_000_000
# Stands for the reader's token against forged requests in what is kept. Nobody can guess it, and so nobody's
# text can ask for a token.
TOKEN = secrets.token_urlsafe(32)
PLAIN = {str, int, float, bool, type(None), datetime, UUID}


class Drawn:
    """HTML by what it was drawn from; the least used goes when room is short.

    It is in memory only: another version of the renderer is another process, and nothing that was deleted is
    kept on disk. What it was drawn from is known by two hashes, and so is not kept a second time. They are
    Python's own, under the process's secret key: those of hashlib let go of the interpreter, and a page with
    a hundred rows would wait a hundred times to get it back.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self._used = 0
        self._html: OrderedDict[tuple[int, int, int], str] = OrderedDict()
        self._lock = threading.Lock()

    def html(self, source: str, draw: Callable[[], str]) -> str:
        """What `draw` makes of the source, drawn once."""
        key = hash(source), hash(f"{source} "), len(source)
        with self._lock:
            if (known := self._html.get(key)) is not None:
                self._html.move_to_end(key)
                return known
        html = draw()
        with self._lock:
            if key not in self._html and len(html) <= self.room:
                self._html[key] = html
                self._used += len(html) + ENTRY
            while self._used > self.room:
                self._used -= len(self._html.popitem(last=False)[1]) + ENTRY
        return html

    def clear(self) -> None:
        with self._lock:
            self._html.clear()
            self._used = 0


DRAWN_ROWS = Drawn(room=ROWS)


def row(
    template: str, values: Mapping[str, Any], known_by: object, token: str, *, tight: bool = False
) -> str:
    """A row of a page, drawn from these values alone; `known_by` holds all that may change in it.

    `tight` takes out the template's line breaks and indents: a third of what a long list weighs.
    """
    source = repr((template, timezone.get_current_timezone_name(), facts(known_by)))

    def draw() -> str:
        html = get_template(template).render({**values, "csrf_token": TOKEN})
        return tightened(html) if tight else html

    return DRAWN_ROWS.html(source, draw).replace(TOKEN, token)


def tightened(html: str) -> str:
    """HTML on one line; for what has neither code nor line breaks of anybody's own in it."""
    return " ".join(filter(None, map(str.strip, html.split("\n"))))


def facts(value: object, besides: frozenset[str] = frozenset()) -> object:
    """A value with all that it holds, as plain as `repr` needs it; of a row, the columns but for some."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, Model):
        held = [
            (name, each if type(each) in PLAIN else facts(each))
            for name, each in vars(value).items()
            if name[0] != "_" and name not in besides
        ]
        # Rows of other tables that were read with it.
        return held, facts(vars(value).get("_prefetched_objects_cache"))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [facts(getattr(value, each.name)) for each in dataclasses.fields(value)]
    if isinstance(value, Mapping):
        return [(str(name), facts(each)) for name, each in value.items()]
    if isinstance(value, list | tuple | QuerySet):
        return [facts(each) for each in value]
    return repr(value)
