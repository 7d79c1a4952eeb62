"""Which tools a reply may use, and one call of one of them."""

import asyncio
from collections.abc import Sequence

from chat.engine import in_thread, using_tools
from chat.events import ToolCall
from chat.models import AiModel
from oneclaw.toolkit import Tool, ToolContext, ToolResult

MEMORY_TOOLS = frozenset({"save_memory", "update_memory", "read_memory", "search_memory"})


def offered(context: ToolContext, model: AiModel, *, memory: bool) -> list[Tool]:
    """The tools for this chat: none of memory where it is off or the provider isn't trusted with it."""
    return []


async def call(tools: Sequence[Tool], context: ToolContext, wanted: ToolCall) -> ToolResult:
    """The result of a call; an unknown name, bad arguments, a timeout and an exception are results too."""
    tool = next((tool for tool in tools if tool.name == wanted.name), None)
    if tool is None:
        return ToolResult.error("unknown_tool", f"There is no tool named {wanted.name}.")
    try:
        return await asyncio.wait_for(
            in_thread(using_tools, tool.run, context, wanted.arguments), tool.timeout
        )
    except TimeoutError:
        return ToolResult.error("timeout", f"{wanted.name} took longer than {tool.timeout:g} s.")
