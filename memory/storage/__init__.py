"""Memory on disk: Markdown files, how they are written, and how their lines and entries are read."""

from memory.storage.files import MemoryFileStorage

__all__ = ["MemoryFileStorage"]
