"""One version, wherever it is told."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from django.test import Client

from oneclaw import __version__
from people.models import User
from tests.running import ROOT, environment


@pytest.mark.parametrize("asked", [["--version"], ["version"], ["up", "--version"]])
def test_the_command_line_tells_it(asked: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "manage.py", *asked]
    env = environment(tmp_path)
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == (f"OneClaw {__version__}\n", 0), done.stderr


def test_the_about_page_tells_it(client: Client, db: None) -> None:
    client.force_login(User.objects.create_user("ada"))
    assert client.get("/settings/about/").context["versions"]["OneClaw"] == __version__


def test_the_project_file_takes_it_from_the_code() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "oneclaw.__version__"}


def test_the_changelog_has_it() -> None:
    assert f"\n## {__version__}" in (ROOT / "CHANGELOG.md").read_text()
