"""What tests of connections share: tokens begin with a clean count, archives are taken in at once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from connect.importing.commands import from_disk
from connect.models import Import, Token
from connect.tokens import keys, throttle
from people.models import User

Bring = Callable[[User, Path], Import]


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    throttle.failures.clear()
    throttle.requests.clear()


def token_for(user: User, scope: str = Token.Scope.WRITE, name: str = "Laptop") -> str:
    """A new token's secret."""
    return keys.make(user, name, scope)[1]


@pytest.fixture
def bring(monkeypatch: pytest.MonkeyPatch) -> Bring:
    """Takes an archive in, as the command does; vectors are left to a worker that never comes."""
    monkeypatch.setattr("memory.index.backfill.async_task", lambda *args: None)
    return from_disk
