"""The About page under Settings: the version, and whether each part is well."""

import platform
from dataclasses import dataclass

import django
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from oneclaw.postgres import is_postgres
from oneclaw.site import health


@dataclass(frozen=True, slots=True)
class PartHealth:
    name: str
    ok: bool
    advice: str = ""


def parts(state: dict[str, str]) -> list[PartHealth]:
    """The report of /healthz in words."""
    found = []
    for key, (name, troubles) in health.WORDS.items():
        if value := state.get(key):
            found.append(PartHealth(name, value == "ok", troubles.get(value, value if value != "ok" else "")))
    return found


def database_version() -> tuple[str, str]:
    """The database's name and version."""
    with connection.cursor() as cursor:
        if is_postgres():
            cursor.execute("SHOW server_version")
            return "PostgreSQL", str(cursor.fetchone()[0]).split()[0]
        cursor.execute("SELECT sqlite_version()")
        return "SQLite", str(cursor.fetchone()[0])


@login_required
@require_safe
def about(request: HttpRequest) -> HttpResponse:
    state = health.report()
    database, its_version = database_version()
    versions = {
        "OneClaw": state["version"],
        "Python": platform.python_version(),
        "Django": django.get_version(),
        database: its_version,
    }
    # Where things are is the admin's business.
    place = settings.DATA_DIR if request.user.is_staff else None
    context = {"state": state, "parts": parts(state), "versions": versions, "place": place}
    return render(request, "settings/about.html", context)
