"""SQLite as a real database: vectors and full text, one writer at a time, and an honest way out without."""

import sqlite3
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from chat.models import Session
from oneclaw.sqlite import base, driver
from oneclaw.sqlite.vectors import has_vectors
from people.models import User

pytestmark = pytest.mark.sqlite


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


@pytest.fixture
def keeping(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(base.DatabaseWrapper, "most_kept", 1)
    # Those of an app that an earlier test served are not these tests'.
    monkeypatch.setattr(base.DatabaseWrapper, "_kept", deque())
    yield
    while base.DatabaseWrapper._kept:
        base.DatabaseWrapper._kept.pop().connection.close()


def in_a_thread(work: Callable[[], object]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(60)


def used(then: Callable[[], object] = lambda: None) -> Any:
    """The driver's connection of another thread, which did this with it and closed it."""

    def work() -> Any:
        connection.ensure_connection()
        mine = connection.connection
        try:
            then()
        except Exception:
            assert connection.errors_occurred
        connection.close()
        return mine

    return in_a_thread(work)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("keeping")
class TestKeptConnections:
    def test_a_page_goes_on_with_the_connection_of_the_last(self) -> None:
        first = used()
        assert used() is first
        vectors = list[bool]()
        used(lambda: vectors.append(has_vectors()))
        assert vectors == [True]

    def test_no_more_are_kept_than_allowed(self) -> None:
        used(used)
        assert len(base.DatabaseWrapper._kept) == 1

    def test_one_in_a_transaction_is_closed(self) -> None:
        def begin() -> None:
            connection.connection.execute("BEGIN IMMEDIATE")

        used(begin)
        assert not base.DatabaseWrapper._kept

    def test_one_that_failed_is_closed(self) -> None:
        def fail() -> None:
            with connection.cursor() as cursor:
                cursor.execute("SELECT nothing FROM nowhere")

        used(fail)
        assert not base.DatabaseWrapper._kept

    def test_another_files_is_not_taken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        first = used()
        kept = base.DatabaseWrapper._kept.pop()
        base.DatabaseWrapper._kept.append(kept._replace(name="another.sqlite3"))
        assert used() is not first
