"""A web process among others on PostgreSQL: keeps its lease, hears their news, tends what the dead left."""

import logging
import threading

from django.db import connections

from oneclaw import wiring
from oneclaw.models import Process
from oneclaw.postgres import is_postgres
from oneclaw.postgres.news import Ear
from oneclaw.server import presence

logger = logging.getLogger(__name__)


class Watch:
    """Two threads: one only beats and listens, so that no work of the other makes this process seem dead."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._ear: Ear | None = None
        self._round: threading.Thread | None = None

    def begin(self) -> None:
        if not is_postgres() or self._ear is not None:
            return
        presence.renew(Process.Kind.WEB)
        self._over.clear()
        self._ear = Ear(
            wiring.heard, lambda execute: presence.renew(Process.Kind.WEB, execute), presence.BEAT
        )
        self._ear.start()
        self._round = threading.Thread(target=self._go_round, name="watch", daemon=True)
        self._round.start()

    def end(self) -> None:
        if self._ear is None or self._round is None:
            return
        self._over.set()
        self._ear.stop()
        self._round.join(presence.BEAT)
        self._ear = self._round = None
        presence.leave()

    def _go_round(self) -> None:
        while not self._over.wait(presence.BEAT):
            try:
                roll = presence.call_roll()
                for tend in wiring.TENDING:
                    tend(roll)
                presence.forget(roll)
            except Exception as error:
                # A database that is away is told once, by the ear.
                logger.info("What others left could not be tended: %s", error)
            finally:
                connections.close_all()


watch = Watch()
