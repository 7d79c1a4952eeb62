"""SQLite as a real database: vectors and full text, one writer at a time, and an honest way out without."""

import sqlite3
import sys
import threading
from types import ModuleType
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from chat.models import Session
from oneclaw.sqlite import base, driver
from oneclaw.sqlite.vectors import has_vectors
from people.models import User


@pytest.mark.django_db
def test_vec0_and_fts5_work_through_djangos_connection() -> None:
    assert has_vectors()
    with connection.cursor() as cursor:
        cursor.execute("CREATE VIRTUAL TABLE v USING vec0(embedding float[2])")
        cursor.execute("INSERT INTO v(rowid, embedding) VALUES (1, '[1,0]'), (2, '[0,1]')")
        cursor.execute("SELECT rowid FROM v WHERE embedding MATCH %s AND k = 1", ["[0.1,0.9]"])
        assert cursor.fetchall() == [(2,)]
        cursor.execute("CREATE VIRTUAL TABLE t USING fts5(body)")
        cursor.execute("INSERT INTO t VALUES ('trains to Lisbon')")
        cursor.execute("SELECT body FROM t WHERE t MATCH %s", ["lisbon"])
        assert cursor.fetchall() == [("trains to Lisbon",)]


class WithExtensions:
    def enable_load_extension(self, enabled: bool) -> None: ...


def a_module(name: str, connection_class: type) -> ModuleType:
    module = ModuleType(name)
    module.Connection = connection_class  # type: ignore[attr-defined]
    return module


@pytest.mark.parametrize(
    ("standard", "other", "chosen"),
    [
        (WithExtensions, WithExtensions, "sqlite3"),
        (object, WithExtensions, "pysqlite3"),
        (object, object, "sqlite3"),
        (object, None, "sqlite3"),
    ],
    ids=["standard", "pysqlite3", "neither", "none installed"],
)
def test_the_driver_is_one_that_loads_extensions_if_any_does(
    monkeypatch: pytest.MonkeyPatch, standard: type, other: type | None, chosen: str
) -> None:
    monkeypatch.setattr(driver, "sqlite3", a_module("sqlite3", standard))
    # None in sys.modules makes the import fail, as if it were not installed.
    monkeypatch.setitem(sys.modules, "pysqlite3", other and a_module("pysqlite3", other))
    assert driver.choose().__name__ == chosen


@pytest.mark.parametrize("name", ["sqlite3", "pysqlite3"])
def test_both_modules_give_djangos_backend_a_database(name: str) -> None:
    module = pytest.importorskip(name)
    with driver.imported_as_sqlite3(module):
        assert sys.modules["sqlite3"] is module
        from sqlite3 import dbapi2

        assert dbapi2.connect(":memory:").execute("SELECT 1").fetchone() == (1,)
    assert sys.modules["sqlite3"] is sqlite3


class Incapable:
    """A connection of an interpreter built without loadable extensions."""


class Refusing:
    """A connection that has the method, but whose SQLite says no."""

    def enable_load_extension(self, enabled: bool) -> None:
        raise sqlite3.OperationalError("not authorized")


@pytest.mark.parametrize("made", [Incapable, Refusing])
def test_without_extensions_the_flag_says_so(made: type[Any]) -> None:
    assert not base.load_vectors(made())


@pytest.mark.django_db
def test_the_database_is_as_the_settings_say() -> None:
    wanted = {"journal_mode": "wal", "foreign_keys": 1, "busy_timeout": 20_000, "synchronous": 1}
    with connection.cursor() as cursor:
        found = {name: cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in wanted}
    assert found == wanted


@pytest.mark.django_db(transaction=True)
def test_foreign_keys_hold_against_plain_sql(ada: User) -> None:
    session = Session.objects.create(owner=ada)
    with pytest.raises(IntegrityError), connection.cursor() as cursor:
        cursor.execute("DELETE FROM people_user WHERE id = %s", [ada.pk])
    assert Session.objects.get().pk == session.pk


@pytest.mark.django_db(transaction=True)
def test_writers_wait_for_each_other_instead_of_failing(ada: User) -> None:
    """Two transactions read and then write: without IMMEDIATE one of them would fail as locked."""
    start = threading.Barrier(4)

    def count_up() -> None:
        try:
            start.wait(60)
            for _ in range(10):
                with transaction.atomic():
                    user = User.objects.get(pk=ada.pk)
                    user.first_name = str(int(user.first_name or 0) + 1)
                    user.save()
        finally:
            connection.close()

    threads = [threading.Thread(target=count_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    ada.refresh_from_db()
    assert ada.first_name == "40"
