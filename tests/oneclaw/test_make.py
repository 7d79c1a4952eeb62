"""What `make run` says to a machine that isn't ready."""

import subprocess
from pathlib import Path

from tests.running import ROOT


def make_run(folder: Path, python: str) -> str:
    """The words of a `make run` with the given script for a Python."""
    fake = folder / "python"
    fake.write_text(f"#!/bin/sh\n{python}\n")
    fake.chmod(0o755)
    done = subprocess.run(
        ["make", "run", f"VENV={folder / 'venv'}", f"PYTHON={fake}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode != 0
    assert not (folder / "venv").exists()
    return done.stdout


def test_an_old_python_is_told_apart(tmp_path: Path) -> None:
    said = make_run(tmp_path, 'case "$1" in --version) echo Python 3.9.2;; *) exit 1;; esac')
    assert "OneClaw needs Python 3.11 or newer" in said
    assert "is Python 3.9.2." in said


def test_a_python_without_venv_is_told_what_to_install(tmp_path: Path) -> None:
    said = make_run(tmp_path, 'case "$2" in *ensurepip*) exit 1;; esac')
    assert "has no venv module" in said
    assert "apt install python3-venv" in said
