"""Static files: collected, hashed and compressed again only when one of them has changed."""

import hashlib
import shutil
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command

from oneclaw import __version__
from oneclaw.postgres import is_postgres


def fingerprint() -> str:
    """Changes whenever a static file is added, removed or edited."""
    digest = hashlib.sha256(__version__.encode())
    for finder in get_finders():
        for path, storage in finder.list([]):
            # By what is in it: machines that share the data folder have the same files of other times.
            content = hashlib.sha256(Path(storage.path(path)).read_bytes()).hexdigest()
            digest.update(f"{path}:{content}\n".encode())
    return digest.hexdigest()


def prepare() -> None:
    """Collect static files unless those collected are of this very set."""
    if settings.DEBUG:
        return
    root = Path(settings.STATIC_ROOT)
    stamp = root / ".fingerprint"
    wanted = fingerprint()
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    if not is_postgres():
        # Several web processes of an older version may still serve theirs; names have hashes, so both fit.
        shutil.rmtree(root, ignore_errors=True)
    call_command("collectstatic", interactive=False, verbosity=0)
    stamp.write_text(wanted)
