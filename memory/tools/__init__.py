"""Memory tools: how a model reads, saves, corrects and searches memory."""

from memory.tools.definitions import TOOLS

__all__ = ["TOOLS"]
