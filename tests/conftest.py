"""Every test has its own data folder; nothing here reaches the network."""

from pathlib import Path

import pytest
from pytest_django.fixtures import Settings


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Settings) -> Path:
    """A temporary data folder, so that no test sees another's files or the developer's."""
    settings.DATA_DIR = tmp_path
    settings.MEMORY_DIR = tmp_path / "memory"
    return tmp_path
