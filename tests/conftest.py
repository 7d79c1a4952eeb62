"""Every test has its own data folder; nothing here reaches the network."""

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from _pytest.terminal import TerminalReporter
from pytest_django import DjangoDbBlocker
from pytest_django.fixtures import Settings

from memory.index import engines, portions
from memory.models import MemoryIndex
from people.models import User
from tests import running
from tests.faults import kills
from tests.modelserver.plugin import forgetful_exchange, make_provider, model_server  # noqa: F401
from tests.realmodel import mortal_model, real_model  # noqa: F401

HERE = Path(__file__).parent
# Whose tests take minutes: those with a browser, kills and upgrades, and hostile texts.
LONG = ("faults", "browser", "security")

# How long an example takes says something of the machine, not of the code.
hypothesis.settings.register_profile(
    "oneclaw", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("oneclaw")


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary data folder, so that no test sees another's files or the developer's."""
    # A test that starts a web server's hooks must not make the next ones search in portions.
    monkeypatch.setattr(portions._Process, "serves_pages", False)
    settings.DATA_DIR = tmp_path
    settings.MEMORY_DIR = tmp_path / "memory"
    # No thread reads the database after a test has ended: those about indexes in memory ask for them.
    settings.RESIDENT_MB = 0
    # A real hash takes most of a second, and nearly every test makes a user.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    # Pages are tested without collecting static files first.
    settings.STORAGES = settings.STORAGES | {
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    }
    return tmp_path


@pytest.fixture(autouse=True)
def no_leftover_index(request: pytest.FixtureRequest, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Django's flush leaves virtual tables alone and begins its ids again: no test may meet old rows."""
    yield
    mark = request.node.get_closest_marker("django_db")
    if "transactional_db" in request.fixturenames or (mark and mark.kwargs.get("transaction")):
        with django_db_blocker.unblock():
            # The flush comes after this, so what it would leave is made of no rows.
            MemoryIndex.objects.all().delete()
            engines.fulltext().make_again()
            engines.vectors().drop_all()


@pytest.fixture
def ada(db: None) -> User:
    """An admin, as the set-up page makes one."""
    return User.objects.create_superuser("ada", password="correct horse battery")


@pytest.fixture
def ben(db: None) -> User:
    """A person who is no admin, and whose things are none of Ada's business."""
    return User.objects.create_user("ben", password="correct horse battery")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What runs on which database: `make test` runs SQLite's, `make test-postgres` PostgreSQL's.

    - What is about the other database alone is left out. It is marked `sqlite` or `postgres`.
    - On PostgreSQL, so is what asks no database: functions, prompts, patterns, documents, deployment. That is
      seen from the tests themselves (`asks_a_database`): nothing is listed, and a new test runs on both.
    """
    on_postgres = bool(os.environ.get("TEST_DATABASE_URL"))
    other = "sqlite" if on_postgres else "postgres"
    items[:] = [
        item
        for item in items
        if not item.get_closest_marker(other) and (not on_postgres or asks_a_database(item))
    ]
    # Those that take minutes begin first, or one worker would wait for the other's at the end.
    items.sort(key=lambda item: item.path.relative_to(HERE).parts[0] not in LONG)


def asks_a_database(item: pytest.Item) -> bool:
    """By a mark or a fixture, or in a module that starts a OneClaw: that gets a database of the same kind."""
    if any(item.get_closest_marker(name) for name in ("django_db", "postgres")):
        return True
    if not {"db", "transactional_db"}.isdisjoint(getattr(item, "fixturenames", ())):
        return True
    known = vars(getattr(item, "module", None) or object).values()
    starting = (running.oneclaw, running.launch, kills.killer)
    return any(each is start for each in known for start in starting)


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Browser tests that did not run are said loudly: they are the proof that pages work."""
    skipped = [report for report in terminalreporter.getreports("skipped") if "browser" in report.keywords]
    if skipped:
        terminalreporter.section("NO BROWSER", sep="!", red=True, bold=True)
        terminalreporter.line(
            f"{len(skipped)} browser tests were NOT run: install chromium (Debian: apt install chromium)."
        )
