"""Tells `up`, which knows nothing of Django, which model file is to be served on this machine."""

import logging
import threading
from pathlib import Path

from django.conf import settings
from django.db import connections

from chat.providers.local import manage
from oneclaw import datafolder

logger = logging.getLogger(__name__)
EVERY = 2.0
_over = threading.Event()


def file() -> Path:
    return Path(settings.DATA_DIR) / datafolder.MODEL_WANTED


def note() -> None:
    """Write down what is wanted now, where that is something else than before."""
    wanted = manage.wanted()
    if (file().read_text() if file().exists() else "") != wanted:
        unfinished = file().with_name(f".{file().name}{datafolder.UNFINISHED}")
        unfinished.write_text(wanted)
        unfinished.replace(file())


def keep_noting() -> None:
    """Note it every few seconds, until this process is told to end."""
    _over.clear()
    threading.Thread(target=_watch, name="local model", daemon=True).start()


def stop_noting() -> None:
    _over.set()


def _watch() -> None:
    said = ""
    while not _over.is_set():
        try:
            note()
            said = ""
        except Exception as error:
            # Said once: a locked database or a full disk may last.
            if str(error) != said:
                logger.warning("Can't tell whether a model is to be served here: %s", error)
            said = str(error)
        finally:
            connections.close_all()
        _over.wait(EVERY)
