"""What /healthz says: is the database there, does the worker beat, is the embedding model on disk.

200 with "ok" or "degraded": pages are served, though memory works less well. 503 with "down": no database.
"""

from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from oneclaw import __version__, heartbeat
from oneclaw.sqlite.vectors import has_vectors


def database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "down"
    return "ok"


def worker() -> str:
    if heartbeat.age() is None:
        return "not started"
    return "ok" if heartbeat.is_alive() else "silent"


def embedding_model() -> str:
    return "ok" if (Path(settings.EMBEDDING_MODEL) / "model.onnx").is_file() else "missing"


def vectors() -> str:
    return "ok" if has_vectors() else "scanned"


def report() -> dict[str, str]:
    """Each part in a word, and the whole: the worst of them."""
    parts = {"database": database(), "worker": worker(), "embedding_model": embedding_model()}
    status = "ok" if set(parts.values()) == {"ok"} else "degraded"
    if parts["database"] == "down":
        status = "down"
    else:
        # Scanned vectors find the same, only slower.
        parts["vectors"] = vectors()
    return {"status": status, **parts, "version": __version__}


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    state = report()
    return JsonResponse(state, status=503 if state["status"] == "down" else 200)
