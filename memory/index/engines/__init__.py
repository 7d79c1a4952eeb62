"""Where the two databases differ for memory: the tables of words and vectors, and a few words of SQL.

SQLite has FTS5 and sqlite-vec, PostgreSQL a GIN index and pgvector. The score is computed on
what either finds.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Protocol

from memory.index.engines import postgres, sqlite
from memory.index.vectors import ListedVector
from oneclaw.postgres import is_postgres

if TYPE_CHECKING:
    import numpy as np


class FullText(Protocol):
    """Which chunks hold a term, and how many do. Terms carry their owner, so lists are the owner's alone."""

    def create(self) -> None: ...
    def add(self, rows: Sequence[tuple[int, str]]) -> None: ...
    def remove(self, rows: Sequence[tuple[int, str]]) -> None: ...
    def frequencies(self, owner_id: int, terms: Sequence[str]) -> dict[str, int]: ...
    def best(
        self,
        owner_id: int,
        worth: Mapping[str, float],
        average: float,
        limit: int,
        where: str,
        values: Sequence[str | date],
    ) -> list[int]: ...
    def is_sound(self) -> bool: ...
    def make_again(self) -> None: ...


class Vectors(Protocol):
    """Which chunks are near a vector, by its sign bits."""

    most: int

    def create(self) -> None: ...
    def put(self, owner_id: int, rows: Sequence[ListedVector]) -> bool: ...
    def remove(self, ids: Sequence[int]) -> bool: ...
    def remove_owner(self, owner_id: int) -> None: ...
    def nearest(
        self,
        owner_id: int,
        vector: "np.ndarray",
        k: int,
        sources: Sequence[str] | None = None,
        since: date | None = None,
        until: date | None = None,
    ) -> list[int]: ...
    def are_sound(self) -> bool: ...
    def drop_all(self) -> None: ...


def fulltext() -> FullText:
    return postgres.FullText() if is_postgres() else sqlite.FullText()


def vectors() -> Vectors:
    return postgres.Vectors() if is_postgres() else sqlite.Vectors()


def write_alone(owner_id: int) -> None:
    """Until the transaction ends nobody else changes this owner's index; on SQLite nobody could."""
    if is_postgres():
        postgres.one_at_a_time([owner_id])


def rows(sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """What a question finds that has vectors among its columns."""
    return postgres.rows(sql, values) if is_postgres() else sqlite.rows(sql, values)


def among(values: Sequence[int] | Sequence[str]) -> tuple[str, Any]:
    """`IN` for a list of any length: what stands after the column, and the one value it needs."""
    if is_postgres():
        return "= ANY(%s)", list(values)
    return "IN (SELECT value FROM json_each(%s))", json.dumps(list(values))


def seconds(column: str) -> str:
    """A time as whole seconds since 1970."""
    if is_postgres():
        return f"CAST(FLOOR(EXTRACT(EPOCH FROM {column})) AS BIGINT)"
    return f"CAST(strftime('%%s', {column}) AS INTEGER)"
