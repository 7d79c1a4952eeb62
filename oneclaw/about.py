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

from oneclaw import health

WORDS = {
    "database": ("Database", {"down": "It can't be read. Look at the log of OneClaw."}),
    "worker": (
        "Worker",
        {
            "not started": "Nothing is summarised or compacted. Start OneClaw with its one command.",
            "silent": "It has not been heard of for a while; it is restarted by itself.",
        },
    ),
    "embedding_model": (
        "Embedding model",
        {"missing": "Its file is not there, so memory is searched by keywords only."},
    ),
    "vectors": ("Vector index", {"scanned": "sqlite-vec can't be loaded; vectors are compared one by one."}),
}


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    ok: bool
    advice: str = ""


def parts(state: dict[str, str]) -> list[Part]:
    """The report of /healthz in words."""
    found = []
    for key, (name, troubles) in WORDS.items():
        if value := state.get(key):
            found.append(Part(name, value == "ok", troubles.get(value, value if value != "ok" else "")))
    return found


def sqlite_version() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT sqlite_version()")
        return str(cursor.fetchone()[0])


@login_required
@require_safe
def about(request: HttpRequest) -> HttpResponse:
    state = health.report()
    versions = {
        "OneClaw": state["version"],
        "Python": platform.python_version(),
        "Django": django.get_version(),
        "SQLite": sqlite_version(),
    }
    # Where things are is the admin's business.
    place = settings.DATA_DIR if request.user.is_staff else None
    context = {"state": state, "parts": parts(state), "versions": versions, "place": place}
    return render(request, "settings/about.html", context)
