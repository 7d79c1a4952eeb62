"""Long-term memory: MEMORY.md, and every change of it as a revision that can be undone."""

from memory.longterm.memory import LongTermMemory

__all__ = ["LongTermMemory"]
