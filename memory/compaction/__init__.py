"""Compaction of MEMORY.md (RFC-049): drafts by a model, reasons to refuse them, and rebasing."""

from memory.compaction.compactor import MemoryCompactor

__all__ = ["MemoryCompactor"]
