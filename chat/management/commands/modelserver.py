"""`manage.py modelserver`: serves the local or the starter model until it is stopped. `up` starts it."""

import os
import signal
import sys
import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from chat.providers.local import checks, manage, server, status
from chat.providers.local.status import ServerState
from chat.providers.local.weights import ModelWeights


class Command(BaseCommand):
    help = "Serve the local model (or the starter) on loopback. Started by `up` when it is needed."

    def handle(self, *args: Any, **options: Any) -> None:
        weights = manage.choose()
        if weights is None:
            raise CommandError("No local model is needed: none is set, or there is another provider.")
        parent = os.getppid()
        running = serve(weights)
        try:
            self.stdout.write(f"{weights.name} is ready at {running.url}")
            self.stdout.flush()
            # Whoever started this may be gone without a word.
            while os.getppid() == parent:
                time.sleep(2)
        finally:
            status.clear()


def serve(weights: ModelWeights) -> server.Running:
    """Load the model and announce it; what goes wrong is said here and kept for the pages."""
    status.write(ServerState.STARTING, weights)
    sentence = checks.problem(weights)
    try:
        if sentence:
            raise server.CannotServe(sentence)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        key = manage.new_key()
        running = server.start(weights, key, settings.LOCAL_THREADS)
    except server.CannotServe as error:
        status.write(ServerState.FAILED, weights, str(error))
        raise CommandError(str(error)) from None
    manage.announce(weights.kind, running, key)
    status.write(ServerState.READY, weights)
    connections.close_all()
    return running
