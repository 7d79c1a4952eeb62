"""Addresses of a target: what is read from them, and what is said of wrong ones."""

from pathlib import Path

import pytest

from oneclaw.moving.places import MoveFailed, target_settings


def test_a_file_and_a_server_are_read(tmp_path: Path):
    file = target_settings(f"sqlite://{tmp_path}/a%20b.sqlite3")
    assert (file["ENGINE"], file["NAME"]) == ("oneclaw.sqlite", tmp_path / "a b.sqlite3")
    server = target_settings("postgres://ada:p%40ss@db.example.org:5433/claw")
    assert (server["ENGINE"], server["NAME"], server["PASSWORD"]) == ("oneclaw.postgres", "claw", "p@ss")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite:///", "Name a file"),
        ("sqlite:", "Name a file"),
        ("sqlite://host/file", "Name a file"),
        ("sqlite:///tmp", "Name a file"),
        ("sqlite:///no/such/folder/db.sqlite3", "There is no folder /no/such/folder"),
        ("mysql://somewhere/claw", "must begin with postgres://"),
        ("db.sqlite3", "For SQLite, write sqlite:///"),
        ("", "For SQLite, write sqlite:///"),
        ("postgres://ada:secret@host/", "names no database"),
        ("postgres://ada:sec ret@ho st:port/x", "can't be read"),
    ],
)
def test_a_wrong_address_is_told_and_its_password_is_not(url: str, said: str):
    with pytest.raises(MoveFailed) as failed:
        target_settings(url)
    assert said in str(failed.value)
    assert "sec" not in str(failed.value)
    assert "ONECLAW_DATABASE_URL" not in str(failed.value)
