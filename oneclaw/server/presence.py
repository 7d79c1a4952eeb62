"""Which processes of this installation are alive, where several share one PostgreSQL.

Each has a row with a lease by the database's clock and renews it every few seconds. On SQLite there is one
web process and one worker, and none of this is written.
"""

import hashlib
import os
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models.functions import Now

from oneclaw.models import Process
from oneclaw.postgres import is_postgres

BEAT = 2.0
# A worker's beat comes from its guard, which may be busy starting a process again.
LEASES = {Process.Kind.WEB: 10.0, Process.Kind.WORKER: 30.0}
# Nobody is called dead before somebody has renewed for so long without such a gap: after the database was
# away every lease is over, and everybody is alive.
STEADY, GAP = 10.0, 7.0
FORGOTTEN = 24 * 60 * 60.0

RENEW = """
    INSERT INTO oneclaw_process AS known (id, kind, host, started_at, steady_since, until)
    VALUES (%(id)s, %(kind)s, %(host)s, clock_timestamp(), clock_timestamp(),
            clock_timestamp() + make_interval(secs => %(lease)s))
    ON CONFLICT (id) DO UPDATE SET
        until = excluded.until,
        steady_since = CASE
            WHEN known.until - make_interval(secs => %(lease)s)
                >= clock_timestamp() - make_interval(secs => %(gap)s)
            THEN known.steady_since ELSE clock_timestamp() END
"""
ROLL = """
    SELECT id, kind, until >= clock_timestamp(),
           until - make_interval(secs => CASE kind WHEN 'web' THEN %(web)s ELSE %(worker)s END)
               >= clock_timestamp() - make_interval(secs => %(gap)s)
               AND steady_since <= clock_timestamp() - make_interval(secs => %(steady)s),
           until < clock_timestamp() - make_interval(secs => %(forgotten)s)
    FROM oneclaw_process
"""

# Runs a statement with its values: Django's cursor, or a connection beside its pool.
Execute = Callable[[str, Any], object]


@cache
def machine() -> str:
    """A name that no other machine or container has: within it a process's number says whether it lives."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        numbers = os.readlink("/proc/self/ns/pid")
    except OSError:
        # No way to tell who else counts the same processes: only leases say who lives.
        boot, numbers = secrets.token_hex(8), ""
    return hashlib.sha256(f"{socket.gethostname()} {boot} {numbers}".encode()).hexdigest()[:12]


@cache
def me() -> str:
    """This process, among those of all machines. What the worker forks are parts of it."""
    return f"{machine()}.{os.getpid()}.{secrets.token_hex(4)}"


def is_near(process_id: str) -> bool:
    """Whether a process is of this very machine."""
    return process_id.partition(".")[0] == machine()


def is_gone(process_id: str) -> bool:
    """Whether a process of this very machine has ended, which is known at once."""
    number = process_id.partition(".")[2].partition(".")[0]
    if not is_near(process_id) or not number.isdigit():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


@dataclass(frozen=True, slots=True)
class Roll:
    """Who is known: the living, and of the others those that are surely dead."""

    kinds: dict[str, str]
    living: frozenset[str]
    dead: frozenset[str]
    # Of the dead, those whose lease has been over for a day.
    long_gone: frozenset[str] = frozenset()

    def of(self, kind: str) -> list[str]:
        """The living of one kind."""
        return [each for each in self.living if self.kinds[each] == kind]


def call_roll() -> Roll:
    """Everybody as the database knows them now, which changes nothing. On SQLite there is nobody else."""
    if not is_postgres():
        return Roll({}, frozenset(), frozenset())
    with connection.cursor() as cursor:
        cursor.execute(
            ROLL,
            {
                "web": LEASES[Process.Kind.WEB],
                "worker": LEASES[Process.Kind.WORKER],
                "gap": GAP,
                "steady": STEADY,
                "forgotten": FORGOTTEN,
            },
        )
        rows = cursor.fetchall()
    steady = any(row[3] for row in rows)
    gone = {row[0] for row in rows if is_gone(row[0])}
    living = frozenset(row[0] for row in rows if row[2]) - gone
    # Whoever asks is alive, however late its own beat is.
    dead = gone | {row[0] for row in rows if not row[2] and steady and row[0] != me()}
    long_gone = frozenset(row[0] for row in rows if row[4]) & dead
    return Roll({row[0]: row[1] for row in rows}, living, frozenset(dead), long_gone)


def forget(roll: Roll) -> None:
    """Remove the rows of those that are long gone, after what they left was tended."""
    if roll.long_gone:
        Process.objects.filter(id__in=roll.long_gone, until__lt=Now()).delete()


def is_alone(kind: str) -> bool:
    """Whether no other process of this kind is alive, so that what is open is nobody's."""
    return not set(call_roll().of(kind)) - {me()}


def is_dead(process_id: str) -> bool:
    """Whether a process is known to be dead. One that never had a lease is not."""
    return is_gone(process_id) or process_id in call_roll().dead


def renew(kind: str, execute: Execute | None = None) -> None:
    """Say that this process lives."""
    values: dict[str, str | float] = {
        "id": me(),
        "kind": kind,
        "host": socket.gethostname()[:100],
        "lease": LEASES[Process.Kind(kind)],
        "gap": GAP,
    }
    if execute is not None:
        execute(RENEW, values)
        return
    with connection.cursor() as cursor:
        cursor.execute(RENEW, values)


def leave() -> None:
    """This process ends in good order."""
    if is_postgres():
        Process.objects.filter(id=me()).delete()
