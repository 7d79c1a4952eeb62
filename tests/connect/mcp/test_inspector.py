"""The MCP inspector's command line, as an independent client. Nothing is installed for it.

`npm install --global @modelcontextprotocol/inspector@0.15.0`, or MCP_INSPECTOR with the path of its command.
"""

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import make_admin, send_form
from tests.connect.tokens.test_page import configured
from tests.running import Running, environment, oneclaw

INSPECTOR = os.environ.get("MCP_INSPECTOR") or shutil.which("mcp-inspector")

pytestmark = pytest.mark.skipif(
    not INSPECTOR,
    reason="the MCP inspector is not installed: neither mcp-inspector on PATH nor MCP_INSPECTOR names it",
)
FACT = "Keeps bees on the roof"


def inspect(*arguments: str, env: dict[str, str] | None = None) -> str:
    assert INSPECTOR
    done = subprocess.run(
        [INSPECTOR, "--cli", *arguments],
        env=env or dict(os.environ),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def knows_headers() -> bool:
    return "--header" in inspect("--help")


def asked(*server: str, env: dict[str, str] | None = None) -> tuple[list[str], str]:
    """The tools that a server lists, and what it finds about bees."""
    listed: dict[str, Any] = json.loads(inspect(*server, "--method", "tools/list", env=env))
    found = called(*server, tool="search_memory", argument="query=Who keeps bees?", env=env)
    return [tool["name"] for tool in listed["tools"]], found


def called(*server: str, tool: str, argument: str, env: dict[str, str] | None = None) -> str:
    call = ("--method", "tools/call", "--tool-name", tool, "--tool-arg", argument)
    found: dict[str, Any] = json.loads(inspect(*server, *call, env=env))
    assert not found.get("isError"), found
    return str(found["content"][0]["text"])


def connections(running: Running) -> str:
    """The page that shows what to paste, with a new token."""
    with make_admin(running).client() as client:
        return send_form(client, "/settings/connections/", name="Laptop", scope="write").text


def test_it_lists_the_tools_and_finds_a_memory_over_both_transports(tmp_path: Path) -> None:
    with oneclaw(tmp_path) as running:
        page = connections(running)
        local = configured(page, "claude-code-stdio")["mcpServers"]["oneclaw"]
        env = environment(Path(local["env"]["ONECLAW_DATA_DIR"])) | local["env"]
        # It gives what it starts no variables but those named.
        given = [part for name, value in local["env"].items() for part in ("-e", f"{name}={value}")]
        server = (*given, local["command"], *local["args"])
        assert "Saved" in called(*server, tool="save_memory", argument=f"content={FACT}", env=env)
        tools, found = asked(*server, env=env)
        assert {"search_memory", "read_memory", "recall", "save_memory", "update_memory"} <= set(tools)
        assert FACT in found
        assert FACT in running.manage("memory", "entries")
        if knows_headers():
            remote = configured(page, "claude-code-http")["mcpServers"]["oneclaw"]
            (token,) = remote["headers"].values()
            sent = ("--transport", "http", "--header", f"Authorization: {token}")
            assert asked(remote["url"], *sent) == (tools, found)
        assert "oc_" not in running.log
