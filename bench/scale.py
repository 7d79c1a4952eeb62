"""Both databases in one run: search among other people's chunks, and what a message costs among many people.

SQLite has the owner's chunks alone; PostgreSQL has them among everybody else's. PostgreSQL is the one that
comes as a wheel with the development tools, with its own settings (it syncs to disk). Each engine is asked in
a process of its own, first with no index kept in memory, where the database does the work, then with one, as
people have it from their second search on.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import load
from bench.chatting import ROOT, Model
from bench.scratch import postgres

if TYPE_CHECKING:
    from people.models import User

QUESTIONS = 30
# How many of the nearest are asked for, as a search in a large memory does.
NEAREST = 200
MESSAGES = 12
# People whose messages are listed at once.
AT_ONCE = 500
# Megabytes for the index in memory.
ROOM = 1000
# With more chunks than this an index of neighbours takes longer to make than all the rest.
NEIGHBOURS = 50_000


def run(own: int, others: int, crowds: list[int]) -> dict[str, Any]:
    with postgres("search", *(f"people{number}" for number in range(len(crowds)))) as url:
        searches = {
            "sqlite": _asked("search", own, 0),
            "postgres": _asked("search", own, others, url=url.format("search")),
        }
        people = [
            _talked(size, engine, url.format(f"people{number}") if engine == "postgres" else "")
            for number, size in enumerate(crowds)
            for engine in ("sqlite", "postgres")
        ]
    hits = {name: [found.pop("hits"), found.pop("kept hits")] for name, found in searches.items()}
    neighbours = searches["postgres"].pop("neighbours", {})
    rows = [
        {"engine": name, "own": own, "others": others * (name == "postgres"), **found}
        for name, found in searches.items()
    ]
    return {
        "search": rows,
        "search_ratio": round(rows[1]["search ms"] / rows[0]["search ms"], 2),
        "kept_ratio": round(rows[1]["kept ms"] / rows[0]["kept ms"], 2),
        "same_first_five": agreement(hits["sqlite"][0], hits["postgres"][0]),
        "same_first_five_kept": agreement(hits["sqlite"][1], hits["postgres"][1]),
        "neighbours": neighbours,
        "people": people,
    }


def agreement(ours: list[list[str]], theirs: list[list[str]]) -> float:
    """Which share of the first hits is the same, over all questions."""
    shares = [len(set(one) & set(other)) / max(len(one), 1) for one, other in zip(ours, theirs, strict=True)]
    return round(statistics.mean(shares), 4)


def _environment(folder: str, url: str) -> dict[str, str]:
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "oneclaw.settings",
        "ONECLAW_DATA_DIR": folder,
        "ONECLAW_DATABASE_URL": url,
        "ONECLAW_RESIDENT_MB": "0",
        "ONECLAW_STARTER": "0",
        "ONECLAW_DISCOVER": "0",
    }


def _child(env: dict[str, str], call: str) -> Any:
    code = f"import django; django.setup()\nfrom bench import scale\nscale.tell(scale.{call})"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], env=env, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def tell(found: Any) -> None:
    sys.stdout.write(json.dumps(found) + "\n")


def _asked(what: str, own: int, others: int, url: str = "") -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="oneclaw-scale-") as folder:
        found: dict[str, Any] = _child(_environment(folder, url), f"{what}({own}, {others})")
        return found


def search(own: int, others: int) -> dict[str, Any]:
    """In a process of its own: fill, ask, and time the parts; then again with the index kept in memory."""
    from django.conf import settings
    from django.core.management import call_command

    from bench.retrieval.made import Text, fill
    from memory.index.resident.shelf import shelf
    from people.models import User

    call_command("migrate", verbosity=0)
    user, text = User.objects.create(username="owner"), Text()
    fill(user, own, text)
    if others:
        copies(user.pk, own, others)
    questions = [text.question() for _ in range(QUESTIONS + 1)]
    row, hits = asked(user, questions)
    settings.RESIDENT_MB = ROOM
    assert shelf.load(user.pk)
    kept, kept_hits = asked(user, questions)
    row |= {"kept ms": kept["search ms"], "kept hits": kept_hits, "hits": hits}
    has_few = 0 < others <= NEIGHBOURS
    return row | ({"neighbours": neighbours(user.pk, text)} if has_few else {})


def asked(user: "User", questions: list[str]) -> tuple[dict[str, Any], list[list[str]]]:
    """Middle times of a search, and of the database's two ways of choosing candidates; the hits."""
    from memory.embedding import engine
    from memory.index import engines
    from memory.index.index import Index
    from memory.index.terms import terms
    from memory.manager import MemoryManager
    from memory.search import candidates

    memory, standing, nowhere = MemoryManager(user), Index(user).standing(), candidates.Limits()
    times: dict[str, list[float]] = {"search": [], "words": [], "vectors": []}
    hits = []
    for number, question in enumerate(questions):
        vector = engine().embed(question)
        assert vector is not None
        start = time.perf_counter()
        found = memory.search_memory(question, judged=False)
        asked = time.perf_counter()
        candidates.by_vector(user, vector, standing, nowhere, 5)
        near = time.perf_counter()
        holding = engines.fulltext().frequencies(user.pk, terms(question))
        candidates.by_terms(user, holding, standing, nowhere, 5)
        if number:  # the first finds everything cold
            times["search"].append(asked - start)
            times["vectors"].append(near - asked)
            times["words"].append(time.perf_counter() - near)
            hits.append([hit.chunk_text for hit in found])
    return {f"{name} ms": round(1000 * statistics.median(took), 1) for name, took in times.items()}, hits


def copies(owner: int, own: int, others: int) -> None:
    """The owner's first chunks again for other people, a tenth of their number for each; PostgreSQL alone."""
    from django.db import connection

    from memory.index import engines
    from memory.models import MemoryIndex
    from people.models import User

    each = max(own // 10, 1)
    people = User.objects.bulk_create(User(username=f"other{number}") for number in range(others // each))
    names = [str(field.column) for field in MemoryIndex._meta.concrete_fields if not field.primary_key]
    chunks = MemoryIndex._meta.db_table
    with connection.cursor() as cursor:
        for person in people:
            taken = ", ".join(
                {"owner_id": str(person.pk), "terms": f"REPLACE(terms, ' {owner}_', ' {person.pk}_')"}.get(
                    name, name
                )
                for name in names
            )
            cursor.execute(
                f"INSERT INTO {chunks} ({', '.join(names)}) SELECT {taken} FROM {chunks} "  # noqa: S608
                "WHERE owner_id = %s AND position < %s",
                [owner, each],
            )
        # Without figures of what is there now, it would be read again for every row.
        cursor.execute("ANALYZE")
        cursor.execute(
            "INSERT INTO memory_vectors_384 (chunk_id, owner, source, day, bits) "  # noqa: S608
            f"SELECT new.id, new.owner_id, v.source, v.day, v.bits FROM {chunks} new JOIN {chunks} old "
            "ON old.owner_id = %s AND old.position = new.position AND new.owner_id <> %s "
            "JOIN memory_vectors_384 v ON v.chunk_id = old.id",
            [owner, owner],
        )
        engines.fulltext().make_again()
        cursor.execute("VACUUM ANALYZE")


def neighbours(owner: int, text: Any) -> dict[str, Any]:
    """The owner's sign bits read through, against an index of neighbours (HNSW) over everybody's."""
    from django.db import connection

    from memory.embedding import engine
    from memory.index.engines import postgres as tables

    nearest = (
        "SELECT chunk_id, bits <~> CAST(%s AS bit(384)) FROM memory_vectors_384 "
        "WHERE owner = %s ORDER BY bits <~> CAST(%s AS bit(384)) LIMIT %s"
    )
    read = [engine().embed(text.question()) for _ in range(QUESTIONS)]
    asked = [tables.signs(vector) for vector in read if vector is not None]
    found: dict[str, Any] = {}
    with connection.cursor() as cursor:

        def ask() -> tuple[float, list[list[tuple[int, float]]]]:
            took, rows = [], []
            for bits in asked:
                start = time.perf_counter()
                cursor.execute(nearest, [bits, owner, bits, NEAREST])
                rows.append(cursor.fetchall())
                took.append(time.perf_counter() - start)
            return round(1000 * statistics.median(took), 1), rows

        found["scan ms"], exact = ask()
        start = time.perf_counter()
        cursor.execute("CREATE INDEX scale_hnsw ON memory_vectors_384 USING hnsw (bits bit_hamming_ops)")
        found["hnsw build s"] = round(time.perf_counter() - start, 1)
        for name in ("memory_vectors_384_owner", "scale_hnsw"):
            cursor.execute("SELECT pg_relation_size(%s)", [name])
            found[f"{name} MB"] = round(cursor.fetchone()[0] / 1e6, 1)
        # The planner would rather read the owner's rows: it is shown nothing else.
        cursor.execute("DROP INDEX memory_vectors_384_owner")
        cursor.execute(
            "SET enable_seqscan = off; SET enable_bitmapscan = off; SET hnsw.iterative_scan = strict_order"
        )
        cursor.execute(f"SET hnsw.ef_search = {NEAREST}")
        found["hnsw ms"], near = ask()
    found["hnsw recall"] = round(
        statistics.mean(
            # As near as the farthest that the scan found: many are equally far.
            sum(far <= rows[-1][1] for _, far in others) / len(rows)
            for rows, others in zip(exact, near, strict=True)
        ),
        3,
    )
    return found


def crowd(people: int) -> list[str]:
    """So many people, each with a chat of four messages and two chunks; returns a log-in for one."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore
    from django.core.management import call_command
    from django.db import connection
    from django.utils import timezone
    from django_q.models import Schedule

    from chat.models import Message, Session
    from chat.sessions import fulltext
    from chat.sessions.search import index_terms
    from memory.index import engines
    from memory.manager import MemoryManager
    from memory.models import IndexState, MemoryIndex
    from people.models import User

    call_command("migrate", verbosity=0)
    first = User.objects.create_user("person0")
    chat = Session.objects.create(owner=first, title="A chat about the garden")
    for number in range(4):
        Message.objects.create(
            session=chat, type=("user", "ai_response")[number % 2], content=f"Words {number} " * 30
        )
    memory = MemoryManager(first)
    memory.save_to_long_term_memory("The spare key is under the blue pot")
    memory.rebuild_index()
    series = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < %s) "
    made = (
        "CAST(LPAD(TO_HEX(n.n), 32, '0') AS uuid)"
        if connection.vendor == "postgresql"
        else "PRINTF('%%032x', n.n)"
    )
    changed: dict[type[Any], dict[str, str]] = {
        User: {"id": f"{first.pk} + n.n", "username": "'person' || n.n"},
        Session: {"id": made, "owner_id": f"{first.pk} + n.n"},
        Message: {"id": "t.id + 1000 * n.n", "session_id": made},
        MemoryIndex: {
            "id": "t.id + 1000 * n.n",
            "owner_id": f"{first.pk} + n.n",
            "terms": f"REPLACE(t.terms, ' {first.pk}_', ' ' || ({first.pk} + n.n) || '_')",
        },
        IndexState: {"owner_id": f"{first.pk} + n.n"},
    }
    with connection.cursor() as cursor:
        for model, differing in changed.items():
            names = [str(field.column) for field in model._meta.concrete_fields]
            taken = ", ".join(differing.get(name, f't."{name}"') for name in names)
            table = model._meta.db_table
            quoted = ", ".join(f'"{name}"' for name in names)
            cursor.execute(
                f"INSERT INTO {table} ({quoted}) {series} SELECT {taken} FROM {table} t, n",  # noqa: S608
                [people - 1],
            )
        if connection.vendor == "postgresql":
            for model in (User, Message, MemoryIndex):
                cursor.execute(
                    f"SELECT setval(pg_get_serial_sequence('{model._meta.db_table}', 'id'), "  # noqa: S608
                    f"(SELECT MAX(id) FROM {model._meta.db_table}))"
                )
    engines.fulltext().make_again()
    # As if each message had been said: the first reply must not find all of them new.
    said = [(message.pk, index_terms(message.content)) for message in chat.messages.all()]
    for start in range(0, people, AT_ONCE):
        some = range(start, min(start + AT_ONCE, people))
        fulltext.table().add([(id + 1000 * n, first.pk + n, terms) for n in some for id, terms in said])
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
    # What is done by the clock is measured for itself.
    Schedule.objects.update(next_run=timezone.now() + timedelta(days=1))
    login = SessionStore()
    login[SESSION_KEY] = str(first.pk)
    login[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    login[HASH_SESSION_KEY] = first.get_session_auth_hash()
    login.create()
    return [str(login.session_key)]


def hourly() -> float:
    """Seconds of processor time for the worker's round through everybody, without the database's own."""
    from memory.tasks import every_hour

    start = time.process_time()
    every_hour()
    return round(time.process_time() - start, 1)


def provider(port: int) -> None:
    """The scripted model as everybody's, in the same process as the crowd."""
    from chat.models import AiModel, Provider

    made = Provider.objects.create(name="Load", kind="openai", base_url=f"http://127.0.0.1:{port}/v1")
    AiModel.objects.create(provider=made, name="load", is_default=True, supports_tools=False)


def _talked(people: int, engine: str, url: str) -> dict[str, Any]:
    """One person of many says something again and again to a real OneClaw; what each message cost."""
    model = Model()
    with tempfile.TemporaryDirectory(prefix="oneclaw-scale-") as name:
        folder, env = Path(name), _environment(name, url)
        (login,) = _child(env, f"crowd({people})")
        _child(env, f"provider({model.server_address[1]})")
        round_took = _child(env, "hourly()")
        size = _size(folder, url)
        kept, os.environ["ONECLAW_DATABASE_URL"] = os.environ.get("ONECLAW_DATABASE_URL", ""), url
        try:
            with load.oneclaw(folder) as (addresses, (pid,)):
                seen = load.Seen()
                person = load.Visitor(addresses, login, 0, 0, seen)
                for _ in range(2):
                    person.talk()
                before, cpu, took = _counters(url), _seconds(pid), []
                for _ in range(MESSAGES):
                    start = time.perf_counter()
                    person.talk()
                    took.append(time.perf_counter() - start)
                after, spent = _counters(url), _seconds(pid) - cpu
        finally:
            os.environ["ONECLAW_DATABASE_URL"] = kept
    row: dict[str, Any] = {
        "people": people,
        "engine": engine,
        "KB a person": round(size / people / 1000, 1),
        "reply ms": round(1000 * statistics.median(took)),
        "CPU ms": round(1000 * spent / MESSAGES),
    }
    for what in ("rows read", "rows written", "log bytes"):
        row[what] = round((after[what] - before[what]) / MESSAGES) if after else "–"
    return row | {"hourly CPU s": round_took, "errors": len(seen.faults)}


def _size(folder: Path, url: str) -> int:
    if not url:
        return sum(file.stat().st_size for file in folder.glob("db.sqlite3*"))
    import psycopg

    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        return int(row[0]) if row else 0


def _counters(url: str) -> dict[str, int]:
    """What PostgreSQL counts: rows that its tables were read for and that were written, and its log."""
    if not url:
        return {}
    import psycopg

    # Figures of a process arrive with a second's delay.
    time.sleep(2)
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT COALESCE(SUM(seq_tup_read + idx_tup_fetch), 0), "
            "COALESCE(SUM(n_tup_ins + n_tup_upd + n_tup_del), 0), pg_current_wal_lsn() - '0/0' "
            "FROM pg_stat_user_tables"
        ).fetchone()
    return dict(zip(("rows read", "rows written", "log bytes"), map(int, row or (0, 0, 0)), strict=True))


def _seconds(pid: int) -> float:
    """Processor time of `up` and everything below it, so far."""
    parents, times = dict[int, int](), dict[int, float]()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                facts = (folder / "stat").read_text().rpartition(") ")[2].split()
            except OSError:
                continue
            parents[int(folder.name)] = int(facts[1])
            times[int(folder.name)] = sum(map(int, facts[11:15])) / os.sysconf("SC_CLK_TCK")
    family = {pid}
    for _ in range(5):
        family |= {child for child, parent in parents.items() if parent in family}
    return sum(times[member] for member in family if member in times)
