"""Bringing the database to this version of the code, and refusing one from a newer version."""

from collections.abc import Iterable

from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder


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


def prepare() -> None:
    """Migrate, or stop with a sentence that says what is wrong with the database."""
    try:
        unknown = unknown_migrations()
        if unknown:
            raise CommandError(
                f"The database is from a newer OneClaw (it has {unknown[-1]}). "
                "Update the code, or restore a backup that was made with this version."
            )
        call_command("migrate", interactive=False, verbosity=0)
    except DatabaseError as error:
        raise CommandError(
            f"The database {connection.settings_dict['NAME']} can't be used: {error}."
        ) from error
