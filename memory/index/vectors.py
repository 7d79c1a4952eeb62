"""Vectors as bytes, and the sqlite-vec table that finds the nearest by their sign bits.

Full vectors stay in MemoryIndex for the score. Sign bits only choose candidates: they take a thirtieth of the
room and time, and the 200 nearest by bits hold nearly all of the true nearest.
"""

import re
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from django.db import DatabaseError, connection, transaction

from memory.index import fulltext
from memory.models import Source
from oneclaw.sqlite.vectors import has_vectors

if TYPE_CHECKING:
    import numpy as np

# vec0 knows numbers; their order must never change.
SOURCE_NUMBERS = {Source.DAILY_LOG: 0, Source.LONG_TERM: 1, Source.TRANSCRIPT: 2}
MOST = 4096  # neighbours that vec0 finds at once
TABLE = re.compile(r"memory_vectors_\d+")


def to_bytes(vector: "np.ndarray") -> bytes:
    return vector.astype("<f4").tobytes()


def from_bytes(data: bytes | memoryview) -> "np.ndarray":
    import numpy as np

    return np.frombuffer(data, dtype="<f4")


def bits(vector: "np.ndarray") -> bytes:
    import numpy as np

    return np.packbits(vector > 0, bitorder="little").tobytes()


def table(dimension: int) -> str:
    """The table of this length of vectors, made if it is not there; models of other lengths have others."""
    name = f"memory_vectors_{dimension}"
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING vec0(chunk_id INTEGER PRIMARY KEY, "
            f"owner INTEGER PARTITION KEY, source INTEGER, day INTEGER, bits BIT[{-(-dimension // 8) * 8}])"
        )
    return name


def tables() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'memory_vectors_*'")
        return [name for (name,) in cursor.fetchall() if TABLE.fullmatch(name)]


def put(owner_id: int, rows: "Sequence[tuple[int, str, date | None, np.ndarray]]") -> bool:
    """List chunks by id, source, date and vector; False where this connection has no sqlite-vec."""
    if not has_vectors():
        return False
    remove([row[0] for row in rows])
    for dimension in sorted({len(row[3]) for row in rows}):
        name = table(dimension)
        with connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO {name}(chunk_id, owner, source, day, bits) "  # noqa: S608
                "VALUES (%s, %s, %s, %s, vec_bit(%s))",
                [
                    (id, owner_id, SOURCE_NUMBERS[Source(source)], number(day), bits(vector))
                    for id, source, day, vector in rows
                    if len(vector) == dimension
                ],
            )
    return True


def remove(ids: Sequence[int]) -> bool:
    if not has_vectors():
        return False
    for name in tables():
        with connection.cursor() as cursor:
            cursor.executemany(f"DELETE FROM {name} WHERE chunk_id = %s", [(id,) for id in ids])  # noqa: S608
    return True


def remove_owner(owner_id: int) -> None:
    for name in tables():
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT chunk_id FROM {name} WHERE owner = %s", [owner_id])  # noqa: S608
            ids = cursor.fetchall()
            cursor.executemany(f"DELETE FROM {name} WHERE chunk_id = %s", ids)  # noqa: S608


def nearest(
    owner_id: int,
    vector: "np.ndarray",
    k: int,
    sources: Sequence[str] | None = None,
    since: date | None = None,
    until: date | None = None,
) -> list[int]:
    """The owner's chunks with the most sign bits in common with the vector."""
    where, values = "", list[int]()
    if sources:
        numbers = [SOURCE_NUMBERS[Source(source)] for source in sources]
        where += f" AND source IN ({', '.join(map(str, numbers))})"
    if since or until:
        where += " AND day >= %s AND day <= %s"
        values = [number(since) or 1, number(until) or date.max.toordinal()]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT chunk_id FROM {table(len(vector))} "  # noqa: S608
            f"WHERE bits MATCH vec_bit(%s) AND owner = %s AND k = %s{where}",
            [bits(vector), owner_id, k, *values],
        )
        return [row[0] for row in cursor.fetchall()]


def number(day: date | None) -> int:
    """A date as a number; what has no date is before all dates."""
    return day.toordinal() if day else 0


def are_sound() -> bool:
    """Whether every table can be read whole, searched and written."""
    try:
        with connection.cursor() as cursor, transaction.atomic():
            for name in tables():
                none = bytes(-(-int(name.rpartition("_")[2]) // 8))
                cursor.execute(f"SELECT DISTINCT owner FROM {name}")  # noqa: S608
                for (owner,) in cursor.fetchall():
                    near = (
                        f"SELECT chunk_id FROM {name} WHERE bits MATCH vec_bit(%s) AND owner = %s AND k = 1"  # noqa: S608
                    )
                    cursor.execute(near, [none, owner])
                    cursor.fetchall()
                row = (
                    f"INSERT INTO {name}(chunk_id, owner, source, day, bits) VALUES (0, 0, 0, 0, vec_bit(%s))"  # noqa: S608
                )
                cursor.execute(row, [none])
                cursor.execute(f"DELETE FROM {name} WHERE chunk_id = 0")  # noqa: S608
    except DatabaseError:
        return False
    return True


def drop_all() -> None:
    """Throw all tables away, however broken; every index lists its vectors again."""
    with transaction.atomic():
        for name in tables():
            fulltext.drop(name)
