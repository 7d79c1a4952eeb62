"""Search: candidates by words and by vectors, scored as RFC-013 says."""

from memory.search.engine import HybridSearchEngine

__all__ = ["HybridSearchEngine"]
