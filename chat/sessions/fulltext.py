"""Which messages hold a term: the one place of chat where SQLite (FTS5) and PostgreSQL (GIN) differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from django.db import connection

from oneclaw.postgres import is_postgres

# PostgreSQL's bounds on one text: bytes, the place of a term in it, and how often one is counted.
MOST_BYTES, LAST_PLACE, MOST_PLACES, LONGEST = 900_000, 16_383, 255, 500


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing to look for: terms that follow each other, or one that may be unfinished."""

    terms: tuple[str, ...]
    unfinished: bool = False


class FullText(Protocol):
    """The messages' terms by message and owner."""

    def newest(self) -> int:
        """The highest message in the table; 0 when it is empty."""

    def add(self, rows: Sequence[tuple[int, int, Sequence[str]]]) -> None:
        """Rows of message, owner and terms, in place of what was there."""

    def find(self, owner_id: int, wanted: Sequence[Wanted], limit: int) -> list[int]:
        """Messages on pages of the owner's chats that hold all that is wanted, best first."""

    def prune(self) -> None:
        """Drop what belongs to no message any more."""

    def empty(self) -> None:
        """Drop everything."""


# What is joined to the table `f`: of the owner, in a chat that is not deleted, and on its page.
ON_PAGES = (
    "JOIN chat_session s ON s.id = m.session_id "
    "WHERE s.owner_id = %s AND s.deleted_at IS NULL AND m.shelf_id IS NULL"
)


class SqliteFullText:
    """FTS5, whose first column names the owner."""

    def newest(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT max(id) FROM chat_message_search_docsize")
            return cursor.fetchone()[0] or 0

    def add(self, rows: Sequence[tuple[int, int, Sequence[str]]]) -> None:
        with connection.cursor() as cursor:
            cursor.executemany("DELETE FROM chat_message_search WHERE rowid = %s", [row[:1] for row in rows])
            cursor.executemany(
                "INSERT INTO chat_message_search (rowid, owner, terms) VALUES (%s, %s, %s)",
                [(id, f"u{owner}", " ".join(terms)) for id, owner, terms in rows],
            )

    def find(self, owner_id: int, wanted: Sequence[Wanted], limit: int) -> list[int]:
        matching = " AND ".join(f'"{" ".join(each.terms)}"' + "*" * each.unfinished for each in wanted)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT m.id FROM chat_message_search f JOIN chat_message m ON m.id = f.rowid "  # noqa: S608
                f"{ON_PAGES} AND chat_message_search MATCH %s ORDER BY f.rank, m.id DESC LIMIT %s",
                [owner_id, f'owner : "u{owner_id}" AND terms : ({matching})', limit],
            )
            return [row[0] for row in cursor.fetchall()]

    def prune(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM chat_message_search WHERE rowid NOT IN (SELECT id FROM chat_message)")

    def empty(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM chat_message_search")


class PostgresFullText:
    """A tsvector of our own terms, each with its owner in front: its list is the owner's alone."""

    def newest(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT max(message_id) FROM chat_message_search")
            return cursor.fetchone()[0] or 0

    def add(self, rows: Sequence[tuple[int, int, Sequence[str]]]) -> None:
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO chat_message_search (message_id, terms) VALUES (%s, %s::tsvector) "
                "ON CONFLICT (message_id) DO UPDATE SET terms = excluded.terms",
                # In one order everywhere: two processes that add the same messages never wait in a circle.
                [(id, places(owner, terms)) for id, owner, terms in sorted(rows)],
            )

    def find(self, owner_id: int, wanted: Sequence[Wanted], limit: int) -> list[int]:
        matching = " & ".join(
            "(" + " <-> ".join(quoted(owner_id, term) for term in each.terms) + ":*" * each.unfinished + ")"
            for each in wanted
        )
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT m.id FROM chat_message_search f JOIN chat_message m ON m.id = f.message_id "  # noqa: S608
                f"{ON_PAGES} AND f.terms @@ %s::tsquery "
                "ORDER BY ts_rank(f.terms, %s::tsquery, 1) DESC, m.id DESC LIMIT %s",
                [owner_id, matching, matching, limit],
            )
            return [row[0] for row in cursor.fetchall()]

    def prune(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "DELETE FROM chat_message_search f "
                "WHERE NOT EXISTS (SELECT 1 FROM chat_message m WHERE m.id = f.message_id)"
            )

    def empty(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE chat_message_search")


def quoted(owner_id: int, term: str) -> str:
    """A term as PostgreSQL reads it, with its owner in front."""
    plain = term[:LONGEST].replace("\\", "\\\\").replace("'", "''")
    return f"'{owner_id}_{plain}'"


def places(owner_id: int, terms: Sequence[str]) -> str:
    """Terms with their places, as PostgreSQL reads a tsvector; of a huge text, its beginning."""
    found, size = dict[str, list[int]](), 0
    for place, term in enumerate(terms, 1):
        here = found.setdefault(quoted(owner_id, term), [])
        if len(here) < MOST_PLACES:
            here.append(min(place, LAST_PLACE))
            size += 3 * len(term) + 24
        if size > MOST_BYTES:
            break
    return " ".join(f"{term}:{','.join(map(str, at))}" for term, at in found.items())


def table() -> FullText:
    return PostgresFullText() if is_postgres() else SqliteFullText()
