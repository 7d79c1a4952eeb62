"""The tools a model may call: which are offered in a chat, and one call of one of them."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from django.db import connections

from chat.adapters.events import ToolCall
from chat.models import AiModel
from chat.tools import validation
from chat.tools.clock import GET_CURRENT_TIME
from memory.tools import TOOLS
from oneclaw.toolkit import Tool, ToolContext, ToolResult

logger = logging.getLogger(__name__)

MOST_CHARACTERS = 30_000
CUT_MARK = "\n\n[Cut here: {left:,} more characters.]"


class Registry:
    """Every tool there is."""

    def memory(self) -> tuple[Tool, ...]:
        return tuple(TOOLS)

    def all(self, context: ToolContext | None = None) -> tuple[Tool, ...]:
        """All tools, or those for a person and chat: no writers or readers where these are not wanted."""
        tools = (GET_CURRENT_TIME, *self.memory())
        if context is None:
            return tools
        if not context.user.memory_enabled:
            return (GET_CURRENT_TIME,)
        return tuple(
            tool
            for tool in tools
            if not (tool.writes and context.read_only) and not (tool.reads and context.write_only)
        )

    def offered(self, context: ToolContext, model: AiModel, *, memory: bool = True) -> tuple[Tool, ...]:
        """What this model is told of: none of memory if off or not trusted."""
        if not model.supports_tools:
            return ()
        if not (memory and model.may_keep_memory):
            return (GET_CURRENT_TIME,)
        return self.all(context)

    @property
    def memory_names(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self.memory())


registry = Registry()


Runner = Callable[[Callable[[], ToolResult]], Awaitable[ToolResult]]


async def call(
    tools: Iterable[Tool], context: ToolContext, wanted: ToolCall, run: Runner | None = None
) -> ToolResult:
    """The result of a call; an unknown name, bad arguments, a timeout and an exception are results too.

    `run` says where the work is done, if not in a thread of its own.
    """
    tool = next((tool for tool in tools if tool.name == wanted.name), None)
    if tool is None:
        return ToolResult.error("unknown_tool", f"There is no tool named {wanted.name[:100]!r} here.")
    if wanted.problem:
        return ToolResult.error("validation_error", wanted.problem)
    try:
        arguments = validation.arguments(tool.parameters, wanted.arguments)
    except validation.InvalidArguments as fault:
        return ToolResult.error("validation_error", str(fault))
    try:
        result = await asyncio.wait_for(
            (run or in_own_thread)(lambda: tool.run(context, arguments)), tool.timeout
        )
    except TimeoutError:
        return ToolResult.error("timeout", f"{tool.name} took longer than {tool.timeout:g} seconds.")
    except Exception:
        logger.exception("The tool %s failed", tool.name)
        return ToolResult.error("tool_failed", f"{tool.name} failed inside OneClaw. Go on without it.")
    return cut(result)


def cut(result: ToolResult) -> ToolResult:
    """A result no longer than the limit, its mark included."""
    if len(result.content) <= MOST_CHARACTERS:
        return result
    room = MOST_CHARACTERS - len(CUT_MARK.format(left=len(result.content)))
    mark = CUT_MARK.format(left=len(result.content) - room)
    return replace(result, content=result.content[:room] + mark)


async def in_own_thread(work: Callable[[], ToolResult]) -> ToolResult:
    """Run in a thread of its own, so that one that hangs does not block the next."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[ToolResult] = loop.create_future()

    def settle(result: ToolResult | None, fault: Exception | None) -> None:
        if done.cancelled():
            return
        if fault is not None:
            done.set_exception(fault)
        elif result is not None:
            done.set_result(result)

    def run() -> None:
        result, fault = None, None
        try:
            result = work()
        except Exception as raised:
            fault = raised
        finally:
            connections.close_all()
        # The loop may have ended meanwhile; then nobody waits for this.
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, fault)

    threading.Thread(target=run, name="chat-tool", daemon=True).start()
    return await done
