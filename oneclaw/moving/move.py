"""The whole move: tables, counters, what refers to what, and the tables that search is made of."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from django.db import DatabaseError, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from oneclaw import wiring
from oneclaw.moving import copying, places
from oneclaw.moving.copying import Progress
from oneclaw.moving.places import SOURCE, MoveFailed
from oneclaw.moving.values import tables


@dataclass(frozen=True, slots=True)
class Moved:
    """What stands in the target now, each table's count and checksum as in the source."""

    tables: int
    rows: int
    # Rows that had to be written; after a break the others were there.
    written: int
    resumed: bool


def move(url: str, progress: Progress, *, while_running: bool = False) -> Moved:
    """Copy everything to the database at this address. It stays this process's database afterwards."""
    target = places.target_settings(url)
    source = places.enter(target)
    try:
        places.check_source(source)
        if not while_running:
            places.check_unused(source)
        # Reading holds one transaction open: what is written meanwhile is of another moment.
        with transaction.atomic(using=SOURCE):
            resumed = places.prepare_target(source)
            if resumed:
                places.check_unused(connection)
            return _fill(source, progress, resumed)
    except DatabaseError as error:
        # A copy made beside running processes is of one moment, and begun anew.
        again = "" if while_running else " Run this again: it goes on from there."
        said = str(error).strip().splitlines()[0]
        raise MoveFailed(f"The database broke off: {said}.{again}") from None
    finally:
        connections.close_all()
        places.discard_empty_file(target)


def _fill(source: BaseDatabaseWrapper, progress: Progress, resumed: bool) -> Moved:
    places.set_keys_aside()
    everything = tables()
    # The source is read once: nothing in it changes for the transaction that reads it.
    copied = [copying.copy(table, source, progress) for table in everything]
    for table in everything:
        copying.carry_counter(table, source)
    rows = 0
    for table, (before, _) in zip(everything, copied, strict=True):
        after = copying.summed(table, connection)
        if before != after:
            raise MoveFailed(
                f"{table.name} differs after copying ({before.rows:,} rows in the source, {after.rows:,} in "
                "the target). Run this again; should it stay so, the target's disk or memory may be at fault."
            )
        rows += after.rows
    places.put_keys_back()
    wiring.fill_search_tables(progress)
    places.take_mark_away()
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # Its planner knows nothing of tables that were filled a moment ago.
            cursor.execute("ANALYZE")
    return Moved(len(everything), rows, sum(written for _, written in copied), resumed)


def file_address(file: Path) -> str:
    """How a SQLite file is named to `move`."""
    return f"sqlite://{quote(str(file.resolve()))}"
