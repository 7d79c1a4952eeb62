"""Memory tools: how a model reads, saves, corrects and searches memory."""

from memory.tools.definitions import CLIENT_TOOLS, TOOLS

__all__ = ["CLIENT_TOOLS", "TOOLS"]
