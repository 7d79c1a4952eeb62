"""A database as each earlier version left it, with rows in every table, and what must be there afterwards.

Somebody may be upgrading from any of them: each of the apps' own migrations is once the first to run.
"""

import hashlib
import uuid
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.apps import apps as present
from django.apps.registry import Apps
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import connection, models
from django.db.migrations.executor import MigrationExecutor
from django.urls import reverse

from memory.index import engines
from oneclaw.postgres import is_postgres
from oneclaw.server import database

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CHAT = uuid.UUID("0b0d4b3a-5a0c-4b6f-9a53-5bb1a4a6d001")
FACT = "The spare key is under the blue pot"
SAID, REPLIED = "Where did we plant the lemon tree?", "You planted it behind the greenhouse."
LOGGED = "Walked along the canal to the old mill"
MEMORY = f"# Long-term Memory\n\n## Notes\n- {FACT}\n"
LOG = (
    "# Daily Log - 2026-03-01\n\n"
    f'<!-- oneclaw:entry {{"session": "{CHAT}", "first": 1, "last": 2, "trigger": "session_end"}} -->\n'
    f"- {LOGGED}\n\n---\n\n"
)
Target = tuple[str, str]


def own_apps() -> list[str]:
    """Those in the repository, a later one among them."""
    here = str(settings.BASE_DIR)
    ours = [app.label for app in present.get_app_configs() if app.path.startswith(here) and app.models_module]
    return [label for label in ours if "site-packages" not in present.get_app_config(label).path]


def states() -> list[list[Target]]:
    """What the apps' migrations may have been at: all as old as can be, then one migration more at a time."""
    graph, own = MigrationExecutor(connection).loader.graph, own_apps()
    others = [leaf for leaf in graph.leaf_nodes() if leaf[0] not in own]
    steps = {app: [node for node in graph.forwards_plan(leaf) if node[0] == app] for app, leaf in leaves(own)}

    def needed(node: Target) -> set[Target]:
        return {each for each in graph.forwards_plan(node) if each[0] in own}

    # An app that builds upon later migrations of others came later itself.
    firsts = {nodes[0] for nodes in steps.values()}
    have, found = {node for node in firsts if needed(node) <= firsts}, list[list[Target]]()
    while any(nodes[-1] not in have for nodes in steps.values()):
        there = [[node for node in nodes if node in have] for nodes in steps.values()]
        found.append([nodes[-1] for nodes in there if nodes] + others)
        following = [next((node for node in nodes if node not in have), None) for nodes in steps.values()]
        ready = [node for node in following if node and needed(node) <= have | {node}]
        have.add(min(ready, key=lambda node: steps[node[0]].index(node)))
    return found


def leaves(labels: list[str]) -> list[tuple[str, Target]]:
    graph = MigrationExecutor(connection).loader.graph
    return [(label, leaf) for label in labels for leaf in graph.leaf_nodes(label)]


def build(targets: list[Target], empty: bool) -> None:
    """Make the database what it was at that state, and fill it through the models of then."""
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    if empty:
        return
    then = executor.loader.project_state(targets).apps
    fill(then, {app for app, _ in targets if app in own_apps()})
    folder = settings.MEMORY_DIR / "ada"
    (folder / "daily").mkdir(parents=True)
    (folder / "MEMORY.md").write_text(MEMORY)
    (folder / "daily" / "2026-03-01.md").write_text(LOG)


def fill(then: Apps, labels: set[str]) -> None:
    user = make(then, "people.User", username="ada", password=make_password("correct horse battery"))
    session = make(then, "chat.Session", id=CHAT, owner=user, title="Garden")
    prompt = make(then, "chat.Message", session=session, type="user", content=SAID)
    run = make(then, "chat.Run", session=session, prompt=prompt, status="done")
    make(then, "chat.Message", session=session, type="ai_response", content=REPLIED, run=run)
    make(
        then,
        "memory.Revision",
        owner=user,
        author="tool",
        after=MEMORY,
        after_digest=hashlib.sha256(MEMORY.encode()).hexdigest(),
        size=len(MEMORY),
    )
    if "oneclaw" in labels and has_model(then, "oneclaw.Installation"):
        make(then, "oneclaw.Installation", key_digest=database.key_digest())
    # Something in every other table as well, so that no migration meets empty ones alone.
    for model in then.get_models():
        if model._meta.app_label in labels and not model._default_manager.exists():
            make(then, model._meta.label)
    if "memory_fulltext" not in connection.introspection.table_names():
        # Before there was one, nothing was indexed either.
        then.get_model("memory.MemoryIndex")._default_manager.all().delete()
    elif is_postgres():
        engines.fulltext().make_again()
    else:
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO memory_fulltext(memory_fulltext) VALUES ('rebuild')")


def has_model(then: Apps, label: str) -> bool:
    return any(model._meta.label == label for model in then.get_models())


def make(then: Apps, label: str, **given: Any) -> models.Model:
    """A row with the given values and, for what may not be empty, the plainest ones there are."""
    model = then.get_model(label)
    values = dict(given)
    for field in model._meta.concrete_fields:
        numbered = isinstance(field, models.AutoField)
        if field.name not in values and not (field.has_default() or field.null or numbered):
            values[field.name] = plain(then, field)
    made: models.Model = model._default_manager.create(**values)
    return made


def plain(then: Apps, field: "models.Field[Any, Any]") -> Any:
    if isinstance(field, models.ForeignKey):
        target = then.get_model(field.related_model._meta.label)
        return target._default_manager.first() or make(then, target._meta.label)
    if field.choices:
        return next(value for value, _ in field.flatchoices)
    for kind, value in PLAIN:
        if isinstance(field, kind):
            return value
    raise NotImplementedError(f"No plain value for {field}: add its kind to PLAIN.")


PLAIN: tuple[tuple[type, Any], ...] = (
    (models.DateTimeField, NOW),
    (models.DateField, date(2026, 3, 1)),
    (models.TimeField, time(12)),
    (models.DurationField, timedelta(hours=1)),
    (models.UUIDField, CHAT),
    (models.BooleanField, False),
    (models.JSONField, []),
    (models.BinaryField, b""),
    (models.IntegerField, 1),
    (models.FloatField, 1.0),
    (models.CharField, "plain"),
    (models.TextField, "plain"),
)


def counts() -> dict[str, int]:
    """Rows of every table that holds what people wrote, by its name."""
    names = [name for name in connection.introspection.table_names() if name.split("_")[0] in own_apps()]
    kept = [
        name for name in names if "fulltext" not in name and "search" not in name and "vectors" not in name
    ]
    with connection.cursor() as cursor:
        return {name: cursor.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in kept}


def problems(before: dict[str, int]) -> list[str]:
    """What is not as a person must find it after the upgrade."""
    from memory.manager import MemoryManager
    from people.models import User
    from tests.faults.work import browser

    found = [
        f"{name} had {count} rows, and has {now.get(name)}"
        for now in [counts()]
        for name, count in before.items()
        if name != "memory_memoryindex" and now.get(name, -1) < count
    ]
    user = User.objects.get(username="ada")
    if not user.check_password("correct horse battery"):
        found.append("The password is another one.")
    page = browser(user)
    for address, words in (
        (reverse("home"), "Garden"),
        (reverse("chat:session", args=[CHAT]), REPLIED),
        (reverse("chat:search") + "?q=greenhouse", "greenhouse"),
        (reverse("memory:home"), FACT),
        (reverse("memory:logs"), LOGGED),
        (reverse("memory:search") + "?q=canal", "canal"),
        (reverse("memory:history"), "Assistant"),
        (reverse("memory:compaction"), "ompact"),
        (reverse("memory:stats"), "ndex"),
    ):
        answer = page.get(address, follow=True)
        if answer.status_code != 200 or words not in answer.content.decode():
            found.append(f"{address}: {answer.status_code} without {words!r}")
    memory = MemoryManager(user)
    for query, wanted in (("spare key", FACT), ("old mill", LOGGED), ("lemon tree", SAID)):
        texts = [hit.chunk_text for hit in memory.search_memory(query)]
        if not any(wanted in text for text in texts):
            found.append(f"A search for {query!r} finds {texts}")
    if not engines.fulltext().is_sound():
        found.append("The full-text table does not agree with the index.")
    saved = memory.save_to_long_term_memory("The ladder is in the shed", "notes")
    if saved is None or FACT not in memory.read_long_term_memory():
        found.append("Nothing new can be saved.")
    return found
