"""The full-text table: which chunks of an owner hold a term, and how many do.

Every term carries its owner ("12_cat"), so lists and document frequencies are the owner's alone. The table
keeps no text: it reads MemoryIndex.terms, and can be made again from there at any time.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import date

from django.db import DatabaseError, connection, transaction

from memory.models import MemoryIndex

CREATE = """
CREATE VIRTUAL TABLE IF NOT EXISTS memory_fulltext USING fts5(
    terms, content='memory_memoryindex', content_rowid='id', tokenize="ascii tokenchars '_'"
)
"""
CREATE_VOCABULARY = """
CREATE VIRTUAL TABLE IF NOT EXISTS memory_vocabulary USING fts5vocab('memory_fulltext', 'row')
"""


def create() -> None:
    with connection.cursor() as cursor:
        cursor.execute(CREATE)
        cursor.execute(CREATE_VOCABULARY)


def marked(owner_id: int, terms: Iterable[str]) -> str:
    """Terms as MemoryIndex keeps them: each between two spaces of its own, so that counting is a search."""
    return "".join(f" {owner_id}_{term} " for term in terms)


def add(rows: Sequence[tuple[int, str]]) -> None:
    """Rows of id and marked terms that were just made in MemoryIndex."""
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO memory_fulltext(rowid, terms) VALUES (%s, %s)", rows)


def remove(rows: Sequence[tuple[int, str]]) -> None:
    """Rows that are about to go; the table needs their terms once more to find them."""
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO memory_fulltext(memory_fulltext, rowid, terms) VALUES ('delete', %s, %s)", rows
        )


def frequencies(owner_id: int, terms: Sequence[str]) -> dict[str, int]:
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
    owner_id: int, terms: Sequence[str], limit: int, where: str, values: Sequence[str | date]
) -> list[int]:
    """Chunks that hold any of the terms, best first by FTS5's own BM25; `where` limits the rows `m`."""
    if not terms:
        return []
    joined = f"JOIN {MemoryIndex._meta.db_table} m ON m.id = f.rowid" if where else ""
    question = " OR ".join(f'"{owner_id}_{term}"' for term in terms)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT f.rowid FROM memory_fulltext f {joined} "  # noqa: S608
            f"WHERE f.memory_fulltext MATCH %s{where} ORDER BY f.rank LIMIT %s",
            [question, *values, limit],
        )
        return [row[0] for row in cursor.fetchall()]


def is_sound() -> bool:
    """Whether the table can be read and agrees with itself and with MemoryIndex."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO memory_fulltext(memory_fulltext, rank) VALUES ('integrity-check', 1)")
            cursor.execute("SELECT term FROM memory_vocabulary LIMIT 1")
    except DatabaseError:
        return False
    return True


def make_again() -> None:
    """Throw the table away, however broken, and fill a new one from MemoryIndex."""
    with transaction.atomic():
        drop("memory_vocabulary")
        drop("memory_fulltext")
        create()
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO memory_fulltext(memory_fulltext) VALUES ('rebuild')")


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
