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


def test_an_installation_that_failed_is_tried_again(tmp_path: Path) -> None:
    """Nothing marks it as done, and nothing is started."""
    made = 'mkdir -p "$3/bin" && cp "$0" "$3/bin/python"'
    cases = (f'*"-m venv"*) {made};;', "*scripts.install*) echo No download; exit 1;;", "*up*) echo Up;;")
    script = f'case "$*" in {" ".join(cases)} esac'
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    command = ["make", "run", f"VENV={tmp_path / 'venv'}", f"PYTHON={fake}"]
    for _ in range(2):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert done.returncode != 0
        assert "Installing OneClaw's libraries" in done.stdout
        assert "No download" in done.stdout
        assert "Up" not in done.stdout
        assert not (tmp_path / "venv" / ".installed").exists()
