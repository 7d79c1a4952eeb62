"""What to paste into other programs, each in the format that it documents for its MCP servers."""

import json
import shlex
import sys
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from oneclaw.postgres import address
from people.models import User

SERVER = "oneclaw"
ADD = ("claude", "mcp", "add", "--transport", "http", SERVER)
# Stands where the secret goes, while none is shown.
PLACEHOLDER = "YOUR_TOKEN"


@dataclass(frozen=True, slots=True)
class Program:
    """A program and its configuration: for the network, and for the machine that OneClaw runs on."""

    key: str
    name: str
    file: str
    http: str
    stdio: str
    # One line for a terminal that does the same as the file, where the program has such a command.
    command: str = ""


def programs(url: str, secret: str, user: User, *, read_only: bool = False) -> list[Program]:
    """All four programs, for a server at `url`. An empty secret is shown as a placeholder."""
    header = f"Bearer {secret or PLACEHOLDER}"
    remote: dict[str, Any] = {"type": "http", "url": url, "headers": {"Authorization": header}}
    local = _local(user, read_only)
    return [
        Program(
            "claude-code",
            "Claude Code",
            ".mcp.json in a project's folder",
            _json("mcpServers", remote),
            _json("mcpServers", {"type": "stdio", **local}),
            command=f"{shlex.join(ADD)} {shlex.join([url, '--header', f'Authorization: {header}'])}",
        ),
        Program(
            "claude-desktop",
            "Claude Desktop",
            "claude_desktop_config.json (Settings → Developer → Edit Config)",
            _json("mcpServers", _bridged(url, header)),
            _json("mcpServers", local),
        ),
        Program(
            "cursor",
            "Cursor",
            "~/.cursor/mcp.json",
            _json("mcpServers", {"url": url, "headers": {"Authorization": header}}),
            _json("mcpServers", {"type": "stdio", **local}),
        ),
        Program(
            "vs-code",
            "VS Code",
            ".vscode/mcp.json in a project's folder",
            _json("servers", remote),
            _json("servers", {"type": "stdio", **local}),
        ),
    ]


def _local(user: User, read_only: bool) -> dict[str, Any]:
    """The command that serves one person's memory on this machine; who may run it may read it anyway."""
    options = ["--read-only"] if read_only else []
    env = {"ONECLAW_DATA_DIR": str(settings.DATA_DIR)}
    if settings.DATABASE_URL:
        # Such files are synced and shared: the password has a place of its own.
        env["ONECLAW_DATABASE_URL"] = address.without_password(settings.DATABASE_URL)
    return {
        "command": sys.executable,
        "args": [str(settings.BASE_DIR / "manage.py"), "mcp", "--user", user.username, *options],
        "env": env,
    }


def _bridged(url: str, header: str) -> dict[str, Any]:
    """Claude Desktop's file knows programs alone, so one that speaks HTTP stands between.

    The header has no space in its argument, which Windows would part it at.
    """
    http = ["--allow-http"] if url.startswith("http:") else []
    return {
        "command": "npx",
        "args": ["-y", "mcp-remote", url, "--header", "Authorization:${AUTH_HEADER}", *http],
        "env": {"AUTH_HEADER": header},
    }


def _json(top: str, server: dict[str, Any]) -> str:
    return json.dumps({top: {SERVER: server}}, indent=2, ensure_ascii=False)
