"""The embedding engine: text in, one normalised vector out, nothing loaded before it is needed."""

import base64
import ctypes
import gc
import hashlib
import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from django.conf import settings

from memory.embedding.language import is_english
from memory.embedding.second import SecondModel, first_alone, joined, read_by_both

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Tokenizer

    Vector = np.ndarray

logger = logging.getLogger(__name__)

MAX_PIECES = 128  # RFC-013: maxSequenceLength
# So many pieces are in the beginning of a text, however long it is.
MOST_CHARACTERS = 20_000
# Cosines above this come from the last digits alone.
SAME = 0.99999
BULK = 32  # from this many texts on, several one-thread runs side by side are quicker


# Seconds after which a folder that could not be used is looked at again.
RETRY = 10.0


class State(StrEnum):
    UNLOADED = "unloaded"
    READY = "ready"
    UNAVAILABLE = "unavailable"


class EmbeddingEngine:
    """One model folder, and a second model for texts that are not English.

    A text is embedded alone, so its vector never depends on its neighbours: dynamic int8 scales activations
    over the whole batch, and with batches one text has many vectors.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.second = SecondModel()
        self.state = State.UNLOADED
        self.reason = ""
        self.dimension = 0
        self._digest = ""
        self._lock = threading.RLock()
        self.session: Any = None
        self._inputs: tuple[str, ...] = ()
        self._bulk: Any = None
        self._bulk_users = 0
        self._failed_at = 0.0
        self._used_at = 0.0
        self._failed_with: tuple[tuple[int, int], ...] = ()
        self._tokenizer: Tokenizer | None = None

    @property
    def name(self) -> str:
        """Both models and the start of their checksums: another file of either is another engine."""
        self._ready()
        first = f"{self.folder.name[:60]}@{self._digest[:12]}" if self._digest else self.folder.name[:60]
        second = self.second.name
        return f"{first}+{second}" if second else first

    def is_available(self) -> bool:
        """Whether vectors can be had; loads the model if that was not tried yet."""
        return self._ready()

    def embed(self, text: str) -> "np.ndarray | None":
        """The text's vector, or None when the model can't be used and search goes by keywords."""
        return self.embed_many([text])[0]

    def embed_many(self, texts: Sequence[str]) -> "list[np.ndarray | None]":
        opened = self._opened()
        if opened is None:
            return [None] * len(texts)
        if len(texts) < BULK:
            return [self._vector(opened, text) for text in texts]
        # Made for this work and dropped after it: a second copy of the weights is not kept in memory.
        session = self._bulk or self.open(threads=1)
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            return list(pool.map(lambda text: self._vector(session, text), texts))

    def completed(
        self, text: str, vector: "np.ndarray | None", *, asked_abroad: bool = False
    ) -> "np.ndarray | None":
        """The vector to store for a text: where it is not English, joined with the second model's.

        `asked_abroad` has English read by both, for somebody who asks in other languages.
        """
        english = is_english(text)
        if vector is None or (english and not asked_abroad):
            return vector
        second = self.second.embed(text)
        if second is None:
            return vector
        return read_by_both(vector, second) if english else joined(vector, second)

    def embed_question(self, text: str, *, in_both: bool) -> "dict[int, np.ndarray]":
        """The question's vector for each length of stored vectors; `in_both` where some are joined ones."""
        vector = self.embed(text)
        if vector is None:
            return {}
        found = {vector.size: vector}
        second = self.second.embed(text) if in_both else None
        if second is not None:
            both = joined(vector, second)
            found[both.size] = both
            found[both.size + 1] = first_alone(vector) if is_english(text) else read_by_both(vector, second)
        return found

    @cached_property
    def agreement(self) -> float | None:
        """The lowest cosine of this machine's vectors with those the model came with; None without any."""
        try:
            known = json.loads((self.folder / "reference.json").read_text())
            found = self.embed_many([entry["text"] for entry in known])
            return min(
                float(vector @ stored(entry["vector"]))
                for vector, entry in zip(found, known, strict=True)
                if vector is not None
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    @property
    def agrees(self) -> bool:
        """False where other machines give other vectors for the same text."""
        return self.agreement is None or self.agreement > SAME

    @contextmanager
    def in_bulk(self) -> Iterator[None]:
        """Many calls of `embed_many` share what one of them would make for itself."""
        with self._lock:
            if self._bulk is None and self._ready():
                self._bulk = self.open(threads=1)
            self._bulk_users += 1
        try:
            yield
        finally:
            with self._lock:
                self._bulk_users -= 1
                if not self._bulk_users:
                    self._bulk = None

    def count_tokens(self, text: str) -> int:
        """Word pieces in the text, or a guess from its length when there is no tokenizer."""
        tokenizer = self._load_tokenizer()
        if tokenizer is None:
            return len(text.encode("utf-8", "replace")) // 3 + 1
        return len(tokenizer.encode(readable(text), add_special_tokens=False).ids)

    def _opened(self) -> Any:
        """The model's session, loaded if need be; None when it can't be used."""
        while self._ready():
            # Let go a moment ago, it is loaded again.
            if (session := self.session) is not None:
                return session
        return None

    def let_go(self) -> None:
        """Free the memory that the models take; they are loaded again when the next text needs them."""
        with self._lock:
            if self.state is State.READY and not self._bulk_users:
                self.state, self.session, self._tokenizer = State.UNLOADED, None, None
                self.second.let_go()
        give_back()

    def _rest_when_idle(self, seconds: float) -> None:
        while self.state is State.READY:
            if (left := self._used_at + seconds - monotonic()) > 0:
                sleep(left)
            else:
                self.let_go()

    def _ready(self) -> bool:
        self._used_at = monotonic()
        if self.state is State.UNAVAILABLE and monotonic() - self._failed_at >= RETRY:
            self._look_again()
        if self.state is State.UNLOADED:
            with self._lock:
                if self.state is State.UNLOADED:
                    self._load()
        # Let go by another thread a moment ago, it can be had all the same.
        return self.state is not State.UNAVAILABLE

    def _look_again(self) -> None:
        """After a failure: another try once the folder's files are other ones."""
        with self._lock:
            self._failed_at = monotonic()
            if self.state is State.UNAVAILABLE and marks_of(self.folder) != self._failed_with:
                self.state, self.reason = State.UNLOADED, ""

    def _load(self) -> None:
        self._failed_with = marks_of(self.folder)
        try:
            self._digest = checked_digest(self.folder)
            if self._load_tokenizer() is None:
                raise ModelFault(f"{self.folder / 'tokenizer.json'} can't be read")
            self.session = self.open(threads=0)
            # Asking for them takes a tenth of a millisecond, and every run would.
            self._inputs = tuple(entry.name for entry in self.session.get_inputs())
            probe = self._run(self.session, "A text, to see that the model works.")
            self.dimension = len(probe)
            self.state = State.READY
            if _idle.seconds:
                rest = threading.Thread(target=self._rest_when_idle, args=(_idle.seconds,), daemon=True)
                rest.start()
        except Exception as error:
            self.reason = str(error) if isinstance(error, ModelFault) else f"{self.folder.name}: {error}"
            self._failed_at = monotonic()
            self.state = State.UNAVAILABLE
            logger.warning("Search uses keywords only until that is mended: %s.", self.reason)

    def _load_tokenizer(self) -> "Tokenizer | None":
        tokenizer = self._tokenizer
        if tokenizer is None and self.state is not State.UNAVAILABLE:
            with self._lock:
                tokenizer = self._tokenizer or read_tokenizer(self.folder / "tokenizer.json")
                self._tokenizer = tokenizer
        # Not what is kept: another thread may let go of that at any moment.
        return tokenizer

    def open(self, threads: int) -> Any:
        """The model, ready to run on so many threads; 0 is one a core."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        # Its threads would go on spinning for 50 ms and more, in the time of the search that follows.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        return onnxruntime.InferenceSession(
            str(self.folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )

    def _vector(self, session: Any, text: str) -> "np.ndarray | None":
        try:
            return self._run(session, text)
        except Exception:
            logger.exception("A text of %d characters could not be embedded.", len(text))
            return None

    def _run(self, session: Any, text: str) -> "np.ndarray":
        import numpy as np

        tokenizer, self._used_at = self._load_tokenizer(), monotonic()
        assert tokenizer is not None
        ids = tokenizer.encode(readable(text[:MOST_CHARACTERS])).ids
        if len(ids) > MAX_PIECES:
            ids = [*ids[: MAX_PIECES - 1], ids[-1]]
        pieces = np.array([ids], dtype=np.int64)
        known: dict[str, Callable[[], np.ndarray]] = {
            "input_ids": lambda: pieces,
            "attention_mask": lambda: np.ones_like(pieces),
            "token_type_ids": lambda: np.zeros_like(pieces),
        }
        output = session.run(None, {name: known[name]() for name in self._inputs})[0][0]
        # A graph that ends in one vector per word piece is pooled here; the bundled one pools by itself.
        vector: np.ndarray = output.mean(axis=0) if output.ndim == 2 else output
        length = float(np.linalg.norm(vector))
        return (vector / length if length else vector).astype(np.float32, copy=False)


class ModelFault(Exception):
    """Why a model folder can't be used, in words for the status page."""


def marks_of(folder: Path) -> tuple[tuple[int, int], ...]:
    """Times and sizes of the files that make a folder usable; zeros for one that is missing."""
    found = list[tuple[int, int]]()
    for name in ("model.onnx", "tokenizer.json", "SHA256SUMS"):
        try:
            seen = (folder / name).stat()
            found.append((seen.st_mtime_ns, seen.st_size))
        except OSError:
            found.append((0, 0))
    return tuple(found)


def checked_digest(folder: Path) -> str:
    """The SHA-256 of model.onnx; what SHA256SUMS lists must match, where that file exists."""
    try:
        lines = (folder / "SHA256SUMS").read_text().splitlines()
    except FileNotFoundError:
        lines = []
    listed = {line[66:]: line[:64] for line in lines}
    digests = {}
    for name in ("model.onnx", "tokenizer.json", *(["reference.json"] if "reference.json" in listed else [])):
        try:
            with (folder / name).open("rb") as file:
                digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            raise ModelFault(f"{folder / name} is missing") from None
        if listed.get(name, digests[name]) != digests[name]:
            raise ModelFault(f"{folder / name} does not match its checksum")
    return digests["model.onnx"]


def stored(text: str) -> "np.ndarray":
    """A vector of reference.json: float32, little-endian, as base64."""
    import numpy as np

    return np.frombuffer(base64.b64decode(text), dtype="<f4")


def read_tokenizer(path: Path) -> "Tokenizer | None":
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception:
        return None
    # Some files ask for padding to a fixed length: every short query would cost a full-length run.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def readable(text: str) -> str:
    """The text without lone surrogates, which the tokenizer refuses."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class _Idle:
    """How long a model that nobody asks is kept; for good, if that is 0."""

    seconds = 0.0


_idle = _Idle()


def let_go_when_idle(seconds: float = 60.0) -> None:
    """From now on, models of this process and those it forks are let go after so long without a text."""
    _idle.seconds = seconds


def give_back() -> None:
    """Return what was freed to the system, where the C library keeps it otherwise."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim:
        trim(0)


_engines: dict[Path | str, EmbeddingEngine] = {}
# A forked worker must not use its parent's sessions: their threads did not come along.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_engines.clear)


def engine() -> EmbeddingEngine:
    """The process's engine for the configured model."""
    # By the setting as it is: making a path of it takes longer than all the rest, and every search asks.
    folder = settings.EMBEDDING_MODEL
    return _engines.get(folder) or _engines.setdefault(folder, EmbeddingEngine(Path(folder)))


def warm_up() -> None:
    """Load the model before the first message needs it, without holding up the start."""
    threading.Thread(target=engine().embed, args=("ready",), name="embedding-warm-up", daemon=True).start()
