"""Which SQLite module to use: the standard one if it can load extensions, else pysqlite3."""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


def can_load_extensions(module: ModuleType) -> bool:
    return hasattr(module.Connection, "enable_load_extension")


def choose() -> ModuleType:
    if can_load_extensions(sqlite3):
        return sqlite3
    try:
        import pysqlite3
    except ImportError:
        return sqlite3
    return pysqlite3 if can_load_extensions(pysqlite3) else sqlite3


@contextmanager
def imported_as_sqlite3(module: ModuleType) -> Iterator[None]:
    """Let the imports inside take `module` for sqlite3, and put the standard module back after."""
    names = ("sqlite3", "sqlite3.dbapi2")
    standard = {name: sys.modules[name] for name in names}
    sys.modules["sqlite3"] = module
    sys.modules["sqlite3.dbapi2"] = module.dbapi2
    try:
        yield
    finally:
        sys.modules.update(standard)
