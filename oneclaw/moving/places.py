"""Where rows come from and where they go: the address of the target, and whether it may be filled."""

import hashlib
import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.db import DatabaseError, IntegrityError, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor

from oneclaw.moving.values import tables
from oneclaw.postgres import address, is_postgres, readiness
from oneclaw.server import database

SOURCE = "source"
# Stands in the target until everything is there: from where, and the keys that are put back at the end.
MARK = "oneclaw_move"
# Tables that OneClaw has besides those of its models.
OTHERS = (
    "django_migrations",
    "chat_message_search",
    "memory_fulltext",
    "memory_vocabulary",
    "memory_vectors_",
    MARK,
)


# Connections of a OneClaw that has just ended may be listed for a moment.
FAREWELL = 2.0
NOTHING = "There is nothing to move: no OneClaw has been started on this database yet."


class MoveFailed(Exception):
    """The move stopped. The source is as it was; the message says what to do."""


def target_settings(url: str) -> dict[str, Any]:
    """Django's settings for the target; `sqlite:///folder/file` or `postgres://…`."""
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        file = Path(unquote(parts.path))
        if parts.netloc or not file.is_absolute() or file.is_dir() or not file.name:
            raise MoveFailed("Name a file by its whole path, such as sqlite:///srv/oneclaw/db.sqlite3.")
        if not file.parent.is_dir():
            raise MoveFailed(f"There is no folder {file.parent}.")
        return {**settings.SQLITE, "NAME": file}
    try:
        return address.database(url, settings.DATABASE_CONNECTIONS)
    except ImproperlyConfigured as error:
        said = str(error).replace("ONECLAW_DATABASE_URL", "The address")
        raise MoveFailed(f"{said} For SQLite, write sqlite:///srv/oneclaw/db.sqlite3.") from None


def enter(target: dict[str, Any]) -> BaseDatabaseWrapper:
    """Work on the target from here on, as on any database of OneClaw's; returns the source, to be read."""
    here = connections.settings["default"]
    if _place(here) == _place(target):
        raise MoveFailed("This is the database that OneClaw uses now. Name another.")
    if target["ENGINE"] == "oneclaw.sqlite":
        try:
            # Private from its first byte on.
            os.close(os.open(target["NAME"], os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise MoveFailed(f"{target['NAME']} can't be written: {error.strerror}.") from None
    connections.close_all()
    configured = connections.configure_settings({"default": target})["default"]
    connections.settings[SOURCE] = {**here, "OPTIONS": {**here["OPTIONS"], **_of_one_moment(here)}}
    connections.settings["default"] = configured
    del connections["default"]
    return connections[SOURCE]


def _of_one_moment(source: dict[str, Any]) -> dict[str, Any]:
    """Every row is read as it was when reading began."""
    if source["ENGINE"] == "oneclaw.sqlite":
        return {"transaction_mode": "DEFERRED"}
    from psycopg import IsolationLevel

    return {"isolation_level": IsolationLevel.REPEATABLE_READ}


def _place(database: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(database.get(part) or "") for part in ("ENGINE", "HOST", "PORT", "NAME"))


def check_source(source: BaseDatabaseWrapper) -> None:
    """Of this version: rows are copied as the code knows them."""
    if source.vendor == "sqlite" and not Path(source.settings_dict["NAME"]).exists():
        raise MoveFailed(NOTHING)
    try:
        executor = MigrationExecutor(source)
        if not executor.loader.applied_migrations:
            raise MoveFailed(NOTHING)
        behind = executor.migration_plan(executor.loader.graph.leaf_nodes())
        unknown = database.unknown_among(executor.loader.applied_migrations)
    except DatabaseError as error:
        raise MoveFailed(f"The database of this installation can't be read: {error}") from None
    if unknown:
        raise MoveFailed("The database is a newer OneClaw's. Update the code first.")
    if behind:
        raise MoveFailed(
            "The database is an older OneClaw's. Start OneClaw once, which updates it; then stop it."
        )


def check_unused(used: BaseDatabaseWrapper) -> None:
    """Whether a OneClaw on some machine has the PostgreSQL database open; on SQLite up.lock tells."""
    if used.vendor != "postgresql":
        return
    with used.cursor() as cursor:
        until = time.monotonic() + FAREWELL
        while True:
            cursor.execute(
                "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = CURRENT_DATABASE() "
                "AND application_name = 'oneclaw' AND pid <> pg_backend_pid()"
            )
            if not cursor.fetchone()[0]:
                return
            if time.monotonic() >= until:
                break
            time.sleep(0.1)
    raise MoveFailed("OneClaw is running on this PostgreSQL database, here or elsewhere. Stop it first.")


def prepare_target(source: BaseDatabaseWrapper) -> bool:
    """An empty target gets its tables, one that was being filled goes on; True for the second."""
    if is_postgres() and (fault := readiness.unreachable()):
        raise MoveFailed(fault.replace(readiness.URL, "the address"))
    try:
        names = set(connection.introspection.table_names())
    except DatabaseError as error:
        raise MoveFailed(f"{database.name()} can't be opened: {_first_line(error)}") from None
    resumed = MARK in names
    if resumed:
        if _mark()["from"] != identity(source):
            raise MoveFailed(
                f"{database.name()} is half filled from another installation. Empty it, or choose another."
            )
    else:
        _check_empty(names)
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {MARK} (noted text NOT NULL)")
            cursor.execute(
                f"INSERT INTO {MARK} (noted) VALUES (%s)",  # noqa: S608
                [json.dumps({"from": identity(source), "keys": []})],
            )
    try:
        database.prepare()
    except CommandError as error:
        raise MoveFailed(str(error)) from None
    return resumed


def _check_empty(names: set[str]) -> None:
    ours = {table.name for table in tables()}
    if strange := sorted(name for name in names - ours if not name.startswith(OTHERS)):
        raise MoveFailed(
            f"{database.name()} holds tables of something else ({strange[0]}). Choose an empty database."
        )
    if "people_user" in names:
        with connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM people_user")
            if people := cursor.fetchone()[0]:
                raise MoveFailed(
                    f"{database.name()} already holds an installation with {people} people. "
                    "Nothing in it was changed; choose an empty database."
                )


def identity(source: BaseDatabaseWrapper) -> str:
    """Which installation rows come from; says nothing of where it is."""
    named = f"{settings.SECRET_KEY}\0{_place(source.settings_dict)}"
    return hashlib.sha256(named.encode()).hexdigest()


def _mark() -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT noted FROM {MARK}")  # noqa: S608
        found: dict[str, Any] = json.loads(cursor.fetchone()[0])
    return found


def set_keys_aside() -> None:
    """Rows come table by table: what refers to what is checked once all are there."""
    if not is_postgres():
        connection.disable_constraint_checking()
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE contype = 'f' AND connamespace = CURRENT_SCHEMA()::regnamespace ORDER BY 1, 2"
        )
        found = cursor.fetchall()
        if not found:
            return
        # One transaction: after a break, keys either stand or are noted.
        with transaction.atomic():
            noted = _mark()
            noted["keys"] += found
            cursor.execute(f"UPDATE {MARK} SET noted = %s", [json.dumps(noted)])  # noqa: S608
            for table, name, _ in found:
                cursor.execute(f'ALTER TABLE {table} DROP CONSTRAINT "{name}"')


def put_keys_back() -> None:
    """Have the target check what refers to what, now and from here on."""
    try:
        if not is_postgres():
            connection.enable_constraint_checking()
            connection.check_constraints()
            return
        noted = _mark()
        with transaction.atomic(), connection.cursor() as cursor:
            for table, name, definition in noted["keys"]:
                cursor.execute(f'ALTER TABLE {table} ADD CONSTRAINT "{name}" {definition}')
            cursor.execute(f"UPDATE {MARK} SET noted = %s", [json.dumps({**noted, "keys": []})])  # noqa: S608
    except IntegrityError as error:
        raise MoveFailed(
            f"A row refers to another that is not there: {_first_line(error)}. It stands so in the source: "
            "mend it there, and run this again."
        ) from None


def take_mark_away() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {MARK}")


def discard_empty_file(target: dict[str, Any]) -> None:
    """A file that was made for nothing goes again."""
    if target["ENGINE"] == "oneclaw.sqlite":
        with suppress(OSError):
            if Path(target["NAME"]).stat().st_size == 0:
                Path(target["NAME"]).unlink()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
