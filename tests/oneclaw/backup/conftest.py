"""A data folder with everything in it, in a database of its own kind."""

from contextlib import closing
from pathlib import Path

import pytest

from oneclaw.sqlite import driver
from people.models import User
from tests.running import database_of_tests


@pytest.fixture
def filled(data_dir: Path, transactional_db: None, ada: User, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a person has after a while, with a link to a synced folder among it."""
    # PostgreSQL is copied by a process of its own.
    for name, value in database_of_tests().items():
        monkeypatch.setenv(name, value)
    (data_dir / "secret.key").write_text("key\n")
    (data_dir / "model.asked").write_text("a-model\n")
    (data_dir / "up.lock").touch()
    memory = data_dir / "memory" / "ada"
    (memory / "daily").mkdir(parents=True)
    (memory / "MEMORY.md").write_text("# Long-term Memory")
    (memory / "daily" / "2026-03-01.md").write_text("- Lisbon")
    (memory / ".lock").touch()
    (memory / ".MEMORY.md.abc.tmp").write_text("half")
    return data_dir


def users(file: Path) -> list[str]:
    """Who has an account in a database file."""
    with closing(driver.choose().connect(file)) as database:
        return [name for (name,) in database.execute("SELECT username FROM people_user ORDER BY 1")]


def modes(folder: Path) -> set[str]:
    """The rights of everything in a folder."""
    return {oct(path.stat().st_mode & 0o777) for path in folder.rglob("*") if not path.is_symlink()}
