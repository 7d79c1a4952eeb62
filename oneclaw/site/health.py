"""Health, as /healthz reports it: database, worker, disk, memory, embedding model, backups.

200 with "ok" or "degraded": pages are served, though memory works less well. 503 with "down": no database.
"""

from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from oneclaw import __version__, datafolder, wiring
from oneclaw.backup import schedule
from oneclaw.models import Process
from oneclaw.postgres import is_postgres
from oneclaw.server import heartbeat, presence
from oneclaw.sqlite.vectors import has_vectors

# Each part by its name for people, and what each of its troubles means.
WORDS = {
    "database": (
        "Database",
        {
            "down": "It can't be read. See OneClaw's log.",
            "empty": "It has no tables yet. Start OneClaw, which makes them.",
        },
    ),
    "worker": (
        "Worker",
        {
            "not started": "Nothing is summarised or compacted. Start OneClaw with `make run`.",
            "silent": "It hasn't responded for a while; it restarts automatically.",
        },
    ),
    "embedding_model": (
        "Embedding model",
        {"missing": "Its file is missing, so memory is searched by keywords only."},
    ),
    "disk": ("Disk", datafolder.DISK_TROUBLES),
    "memory": (
        "Memory",
        {"failing": "Chats could not be written to memory three times in a row. See Memory, Stats."},
    ),
    "backup": ("Backup", {"late": "The last backup is overdue. See the worker's log."}),
    "vectors": (
        "Vector index",
        {"scanned": "sqlite-vec can't be loaded, so vectors are compared one by one."},
    ),
}


def database() -> str:
    if not is_postgres() and not Path(connection.settings_dict["NAME"]).exists():
        return "empty"  # asking would make one
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        # Without its tables nothing can be asked of it, and an error within a transaction would spoil that.
        return "ok" if not is_postgres() or has_tables() else "empty"
    except DatabaseError:
        return "down"


def has_tables() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [Process._meta.db_table])
        return bool(cursor.fetchone()[0])


def worker() -> str:
    if not heartbeat.was_there():
        return "not started"
    return "ok" if heartbeat.is_alive() else "silent"


def embedding_model() -> str:
    return "ok" if (Path(settings.EMBEDDING_MODEL) / "model.onnx").is_file() else "missing"


def disk() -> str:
    return datafolder.disk(Path(settings.DATA_DIR))


def memory() -> str:
    try:
        return "failing" if wiring.memory_is_failing() else "ok"
    except DatabaseError:
        return "unknown"


def vectors() -> str:
    return "ok" if has_vectors() else "scanned"


def report() -> dict[str, str]:
    """Each part in a word, and the whole: the worst of them."""
    reached = database()
    # A server that is away is waited for only once.
    is_away = is_postgres() and reached != "ok"
    parts = {
        "database": reached,
        "worker": "unknown" if is_away else worker(),
        "embedding_model": embedding_model(),
        "disk": disk(),
        "memory": "unknown" if is_away else memory(),
    }
    if settings.BACKUP_DIR is not None:
        parts["backup"] = "late" if schedule.is_late() else "ok"
    status = "ok" if set(parts.values()) == {"ok"} else "degraded"
    if parts["database"] != "ok":
        status = "down"
    else:
        # Scanned vectors find the same, only slower.
        parts["vectors"] = vectors()
    reasons = [troubles[parts[name]] for name, (_, troubles) in WORDS.items() if parts.get(name) in troubles]
    why = {} if status == "ok" else {"reason": " ".join(reasons)}
    return {"status": status, **why, **parts, **who(status), "version": __version__}


def who(status: str) -> dict[str, str]:
    """Which process says this and, where several share a database, how many of which kind live."""
    if status == "down" or not is_postgres():
        return {"process": presence.me()}
    roll = presence.call_roll()
    counts = [f"{len(roll.of(kind))} {kind}" for kind in Process.Kind.values]
    return {"process": presence.me(), "processes": ", ".join(counts)}


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    state = report()
    return JsonResponse(state, status=503 if state["status"] == "down" else 200)
