"""Bringing the database to this version of the code, and refusing one from a newer version."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils.crypto import constant_time_compare, salted_hmac

from oneclaw.models import Installation
from oneclaw.postgres import is_postgres, locks, readiness

# Another process may be bringing a large database up to date.
PATIENCE = 15 * 60.0
# The database's server may be starting with the same machine.
STARTING = 10.0


def unknown_migrations() -> list[str]:
    """Migrations that were applied by a newer OneClaw and that this code does not have."""
    return unknown_among(MigrationRecorder(connection).applied_migrations())


def unknown_among(applied: Iterable[tuple[str, str]]) -> list[str]:
    loader = MigrationLoader(None, ignore_no_migrations=True)
    return sorted(
        f"{app}.{name}"
        for app, name in applied
        if app in loader.migrated_apps and (app, name) not in loader.disk_migrations
    )


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """What all processes share is prepared by one of them, however many start at once."""
    if not is_postgres():
        yield
        return
    if fault := readiness.unreachable(STARTING):
        raise CommandError(fault)
    with locks.held(locks.START, 0, PATIENCE) as mine:
        if not mine:
            raise CommandError("Another OneClaw has been preparing this database for a long time. Try again.")
        yield


def prepare(*, new_key: bool = False) -> None:
    """Migrate, or stop with a sentence that says what is wrong with the database."""
    with reached():
        if is_postgres() and (lack := readiness.lacking()):
            raise CommandError(lack)
        unknown = unknown_migrations()
        if unknown:
            raise CommandError(
                f"The database is from a newer OneClaw (it has {unknown[-1]}). "
                "Update the code, or restore a backup that was made with this version."
            )
        call_command("migrate", interactive=False, verbosity=0)
        if is_postgres():
            compare_keys(new_key)


@contextmanager
def reached() -> Iterator[None]:
    """Errors of the database in a sentence."""
    try:
        yield
    except DatabaseError as error:
        raise CommandError(trouble(error)) from error


def trouble(error: DatabaseError) -> str:
    """What is wrong, in a sentence: a pool says only that it got no connection."""
    fault = readiness.unreachable() if is_postgres() else ""
    return fault or f"The database {name()} can't be used: {error}."


def compare_keys(accept: bool = False) -> None:
    """Stop where the data folder is another: a volume that is not mounted leaves an empty one."""
    Installation.objects.get_or_create(id=1, defaults={"key_digest": key_digest()})
    if not (fault := foreign_key()):
        return
    if not accept:
        raise CommandError(fault)
    Installation.objects.filter(id=1).update(key_digest=key_digest())


def foreign_key() -> str:
    """What is to be done where secret.key is not the one that this database was set up with."""
    known = Installation.objects.filter(id=1).first()
    if known is None or constant_time_compare(known.key_digest, key_digest()):
        return ""
    return (
        f"secret.key in the data folder {settings.DATA_DIR} is not the one that this database was set up "
        "with. Mount the volume of the data folder, or copy the right secret.key to it. If that is "
        "lost for good, start once with --new-key: stored API keys must be entered again."
    )


def key_digest() -> str:
    return salted_hmac("oneclaw.installation", "", algorithm="sha256").hexdigest()


def name() -> str:
    """The database for people: a file, or a name on a server; never with a password."""
    return readiness.place() if is_postgres() else str(connection.settings_dict["NAME"])
