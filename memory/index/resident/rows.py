"""One user's index in memory, made from the rows of MemoryIndex and kept as they are."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, NamedTuple

from memory.index import changes
from memory.index import vectors as stored_vectors
from memory.index.index import Standing
from memory.index.resident.arrays import Growing
from memory.index.resident.vectors import Vectors
from memory.index.resident.words import Words
from memory.index.terms import asks, opening_term
from memory.models import IndexState, MemoryIndex, Source

if TYPE_CHECKING:
    import numpy as np

AT_ONCE = 2_000
# With more changed rows than this, or with more that went, it is better made again.
MOST_CHANGED, MOST_GONE = 2_000, 0.25
KINDS = {Source.DAILY_LOG: 0, Source.LONG_TERM: 1, Source.TRANSCRIPT: 2}
NONE = -1
# Bits of a place in its source, below those of the source.
HALF = 32
LOWER = (1 << HALF) - 1
# The square of a vector's length. It should be one; of a damaged vector it may be anything.
LARGEST = 1e8
# Bytes that a chunk takes, about: its vector, bits and twenty words.
A_CHUNK = 620


class Outdated(Exception):
    """The index in memory is no longer what the database holds, and has to be made again."""


class Row(NamedTuple):
    """What is read of a chunk; of its text only what it begins and ends with is kept."""

    id: int
    source_type: str
    source_key: str
    source_date: date | None
    chunk_text: str
    created_at: datetime
    anchor: int | None
    position: int
    terms: str
    term_count: int
    embedding: bytes | memoryview | None
    embedded_by: str


class ResidentIndex:
    """Columns of numbers, one row a chunk, in the order of their ids; a row that went is only marked."""

    def __init__(self, owner_id: int, room: int = 0) -> None:
        self.owner_id = owner_id
        self.stamp = 0
        self.count = self.term_total = 0
        # The terms of rows, and those that they begin with.
        self.words, self.openings = Words(), Words()
        self.vectors: dict[int, Vectors] = {}
        self._room = room

        def column(kind: str) -> Growing:
            return Growing(kind, room=room)

        self._ids, self._created, self._anchors = column("i8"), column("i8"), column("i8")
        self._sources, self._days, self._positions = column("i4"), column("i4"), column("i4")
        self._lengths, self._slots, self._talks = column("i4"), column("i4"), column("i4")
        self._kinds, self._sizes, self._makers = column("i1"), column("i2"), column("i2")
        self._dates = column("i4")
        # A row's source in the upper half, its place there in the lower one.
        self._places = column("i8")
        self._here, self._asks = column("?"), column("?")
        self._keys: dict[str, int] = {}
        self._names: dict[str, int] = {}
        # Numbers of a source's days, and of days; what has no date has a number of its own.
        self._talk_numbers: dict[tuple[int, int], int] = {}
        self._date_numbers: dict[tuple[int, int], int] = {}
        # Rows by source, as they stand there: when all was read, and for the sources that changed since.
        self._order: np.ndarray
        self._starts: np.ndarray
        self._moved: dict[int, np.ndarray] = {}

    # Made, and kept up to date

    @classmethod
    def load(cls, owner_id: int) -> "ResidentIndex":
        """Read all rows. What changes meanwhile is known by its stamp, and read again."""
        state = IndexState.objects.filter(owner_id=owner_id).values_list("stamp", "chunk_count").first()
        if state is None:
            raise Outdated("There is no index yet.")
        made = cls(owner_id, room=state[1])
        last = 0
        while rows := read(owner_id, after=last):
            made._add(rows)
            last = rows[-1].id
        made._pack()
        made.stamp = state[0]
        return made

    def follow(self, index: Standing) -> None:
        """Read what changed since; raises Outdated if that can't be known or is too much."""
        if self.stamp != index.stamp:
            changed = changes.since(self.owner_id, self.stamp)
            if changed is None or len(changed) > MOST_CHANGED:
                raise Outdated("Too much has changed since it was read.")
            self._change(changed)
            self.stamp = index.stamp
        if (self.count, self.term_total) != (index.chunk_count, index.term_total):
            raise Outdated("It does not agree with the database.")

    @property
    def is_worn(self) -> bool:
        """Whether so many rows went that it should be made again when there is time."""
        return self.size - self.count > max(1_000, MOST_GONE * self.size)

    def _add(self, rows: Sequence[Row]) -> None:
        import numpy as np

        first = self.size
        self._ids.add([row.id for row in rows])
        self._created.add([int(row.created_at.timestamp()) for row in rows])
        self._anchors.add([NONE if row.anchor is None else row.anchor for row in rows])
        self._sources.add([self._keys.setdefault(row.source_key, len(self._keys)) for row in rows])
        self._days.add([stored_vectors.number(row.source_date) for row in rows])
        self._number_days(first)
        self._positions.add([row.position for row in rows])
        self._lengths.add([row.term_count for row in rows])
        self._kinds.add([KINDS[Source(row.source_type)] for row in rows])
        self._asks.add([asks(row.chunk_text) for row in rows])
        self._here.add(np.ones(len(rows), dtype=bool))
        for column in (self._slots, self._sizes, self._places):
            column.add(np.full(len(rows), NONE))
        self._makers.add([self._maker(row.embedded_by) for row in rows])
        for number, row in enumerate(rows, first):
            self.words.add(number, row.terms)
            self.openings.add(number, opening_term(row.chunk_text))
        self.count += len(rows)
        self.term_total += sum(row.term_count for row in rows)
        self._place_vectors([(number, row.embedding) for number, row in enumerate(rows, first)])

    def _number_days(self, first: int) -> None:
        """Number the talk and the date of each row from here on: scores are compared within those."""
        talks, dates = self._talk_numbers, self._date_numbers
        stand = zip(self._sources.filled[first:].tolist(), self._days.filled[first:].tolist(), strict=True)
        found = [(source, day) if day else (NONE, row) for row, (source, day) in enumerate(stand, first)]
        self._talks.add([talks.setdefault(key, len(talks)) for key in found])
        alone = ((source if source == NONE else 0, day) for source, day in found)
        self._dates.add([dates.setdefault(key, len(dates)) for key in alone])

    def _place_vectors(self, found: "Iterable[tuple[int, bytes | memoryview | None]]") -> None:
        """Give rows a slot for their vector; one that is no number at all has none."""
        import numpy as np

        sized = dict[int, list[tuple[int, bytes | memoryview]]]()
        for row, data in found:
            if data and len(data) % 4 == 0:
                sized.setdefault(len(data) // 4, []).append((row, data))
        for size, group in sized.items():
            block = self.vectors.get(size)
            if block is None:
                # Nearly all rows of a memory have vectors of one length.
                block = self.vectors[size] = Vectors(size, self._room if not self.vectors else 0)
            vectors = np.frombuffer(b"".join(data for _, data in group), "<f4").reshape(-1, size)
            with np.errstate(all="ignore"):
                sound = np.einsum("ij,ij->i", vectors, vectors) < LARGEST
            rows = np.array([row for row, _ in group])[sound]
            self._slots.filled[rows] = block.add(rows, vectors[sound])
            self._sizes.filled[rows] = size

    def _pack(self) -> None:
        import numpy as np

        self.words.pack()
        self.openings.pack()
        sources = self._sources.filled
        self._order = np.lexsort((self._positions.filled, self._anchors.filled, sources)).astype(np.int32)
        self._starts = np.searchsorted(sources[self._order], np.arange(len(self._keys) + 1))
        self._places.filled[self._order] = np.arange(self.size)
        self._places.filled[:] += sources.astype(np.int64) << HALF

    def _change(self, ids: Iterable[int]) -> None:
        """Read these rows again: new ones are added, others changed or marked as gone."""
        import numpy as np

        wanted = sorted(ids)
        now = {row.id: row for row in read(self.owner_id, ids=wanted)}
        touched = set[int]()
        for id in wanted:
            at = int(np.searchsorted(self._ids.filled, id))
            if at < self.size and self._ids.filled[at] == id:
                touched.add(int(self._sources.filled[at]))
                if id in now:
                    self._update(at, now[id])
                else:
                    self._remove(at)
        last = int(self._ids.filled[-1]) if self.size else 0
        new = [now[id] for id in wanted if id in now and id > last]
        if any(id not in self for id in now if id <= last):
            raise Outdated("Rows came in another order.")
        if new:
            self._add(new)
            touched |= {self._keys[row.source_key] for row in new}
        for source in touched:
            self._place(source)

    def __contains__(self, id: int) -> bool:
        import numpy as np

        at = int(np.searchsorted(self._ids.filled, id))
        return at < self.size and bool(self._ids.filled[at] == id) and bool(self._here.filled[at])

    def _update(self, at: int, row: Row) -> None:
        """A row's text never changes, its place and its vector may."""
        self._created.filled[at] = int(row.created_at.timestamp())
        self._anchors.filled[at] = NONE if row.anchor is None else row.anchor
        self._positions.filled[at] = row.position
        self._makers.filled[at] = self._maker(row.embedded_by)
        self._leave_slot(at)
        self._place_vectors([(at, row.embedding)])

    def _remove(self, at: int) -> None:
        if not self._here.filled[at]:
            return
        self._here.filled[at] = False
        self.count -= 1
        self.term_total -= int(self._lengths.filled[at])
        self._leave_slot(at)

    def _leave_slot(self, at: int) -> None:
        if (size := int(self._sizes.filled[at])) != NONE:
            self.vectors[size].leave(int(self._slots.filled[at]))
            self._slots.filled[at] = self._sizes.filled[at] = NONE

    def _place(self, source: int) -> None:
        """Count the places of a source whose rows are others now."""
        import numpy as np

        rows = np.flatnonzero((self._sources.filled == source) & self._here.filled)
        rows = rows[np.lexsort((self._positions.filled[rows], self._anchors.filled[rows]))]
        self._moved[source] = rows
        self._places.filled[rows] = (source << HALF) + np.arange(rows.size)

    def _maker(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names))

    # Asked

    @property
    def size(self) -> int:
        """All rows, those that went among them."""
        return self._ids.size

    @property
    def ids(self) -> "np.ndarray":
        return self._ids.filled

    @property
    def created(self) -> "np.ndarray":
        return self._created.filled

    @property
    def sources(self) -> "np.ndarray":
        return self._sources.filled

    @property
    def days(self) -> "np.ndarray":
        return self._days.filled

    @property
    def lengths(self) -> "np.ndarray":
        return self._lengths.filled

    @property
    def kinds(self) -> "np.ndarray":
        return self._kinds.filled

    def groups(self, rows: "np.ndarray") -> "tuple[np.ndarray, np.ndarray, np.ndarray]":
        """The places of rows with their sources, and the numbers of their talks and dates."""
        return self._places.filled[rows], self._talks.filled[rows], self._dates.filled[rows]

    @property
    def here(self) -> "np.ndarray | None":
        """Which rows are still there; None for all."""
        return None if self.size == self.count else self._here.filled

    @property
    def nbytes(self) -> int:
        columns = sum(one.nbytes for one in vars(self).values() if isinstance(one, Growing))
        words = self.words.nbytes + self.openings.nbytes
        return columns + words + sum(one.nbytes for one in self.vectors.values())

    def source_number(self, key: str) -> int:
        return self._keys.get(key, NONE)

    def made_by(self, name: str) -> int:
        """The number of a model's name, by which `makers` tells whose vectors rows have."""
        return self._names.get(name, NONE)

    @property
    def makers(self) -> "np.ndarray":
        return self._makers.filled

    @property
    def asks(self) -> "np.ndarray":
        return self._asks.filled

    def opens_with(self, terms: Iterable[str]) -> "np.ndarray":
        """Of all rows, whether they begin with one of the terms."""
        import numpy as np

        found = np.zeros(self.size, dtype=bool)
        for term in terms:
            found[self.openings.holding(term)[0]] = True
        return found

    def is_whole(self, block: Vectors, model: int) -> bool:
        """Whether all rows have their vectors there, by this model, each in the slot of its own number."""
        in_order = block.in_order and not block.left and block.rows.size == self.size
        return in_order and self.models == 1 and model != NONE

    @property
    def models(self) -> int:
        """How many models the rows' vectors are by."""
        return len(self._names)

    def slots(self, rows: "np.ndarray", size: int) -> "np.ndarray":
        """The slots of these rows among the vectors of a length, -1 for a row without."""
        import numpy as np

        found: np.ndarray = np.where(self._sizes.filled[rows] == size, self._slots.filled[rows], NONE)
        return found

    def rows_of(self, source: int) -> "np.ndarray":
        """A source's rows as they stand there."""
        if source in self._moved:
            return self._moved[source]
        return self._order[self._starts[source] : self._starts[source + 1]]

    def beside(self, rows: "np.ndarray", distance: int) -> "np.ndarray":
        """The rows within this distance of each in its source, and itself; some more than once."""
        import numpy as np

        sources, found = self.sources[rows], [rows]
        if self._moved:
            moved = np.isin(sources, np.fromiter(self._moved, int, len(self._moved)))
            for row in rows[moved].tolist():
                there, place = self._moved[int(self.sources[row])], int(self._places.filled[row]) & LOWER
                found.append(there[max(0, place - distance) : place + distance + 1])
            rows, sources = rows[~moved], sources[~moved]
        places, first = self._places.filled[rows] & LOWER, self._starts[sources]
        last = self._starts[sources + 1] - 1
        for step in (step for step in range(-distance, distance + 1) if step):
            near = places + step
            found.append(self._order[near[(near >= first) & (near <= last)]])
        return np.concatenate(found)


def read(owner_id: int, *, after: int = 0, ids: Sequence[int] | None = None) -> list[Row]:
    """Rows by their ids, or the next ones after an id."""
    mine = MemoryIndex.objects.filter(owner_id=owner_id).order_by("id").values_list(*Row._fields)
    if ids is None:
        return [Row(*row) for row in mine.filter(id__gt=after)[:AT_ONCE]]
    found = list[Row]()
    for at in range(0, len(ids), AT_ONCE // 4):
        found += [Row(*row) for row in mine.filter(id__in=ids[at : at + AT_ONCE // 4])]
    return found
