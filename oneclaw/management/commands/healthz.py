"""`manage.py healthz`: what /healthz says, for a machine without a web server."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from oneclaw.models import Process
from oneclaw.postgres import is_postgres
from oneclaw.server import heartbeat, presence
from oneclaw.site import health


class Command(BaseCommand):
    help = "Say how OneClaw is, as /healthz does. Fails when the database is down."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--worker", action="store_true", help="fail unless this machine's worker lives")

    def handle(self, *args: Any, worker: bool, **options: Any) -> None:
        state = health.report()
        # This command's own process is nobody's business.
        self.stdout.write(json.dumps({name: said for name, said in state.items() if name != "process"}))
        if state["status"] == "down":
            raise CommandError(state["reason"])
        if worker and not lives_here():
            raise CommandError("No worker lives on this machine.")


def lives_here() -> bool:
    """Whether a worker of this machine, or of this container, has a lease."""
    if not is_postgres():
        return heartbeat.is_alive()
    return any(map(presence.is_near, presence.call_roll().of(Process.Kind.WORKER)))
