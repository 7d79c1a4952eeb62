"""Embedding on this machine: one model that reads English, and a second one for what it can't read."""

from typing import TYPE_CHECKING

from memory.embedding.local import (
    MAX_PIECES,
    EmbeddingEngine,
    State,
    engine,
    let_go_when_idle,
    stored,
    warm_up,
)

if TYPE_CHECKING:
    from memory.embedding.local import Vector

__all__ = [
    "MAX_PIECES",
    "EmbeddingEngine",
    "State",
    "Vector",
    "engine",
    "let_go_when_idle",
    "stored",
    "warm_up",
]
