"""The MCP server as such: what it offers, and that nothing of it reports anywhere."""

import pytest
from opentelemetry import trace

from connect.mcp.server import MemoryServer, described
from connect.tokens.keys import Caller
from memory.tools import CLIENT_TOOLS, TOOLS
from people.models import User


def test_nothing_reports_anywhere() -> None:
    """The SDK makes spans for whoever collects them: nobody does, and its middleware is taken out."""
    server = MemoryServer(Caller(User(), may_write=True)).build()
    assert server.middleware == []
    with trace.get_tracer("anything").start_as_current_span("a span") as span:
        assert not span.is_recording()


def test_tools_are_the_chats_own() -> None:
    shared = {tool.name: tool for tool in TOOLS if tool.name != "keep_off_record"}
    assert {tool.name: tool for tool in CLIENT_TOOLS if tool.name in shared} == shared


@pytest.mark.parametrize("tool", CLIENT_TOOLS, ids=lambda tool: tool.name)
def test_a_tool_says_whether_it_changes_anything(tool) -> None:
    told = described(tool)
    assert told.annotations is not None
    assert told.annotations.read_only_hint is not tool.writes
    assert told.input_schema["type"] == "object"
