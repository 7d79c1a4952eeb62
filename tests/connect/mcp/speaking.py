"""Programs that speak MCP: the SDK's own client over HTTP."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, Implementation, TextContent

T = TypeVar("T")
# The handshake of the clients that people have, and the newer protocol without one.
MODES = ("legacy", "auto")


def over_http(
    address: str,
    secret: str,
    work: Callable[[Client], Awaitable[T]],
    *,
    name: str = "claude-code",
    mode: str = "auto",
    **headers: str,
) -> T:
    """Do something with a client that has a token."""

    async def connected() -> T:
        sent = {"Authorization": f"Bearer {secret}", **headers}
        async with httpx2.AsyncClient(headers=sent, timeout=60) as http:
            transport = streamable_http_client(f"{address}/mcp", http_client=http)
            info = Implementation(name=name, version="1.0")
            async with Client(transport, client_info=info, mode=mode) as client:
                return await work(client)

    return asyncio.run(connected())


def calling(tool: str, **arguments: Any) -> Callable[[Client], Awaitable[CallToolResult]]:
    async def call(client: Client) -> CallToolResult:
        return await client.call_tool(tool, arguments)

    return call


def text(result: CallToolResult) -> str:
    part = result.content[0]
    assert isinstance(part, TextContent)
    return part.text


def code(result: CallToolResult) -> str:
    assert result.is_error, text(result)
    return str(result.structured_content["code"])
