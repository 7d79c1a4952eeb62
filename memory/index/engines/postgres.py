"""The index's tables on PostgreSQL: a GIN index over our own terms, pgvector for the sign bits of vectors.

Writes to one owner's tables come one after the other, as all writes do on SQLite: counts of terms are rows
that every change of an index touches, and two changes in another order each would wait for each other.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from django.db import DatabaseError, connection, transaction

from memory.index.vectors import SOURCE_NUMBERS, ListedVector, bits, by_length, number
from memory.models import MemoryIndex, Source
from oneclaw.postgres import locks

if TYPE_CHECKING:
    import numpy as np

CHUNKS = MemoryIndex._meta.db_table
CREATE = """
CREATE TABLE IF NOT EXISTS memory_fulltext (chunk_id bigint PRIMARY KEY, terms text[] NOT NULL);
CREATE INDEX IF NOT EXISTS memory_fulltext_terms ON memory_fulltext USING gin (terms) WITH (fastupdate = off);
CREATE TABLE IF NOT EXISTS memory_vocabulary (term text PRIMARY KEY, doc bigint NOT NULL);
"""
# BM25 of RFC-013, in SQL only to choose candidates. A term that stands `n` times in a row is worth
# n / (n + slow), written so that `n` is counted once. Decimals would take ten times as long as float8.
SLOW = "(0.3::float8 + 0.9::float8 * m.term_count / %s::float8)"
WORTH = (
    f"%s::float8 * (1 - {SLOW} / ({SLOW} + "
    "(OCTET_LENGTH(m.terms) - OCTET_LENGTH(REPLACE(m.terms, %s, ''))) / %s::float8))"
)


class FullText:
    """A row of distinct terms for each chunk, and a row for each term with the number of its chunks."""

    def create(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(CREATE)

    def add(self, rows: Sequence[tuple[int, str]]) -> None:
        """Rows of id and marked terms that were just made in MemoryIndex."""
        found = {id: sorted(set(terms.split())) for id, terms in rows}
        if not found:
            return
        with connection.cursor() as cursor:
            one_at_a_time(owners(found.values()))
            cursor.executemany(
                "INSERT INTO memory_fulltext (chunk_id, terms) VALUES (%s, %s)", list(found.items())
            )
            _count(cursor, Counter(term for terms in found.values() for term in terms))

    def remove(self, rows: Sequence[tuple[int, str]]) -> None:
        """Rows that are about to go."""
        if not rows:
            return
        with connection.cursor() as cursor:
            one_at_a_time(owners(terms.split() for _, terms in rows))
            cursor.execute(
                "DELETE FROM memory_fulltext WHERE chunk_id = ANY(%s) RETURNING terms",
                [[row[0] for row in rows]],
            )
            gone = Counter(term for (terms,) in cursor.fetchall() for term in terms)
            _count(cursor, {term: -count for term, count in gone.items()})
            cursor.execute("DELETE FROM memory_vocabulary WHERE term = ANY(%s) AND doc <= 0", [list(gone)])

    def frequencies(self, owner_id: int, terms: Sequence[str]) -> dict[str, int]:
        """In how many of the owner's chunks each term stands."""
        if not terms:
            return {}
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT term, doc FROM memory_vocabulary WHERE term = ANY(%s)",
                [[f"{owner_id}_{term}" for term in terms]],
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
        """Chunks that hold any of the terms, best first by BM25; `where` limits the rows `m`."""
        if not worth:
            return []
        numbers = list[Any]()
        for term, telling in worth.items():
            marked = f" {owner_id}_{term} "
            numbers += [telling, average, average, marked, len(marked.encode())]
        scores = " + ".join([WORTH] * len(worth))
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT m.id FROM memory_fulltext f JOIN {CHUNKS} m ON m.id = f.chunk_id "  # noqa: S608
                f"WHERE f.terms && %s{where} ORDER BY {scores} DESC, m.id LIMIT %s",
                [[f"{owner_id}_{term}" for term in worth], *values, *numbers, limit],
            )
            return [row[0] for row in cursor.fetchall()]

    def is_sound(self) -> bool:
        """Whether the tables can be read and agree with each other and with MemoryIndex."""
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(
                    f"SELECT 1 FROM {CHUNKS} m FULL JOIN memory_fulltext f ON f.chunk_id = m.id "  # noqa: S608
                    "WHERE m.id IS NULL OR f.chunk_id IS NULL "
                    "OR CARDINALITY(f.terms) <> (SELECT COUNT(DISTINCT t) FROM "
                    "REGEXP_SPLIT_TO_TABLE(BTRIM(m.terms), ' +') t WHERE t <> '') LIMIT 1"
                )
                if cursor.fetchone():
                    return False
                cursor.execute(
                    "SELECT 1 FROM (SELECT t, COUNT(*) n FROM memory_fulltext, UNNEST(terms) t GROUP BY t) c "
                    "FULL JOIN memory_vocabulary v ON v.term = c.t WHERE v.doc IS DISTINCT FROM c.n LIMIT 1"
                )
                return cursor.fetchone() is None
        except DatabaseError:
            return False

    def make_again(self) -> None:
        """Throw the tables away and fill new ones from MemoryIndex."""
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS memory_fulltext, memory_vocabulary")
            self.create()
            cursor.execute(
                "INSERT INTO memory_fulltext (chunk_id, terms) SELECT m.id, ARRAY("  # noqa: S608
                "SELECT DISTINCT t FROM REGEXP_SPLIT_TO_TABLE(BTRIM(m.terms), ' +') t "
                f"WHERE t <> '' ORDER BY t) FROM {CHUNKS} m"
            )
            cursor.execute(
                "INSERT INTO memory_vocabulary (term, doc) "
                "SELECT t, COUNT(*) FROM memory_fulltext, UNNEST(terms) t GROUP BY t"
            )


def owners(found: Iterable[Iterable[str]]) -> list[int]:
    """Whose terms these are."""
    return sorted({int(term.partition("_")[0]) for terms in found for term in list(terms)[:1]})


def one_at_a_time(owner_ids: Sequence[int]) -> None:
    """Who reads what is stored before changing it must have the lock first: others commit meanwhile."""
    for owner_id in owner_ids:
        locks.until_commit(locks.INDEX, owner_id)


def _count(cursor: Any, changes: dict[str, int]) -> None:
    terms = sorted(changes)
    cursor.execute(
        "INSERT INTO memory_vocabulary (term, doc) SELECT * FROM UNNEST(%s::text[], %s::bigint[]) "
        "ON CONFLICT (term) DO UPDATE SET doc = memory_vocabulary.doc + excluded.doc",
        [terms, [changes[term] for term in terms]],
    )


class Vectors:
    """Sign bits in an index that lists each owner's together: the nearest are found by reading only those.

    An index of neighbours over all owners would have to leave out everybody else's; see docs/decisions.md.
    """

    most = 10_000

    def create(self) -> None:
        with connection.cursor() as cursor:
            # Checked before each start, too; a database that is only migrated is whole by this.
            cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
        table(384)

    def put(self, owner_id: int, rows: Sequence[ListedVector]) -> bool:
        """List chunks by id, source, date and vector."""
        self.remove([row[0] for row in rows])
        for dimension, listed in by_length(rows).items():
            with connection.cursor() as cursor:
                cursor.executemany(
                    f"INSERT INTO {table(dimension)} (chunk_id, owner, source, day, bits) "  # noqa: S608
                    "VALUES (%s, %s, %s, %s, CAST(%s AS bit varying))",
                    [(id, owner_id, source, day, signs(vector)) for id, source, day, vector in listed],
                )
        return True

    def remove(self, ids: Sequence[int]) -> bool:
        for name in tables():
            with connection.cursor() as cursor:
                cursor.execute(f"DELETE FROM {name} WHERE chunk_id = ANY(%s)", [list(ids)])  # noqa: S608
        return True

    def remove_owner(self, owner_id: int) -> None:
        for name in tables():
            with connection.cursor() as cursor:
                cursor.execute(f"DELETE FROM {name} WHERE owner = %s", [owner_id])  # noqa: S608

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
        where, values = "", list[Any]()
        if sources:
            where += " AND source = ANY(%s)"
            values.append([SOURCE_NUMBERS[Source(source)] for source in sources])
        if since or until:
            where += " AND day BETWEEN %s AND %s"
            values += [number(since) or 1, number(until) or date.max.toordinal()]
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT chunk_id FROM {table(len(vector))} WHERE owner = %s{where} "  # noqa: S608
                f"ORDER BY bits <~> CAST(%s AS bit({width(len(vector))})), chunk_id LIMIT %s",
                [owner_id, *values, signs(vector), k],
            )
            return [row[0] for row in cursor.fetchall()]

    def are_sound(self) -> bool:
        """Whether every table can be read."""
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                for name in tables():
                    cursor.execute(f"SELECT COUNT(bits), COUNT(DISTINCT owner) FROM {name}")  # noqa: S608
        except DatabaseError:
            return False
        return True

    def drop_all(self) -> None:
        """Throw all tables away; every index lists its vectors again."""
        with connection.cursor() as cursor:
            for name in tables():
                cursor.execute(f"DROP TABLE {name}")


def signs(vector: "np.ndarray") -> str:
    """A vector's sign bits as PostgreSQL writes them."""
    return "".join(f"{byte:08b}" for byte in bits(vector))


def width(dimension: int) -> int:
    return -(-dimension // 8) * 8


def table(dimension: int) -> str:
    """The table of this length of vectors, made if it is not there; models of other lengths have others."""
    name = f"memory_vectors_{dimension}"
    with connection.cursor() as cursor:
        cursor.execute("SELECT TO_REGCLASS(%s)", [name])
        if cursor.fetchone()[0] is None:
            cursor.execute(
                f"CREATE TABLE IF NOT EXISTS {name} (chunk_id bigint PRIMARY KEY, owner bigint NOT NULL, "
                f"source smallint NOT NULL, day integer NOT NULL, bits bit({width(dimension)}) NOT NULL);"
                f"CREATE INDEX IF NOT EXISTS {name}_owner "
                f"ON {name} (owner) INCLUDE (chunk_id, source, day, bits)"
            )
    return name


def tables() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = CURRENT_SCHEMA() "
            r"AND tablename ~ '^memory_vectors_\d+$' ORDER BY tablename"
        )
        return [name for (name,) in cursor.fetchall()]


def rows(sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """What a question finds, in PostgreSQL's own format: vectors written out as text are twice as long."""
    from psycopg import Cursor

    with connection.cursor() as django, connection.wrap_database_errors, Cursor(django.connection) as cursor:
        return cursor.execute(sql, values, binary=True).fetchall()
