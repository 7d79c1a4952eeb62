"""Injection: what memory adds to a message, within its budget and inside its frame."""

from memory.injection.injector import MemoryInjector

__all__ = ["MemoryInjector"]
