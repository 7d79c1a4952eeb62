"""Copying a table portion by portion: what already stands in the target as it should is left there."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from oneclaw.moving.places import MoveFailed
from oneclaw.moving.values import Column, Row, Table, without_nul

PORTION = 500
# Told after each portion: the table, how many of its rows are done, and how many it has.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class TableSum:
    """What a table holds: how many rows, and one checksum over all of them in the order of their keys."""

    rows: int
    checksum: str


def copy(table: Table, source: BaseDatabaseWrapper, progress: Progress) -> tuple[TableSum, int]:
    """Make the target's table what the source's is; returns what that holds, and how many were written."""
    total, done, written = count(table, source), 0, 0
    after, sums = None, hashlib.sha256()
    for rows in portions(table, source):
        wanted = [_for_target(table, row) for row in rows]
        last = rows[-1][table.key_place]
        there = {row[table.key_place]: table.digest(row) for row in _between(table, after, last)}
        digests = {row[table.key_place]: table.digest(row) for row in wanted}
        stale = [key for key, digest in there.items() if digests.get(key) != digest]
        for digest in digests.values():
            sums.update(digest)
        missing = [row for row in wanted if there.get(row[table.key_place]) != digests[row[table.key_place]]]
        if stale or missing:
            _exchange(table, stale, missing)
        after, done, written = last, done + len(rows), written + len(missing)
        progress(table.name, done, total)
    _remove_after(table, after)
    return TableSum(done, sums.hexdigest()), written


def summed(table: Table, database: BaseDatabaseWrapper) -> TableSum:
    """Count and checksum, read from the database again."""
    digest, number = hashlib.sha256(), 0
    for rows in portions(table, database):
        for row in rows:
            digest.update(table.digest(_for_target(table, row)))
        number += len(rows)
    return TableSum(number, digest.hexdigest())


def count(table: Table, database: BaseDatabaseWrapper) -> int:
    with database.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM {quoted(table.name)}")  # noqa: S608
        return int(cursor.fetchone()[0])


def portions(table: Table, database: BaseDatabaseWrapper) -> Iterator[list[Row]]:
    after = None
    while rows := _read(table, database, after, None, PORTION):
        yield rows
        after = rows[-1][table.key_place]


def carry_counter(table: Table, source: BaseDatabaseWrapper) -> None:
    """The number of a row that was deleted is not given again, in the target neither."""
    if not table.counts_up:
        return
    last = max(_last_number(table, source), 0)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # In a sequence that begins at 1, "not called" says that nothing was numbered yet.
            cursor.execute(
                "SELECT setval(pg_get_serial_sequence(%s, %s), %s, %s)",
                [quoted(table.name), table.key.name, max(last, 1), last > 0],
            )
        else:
            cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table.name])
            if last:
                cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table.name, last])


def _last_number(table: Table, source: BaseDatabaseWrapper) -> int:
    highest = f"SELECT COALESCE(MAX({quoted(table.key.name)}), 0) FROM {quoted(table.name)}"  # noqa: S608
    with source.cursor() as cursor:
        cursor.execute(highest)
        last = int(cursor.fetchone()[0])
        if source.vendor == "postgresql":
            cursor.execute("SELECT pg_get_serial_sequence(%s, %s)", [quoted(table.name), table.key.name])
            (sequence,) = cursor.fetchone()
            cursor.execute(f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}")  # noqa: S608
        else:
            cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table.name])
        given = cursor.fetchone()
    return max(last, int(given[0]) if given else 0)


def _for_target(table: Table, row: Row) -> Row:
    return without_nul(table.columns, row) if connection.vendor == "postgresql" else row


def _between(table: Table, after: object, last: object) -> list[Row]:
    return _read(table, connection, after, last, None)


def _read(
    table: Table, database: BaseDatabaseWrapper, after: object, last: object, limit: int | None
) -> list[Row]:
    """Rows in the order of their keys, which is the same everywhere."""
    key, where, values = _ordered(table.key, database), list[str](), list[Any]()
    if after is not None:
        where.append(f"{key} > %s")
        values.append(table.key.write(after, database))
    if last is not None:
        where.append(f"{key} <= %s")
        values.append(table.key.write(last, database))
    names = ", ".join(quoted(column.name) for column in table.columns)
    statement = f"SELECT {names} FROM {quoted(table.name)}"  # noqa: S608
    statement += f" WHERE {' AND '.join(where)}" if where else ""
    statement += f" ORDER BY {key}" + (f" LIMIT {limit}" if limit else "")
    readers = [column.reader(database) for column in table.columns]
    with database.cursor() as cursor:
        cursor.execute(statement, values)
        return [
            tuple(
                value if read is None or value is None else read(value)
                for read, value in zip(readers, row, strict=True)
            )
            for row in cursor.fetchall()
        ]


def _ordered(key: Column, database: BaseDatabaseWrapper) -> str:
    """SQLite orders text by its bytes; PostgreSQL does so where it is told."""
    is_text = database.vendor == "postgresql" and key.kind in ("CharField", "TextField")
    return quoted(key.name) + ' COLLATE "C"' * is_text


def _exchange(table: Table, stale: list[object], missing: list[Row]) -> None:
    try:
        with transaction.atomic():
            _delete(table, stale)
            _insert(table, missing)
    except DatabaseError:
        _name_the_row(table, stale, missing)
        raise


def _delete(table: Table, keys: list[object]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(
            f"DELETE FROM {quoted(table.name)} WHERE {quoted(table.key.name)} = %s",  # noqa: S608
            [(table.key.write(key, connection),) for key in keys],
        )


def _insert(table: Table, rows: list[Row]) -> None:
    names = ", ".join(quoted(column.name) for column in table.columns)
    marks = ", ".join(["%s"] * len(table.columns))
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {quoted(table.name)} ({names}) VALUES ({marks})",  # noqa: S608
            [
                tuple(
                    column.write(value, connection) for column, value in zip(table.columns, row, strict=True)
                )
                for row in rows
            ],
        )


def _name_the_row(table: Table, stale: list[object], missing: list[Row]) -> None:
    """Which row the target refuses, such as one whose text is longer than its column."""
    for row in missing:
        try:
            with transaction.atomic():
                _delete(table, [row[table.key_place]])
                _insert(table, [row])
        except DatabaseError as error:
            reason = str(error).strip().splitlines()[0]
            raise MoveFailed(
                f"The target does not take the row {row[table.key_place]} of {table.name}: {reason}. "
                "Mend it in the source and run this again; what is there stays."
            ) from None


def _remove_after(table: Table, last: object) -> None:
    """Rows that the source does not have any more, or never had."""
    key = _ordered(table.key, connection)
    with connection.cursor() as cursor:
        if last is None:
            cursor.execute(f"DELETE FROM {quoted(table.name)}")  # noqa: S608
        else:
            cursor.execute(
                f"DELETE FROM {quoted(table.name)} WHERE {key} > %s",  # noqa: S608
                [table.key.write(last, connection)],
            )


def quoted(name: str) -> str:
    return f'"{name}"'
