"""The index's tables on SQLite: FTS5 for words, sqlite-vec for the sign bits of vectors."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.db import DatabaseError, connection, transaction

from memory.index.vectors import SOURCE_NUMBERS, ListedVector, bits, by_length, number
from memory.models import MemoryIndex, Source
from oneclaw.sqlite.vectors import has_vectors

if TYPE_CHECKING:
    import numpy as np

CREATE = """
CREATE VIRTUAL TABLE IF NOT EXISTS memory_fulltext USING fts5(
    terms, content='memory_memoryindex', content_rowid='id', tokenize="ascii tokenchars '_'"
)
"""
CREATE_VOCABULARY = """
CREATE VIRTUAL TABLE IF NOT EXISTS memory_vocabulary USING fts5vocab('memory_fulltext', 'row')
"""

MOST = 4096  # neighbours that vec0 finds at once
TABLE = re.compile(r"memory_vectors_\d+")
# Where a value stands in a statement; a doubled sign is a single one, and none of these.
VALUE = re.compile("(?<!%)%s")


class FullText:
    """FTS5 over MemoryIndex.terms. It keeps no text, and can be made again from there at any time."""

    def create(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(CREATE)
            cursor.execute(CREATE_VOCABULARY)

    def add(self, rows: Sequence[tuple[int, str]]) -> None:
        """Rows of id and marked terms that were just made in MemoryIndex."""
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO memory_fulltext(rowid, terms) VALUES (%s, %s)", rows)

    def remove(self, rows: Sequence[tuple[int, str]]) -> None:
        """Rows that are about to go; the table needs their terms once more to find them."""
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO memory_fulltext(memory_fulltext, rowid, terms) VALUES ('delete', %s, %s)", rows
            )

    def frequencies(self, owner_id: int, terms: Sequence[str]) -> dict[str, int]:
        """In how many of the owner's chunks each term stands."""
        if not terms:
            return {}
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT term, doc FROM memory_vocabulary WHERE term IN (SELECT value FROM json_each(%s))",
                [json.dumps([f"{owner_id}_{term}" for term in terms])],
            )
            found = dict(cursor.fetchall())
        return {term: found.get(f"{owner_id}_{term}", 0) for term in terms}

    def best(
        self,
        owner_id: int,
        worth: Mapping[str, float],
        average: float,
        limit: int,
        where: str,
        values: Sequence[str | date],
    ) -> list[int]:
        """Chunks that hold any of the terms, best first by FTS5's own BM25; `where` limits the rows `m`."""
        if not worth:
            return []
        joined = f"JOIN {MemoryIndex._meta.db_table} m ON m.id = f.rowid" if where else ""
        question = " OR ".join(f'"{owner_id}_{term}"' for term in worth)
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT f.rowid FROM memory_fulltext f {joined} "  # noqa: S608
                f"WHERE f.memory_fulltext MATCH %s{where} ORDER BY f.rank LIMIT %s",
                [question, *values, limit],
            )
            return [row[0] for row in cursor.fetchall()]

    def is_sound(self) -> bool:
        """Whether the table can be read and agrees with itself and with MemoryIndex."""
        try:
            with connection.cursor() as cursor:
                cursor.execute(
                    "INSERT INTO memory_fulltext(memory_fulltext, rank) VALUES ('integrity-check', 1)"
                )
                cursor.execute("SELECT term FROM memory_vocabulary LIMIT 1")
        except DatabaseError:
            return False
        return True

    def make_again(self) -> None:
        """Throw the table away, however broken, and fill a new one from MemoryIndex."""
        with transaction.atomic():
            drop("memory_vocabulary")
            drop("memory_fulltext")
            self.create()
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO memory_fulltext(memory_fulltext) VALUES ('rebuild')")


class Vectors:
    """vec0 over sign bits, a table for each length of vectors."""

    most = MOST

    def create(self) -> None:
        if has_vectors():
            table(384)

    def put(self, owner_id: int, rows: Sequence[ListedVector]) -> bool:
        """List chunks by id, source, date and vector; False where this connection has no sqlite-vec."""
        if not has_vectors():
            return False
        self.remove([row[0] for row in rows])
        for dimension, listed in by_length(rows).items():
            with connection.cursor() as cursor:
                cursor.executemany(
                    f"INSERT INTO {table(dimension)}(chunk_id, owner, source, day, bits) "  # noqa: S608
                    "VALUES (%s, %s, %s, %s, vec_bit(%s))",
                    [(id, owner_id, source, day, bits(vector)) for id, source, day, vector in listed],
                )
        return True

    def remove(self, ids: Sequence[int]) -> bool:
        if not has_vectors():
            return False
        for name in tables():
            with connection.cursor() as cursor:
                cursor.executemany(f"DELETE FROM {name} WHERE chunk_id = %s", [(id,) for id in ids])  # noqa: S608
        return True

    def remove_owner(self, owner_id: int) -> None:
        for name in tables():
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT chunk_id FROM {name} WHERE owner = %s", [owner_id])  # noqa: S608
                ids = cursor.fetchall()
                cursor.executemany(f"DELETE FROM {name} WHERE chunk_id = %s", ids)  # noqa: S608

    def nearest(
        self,
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

    def are_sound(self) -> bool:
        """Whether every table can be read whole, searched and written."""
        try:
            with connection.cursor() as cursor, transaction.atomic():
                for name in tables():
                    none = bytes(-(-int(name.rpartition("_")[2]) // 8))
                    cursor.execute(f"SELECT DISTINCT owner FROM {name}")  # noqa: S608
                    for (owner,) in cursor.fetchall():
                        near = f"SELECT chunk_id FROM {name} WHERE bits MATCH vec_bit(%s)"  # noqa: S608
                        near += " AND owner = %s AND k = 1"
                        cursor.execute(near, [none, owner])
                        cursor.fetchall()
                    row = f"INSERT INTO {name}(chunk_id, owner, source, day, bits)"
                    cursor.execute(f"{row} VALUES (0, 0, 0, 0, vec_bit(%s))", [none])
                    cursor.execute(f"DELETE FROM {name} WHERE chunk_id = 0")  # noqa: S608
        except DatabaseError:
            return False
        return True

    def drop_all(self) -> None:
        """Throw all tables away, however broken; every index lists its vectors again."""
        with transaction.atomic():
            for name in tables():
                drop(name)


def rows(sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """What a question finds. Every search asks it, and Django's own cursor would take as long again."""
    connection.ensure_connection()
    connection.validate_no_broken_transaction()
    with connection.wrap_database_errors:
        found: list[tuple[Any, ...]] = connection.connection.execute(as_driver(sql), values).fetchall()
        return found


@lru_cache(maxsize=100)
def as_driver(sql: str) -> str:
    """A statement with SQLite's own signs for values."""
    return VALUE.sub("?", sql).replace("%%", "%")


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


def drop(table: str) -> None:
    """Drop a virtual table; one that is too broken for that is taken out of the schema by hand."""
    with connection.cursor() as cursor:
        try:
            with transaction.atomic():
                cursor.execute(f"DROP TABLE IF EXISTS {table}")
            return
        except DatabaseError:
            cursor.execute("PRAGMA writable_schema = ON")
            cursor.execute("DELETE FROM sqlite_master WHERE name = %s AND type = 'table'", [table])
            cursor.execute("PRAGMA writable_schema = RESET")
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB %s", [f"{table}_*"])
        for (shadow,) in cursor.fetchall():
            cursor.execute(f'DROP TABLE "{shadow}"')
