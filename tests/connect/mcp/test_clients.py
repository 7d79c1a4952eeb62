"""Names of programs: bounded, visible, and never another's."""

import json

import pytest

from connect.mcp import clients


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("claude-ai", "Claude Desktop (Laptop)"),
        ("Claude-Code", "Claude Code (Laptop)"),
        ("  My\n\tagent ", "My agent (Laptop)"),
        ("x" * 5000, f"{'x' * 50} (Laptop)"),
        ("a\u202eb\x00c", "abc (Laptop)"),
        ("You", "You (Laptop)"),
        ("", "A program (Laptop)"),
        ("oc_" + "a1" * 22, "[secret] (Laptop)"),
    ],
)
def test_a_name_is_one_short_line(name: str, shown: str) -> None:
    assert clients.shown(name, "Laptop") == shown


def test_without_a_token_it_is_here() -> None:
    assert clients.shown("cursor-vscode", "") == "Cursor (this machine)"


@pytest.mark.parametrize("name", [None, 7, [], {"a": 1}])
def test_what_is_no_text_is_no_name(name: object) -> None:
    assert clients.cleaned(name) == ""


def test_a_session_keeps_its_name_and_no_other_is_believed() -> None:
    session = clients.session_of("Claude Code")
    assert session.isascii()
    assert session.isprintable()
    assert clients.named_by(session) == "Claude Code"
    for wrong in ("", "nonsense", session[:-1], f"x{session}"):
        assert clients.named_by(wrong) == ""


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"method": "initialize"}', b"[" * 9999, b"7"])
def test_who_does_not_introduce_himself_has_no_name(body: bytes) -> None:
    assert clients.introduced(body) == ""


def test_an_introduction() -> None:
    info = {"name": "claude-code", "title": "Claude Code CLI", "version": "1"}
    body = {"method": "initialize", "params": {"clientInfo": info}}
    assert clients.introduced(json.dumps(body).encode()) == "Claude Code CLI"
