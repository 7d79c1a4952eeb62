"""Static files by WhiteNoise: named by their content, and answered whole by an ASGI server."""

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile
from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedFiles(CompressedManifestStaticFilesStorage):
    """Hashed file names, also inside our script modules, which import each other by them.

    Django's own switch for this looks into everybody's scripts, and htmx's comments import what isn't there.
    """

    patterns = (
        *CompressedManifestStaticFilesStorage.patterns,
        (
            "scripts/*.js",
            ((r'(?P<matched>import(?P<names>[^";]*)"(?P<url>\./[^"]+)";)', 'import%(names)s"%(url)s";'),),
        ),
    )


class StaticFiles(WhiteNoiseMiddleware):
    """Answers a file whole, since a file iterator would be buffered."""

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        found = static_file.get_response(request.method, request.META)
        content = b""
        if found.file:
            with found.file as opened:
                content = opened.read()
        response = HttpResponse(content, status=int(found.status))
        del response["Content-Type"]
        for name, value in found.headers:
            response[name] = value
        return response
