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
        raise CommandError(f"The database {name()} can't be used: {error}.") from error


def compare_keys(accept: bool = False) -> None:
    """Stop where the data folder is another: a volume that is not mounted leaves an empty one."""
    digest = salted_hmac("oneclaw.installation", "", algorithm="sha256").hexdigest()
    known, made = Installation.objects.get_or_create(id=1, defaults={"key_digest": digest})
    if made or constant_time_compare(known.key_digest, digest):
        return
    if not accept:
        raise CommandError(
            f"secret.key in the data folder {settings.DATA_DIR} is not the one that this database was set up "
            "with. Mount the volume of the data folder, or copy the right secret.key to it. If that is "
            "lost for good, start once with --new-key: stored API keys must be entered again."
        )
    Installation.objects.filter(id=1).update(key_digest=digest)


def name() -> str:
    """The database for people: a file, or a name on a server; never with a password."""
    facts = connection.settings_dict
    return f"{facts['NAME']} on {facts['HOST'] or 'this machine'}" if is_postgres() else str(facts["NAME"])
