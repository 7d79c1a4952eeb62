"""MCP as programs are set up with it: by what the page shows, over HTTP and on their own pipes."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.core.management import CommandError, call_command
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

from people.models import User
from tests.browser.conftest import make_admin, send_form
from tests.connect.mcp.speaking import text
from tests.connect.tokens.test_page import configured
from tests.running import environment, oneclaw


@pytest.mark.django_db
def test_nobodys_memory_is_not_served(ada: User) -> None:
    with pytest.raises(CommandError, match="no active account"):
        call_command("mcp", "--user", "nobody")
    User.objects.update(is_active=False)
    with pytest.raises(CommandError, match="no active account"):
        call_command("mcp", "--user", "ada")


async def save(transport: Any, fact: str) -> list[str]:
    """List the tools, and save a fact if one of them can."""
    async with Client(transport, client_info=Implementation(name="claude-code", version="1.0")) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        if "save_memory" in tools:
            assert "Saved" in text(await client.call_tool("save_memory", {"content": fact}))
        assert fact in text(await client.call_tool("read_memory", {}))
        return tools


async def by_http(config: dict[str, Any], fact: str) -> list[str]:
    """As Claude Code does with such an entry of .mcp.json."""
    assert config["type"] == "http"
    async with httpx2.AsyncClient(headers=config["headers"], timeout=120) as http:
        return await save(streamable_http_client(config["url"], http_client=http), fact)


async def by_stdio(config: dict[str, Any], fact: str, *more: str) -> list[str]:
    env = environment(Path(config["env"]["ONECLAW_DATA_DIR"])) | config["env"]
    started = StdioServerParameters(
        command=config["command"], args=[*config["args"], *more], env=env, cwd=Path("/")
    )
    return await save(stdio_client(started), fact)


def test_the_pages_configuration_lists_the_tools_and_saves_facts(tmp_path: Path) -> None:
    with oneclaw(tmp_path) as running, make_admin(running).client() as client:
        fields = {"name": "Laptop", "scope": "write"}
        page = send_form(client, "/settings/connections/", **fields).text
        remote = configured(page, "claude-code-http")["mcpServers"]["oneclaw"]
        local = configured(page, "claude-code-stdio")["mcpServers"]["oneclaw"]
        tools = asyncio.run(by_http(remote, "Keeps bees on the roof"))
        assert {"search_memory", "save_memory", "recall"} <= set(tools)
        assert asyncio.run(by_stdio(local, "Bakes rye bread on Sundays")) == tools
        fewer = asyncio.run(by_stdio(local, "Bakes rye bread on Sundays", "--read-only"))
        assert set(tools) - set(fewer) == {"save_memory", "update_memory"}
        memory, history = client.get("/memory/").text, client.get("/memory/history/").text
        assert "Keeps bees on the roof" in memory
        assert "Bakes rye bread" in memory
        assert "Claude Code (Laptop)" in history
        assert "Claude Code (this machine)" in history
        assert "oc_" not in running.log
