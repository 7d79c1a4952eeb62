"""Vectors made from words alone: the same on every processor, and near each other where words are shared."""

from typing import Any
from zlib import crc32

import numpy as np
import pytest

from memory.embedding import EmbeddingEngine
from memory.index.terms import terms

DIMENSION = 384


def vector_of(text: str) -> np.ndarray:
    """The normalised sum of one random direction a word; the word is the seed."""
    directions = [
        np.random.default_rng(crc32(term.encode())).standard_normal(DIMENSION) for term in terms(text)
    ]
    total = np.sum(directions, axis=0) if directions else np.ones(DIMENSION)
    return (total / np.linalg.norm(total)).astype(np.float32)


def use_word_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a test compares rankings to the last digit, the int8 model's rounding must not decide.

    It differs between processors: a chunk at the edge of a choice is in it on one and not on the other.
    """

    def embed(self: EmbeddingEngine, session: Any, text: str) -> np.ndarray:
        return vector_of(text)

    monkeypatch.setattr(EmbeddingEngine, "_vector", embed)
