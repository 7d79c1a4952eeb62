"""Other stores behind one small interface, each set up as its own documentation shows it."""

import logging
import re
import sqlite3
import struct
from abc import ABC, abstractmethod
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import numpy as np

WORD = re.compile(r"\w+")


class Store(ABC):
    """Takes texts with their vectors once; answers a question by the places of the best, best first."""

    packages: ClassVar[tuple[str, ...]]

    @abstractmethod
    def __init__(self, folder: Path, texts: list[str], vectors: "np.ndarray") -> None: ...

    @abstractmethod
    def ask(self, question: str, vector: "np.ndarray", k: int) -> list[int]: ...


class Chroma(Store):
    """chromadb: vectors alone, in memory."""

    packages = ("chromadb",)

    def __init__(self, folder: Path, texts: list[str], vectors: "np.ndarray") -> None:
        import chromadb

        client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
        name = f"chunks-{abs(hash(folder))}"
        self.chunks = client.create_collection(name, metadata={"hnsw:space": "cosine"})
        for at in range(0, len(texts), 1000):
            part = range(at, min(at + 1000, len(texts)))
            self.chunks.add(
                ids=[str(n) for n in part],
                embeddings=[vectors[n].tolist() for n in part],
                documents=[texts[n] for n in part],
            )

    def ask(self, question: str, vector: "np.ndarray", k: int) -> list[int]:
        found = self.chunks.query(query_embeddings=[vector.tolist()], n_results=k, include=[])
        return [int(id) for id in found["ids"][0]]


class Lance(Store):
    """lancedb: vectors and full text, fused by reciprocal ranks."""

    packages = ("lancedb",)

    def __init__(self, folder: Path, texts: list[str], vectors: "np.ndarray") -> None:
        import lancedb

        rows = [{"at": at, "text": text, "vector": vectors[at]} for at, text in enumerate(texts)]
        self.table = lancedb.connect(folder).create_table("chunks", rows)
        self.table.create_fts_index("text", replace=True)

    def ask(self, question: str, vector: "np.ndarray", k: int) -> list[int]:
        words = " ".join(WORD.findall(question))
        search = self.table.search(query_type="hybrid").vector(vector).text(words)
        return [row["at"] for row in search.limit(k).to_list()]


class Mem0(Store):
    """mem0: raw adds (nothing is rewritten by a model), its own search."""

    packages = ("mem0ai", "qdrant-client")

    def __init__(self, folder: Path, texts: list[str], vectors: "np.ndarray") -> None:
        import os

        os.environ.setdefault("MEM0_TELEMETRY", "False")
        os.environ.setdefault("MEM0_DIR", str(folder / "mem0"))
        os.environ.setdefault("OPENAI_API_KEY", "none")  # asked for at the start, never used
        from mem0 import Memory

        logging.getLogger("mem0").setLevel(logging.ERROR)

        store = {"path": str(folder / "qdrant"), "embedding_model_dims": vectors.shape[1], "on_disk": True}
        self.memory = Memory.from_config({"vector_store": {"provider": "qdrant", "config": store}})
        self.known: dict[str, np.ndarray] = dict(zip(texts, vectors, strict=True))
        self.memory.embedding_model.embed = lambda text, *_: self.known[text].tolist()
        self.places: dict[str, int] = {}
        for at, text in enumerate(texts):
            added = self.memory.add(text, user_id="one", infer=False)["results"]
            self.places |= {row["id"]: at for row in added}

    def ask(self, question: str, vector: "np.ndarray", k: int) -> list[int]:
        self.known[question] = vector
        try:
            found = self.memory.search(question, user_id="one", limit=k)
        except (TypeError, ValueError):
            found = self.memory.search(question, filters={"user_id": "one"}, top_k=k)
        return [self.places[row["id"]] for row in found["results"] if row["id"] in self.places]


class Txtai(Store):
    """txtai: hybrid, its own BM25 beside vectors."""

    packages = ("txtai",)

    def __init__(self, folder: Path, texts: list[str], vectors: "np.ndarray") -> None:
        import numpy as np
        from txtai import Embeddings

        self.known: dict[str, np.ndarray] = dict(zip(texts, vectors, strict=True))
        self.embeddings = Embeddings(
            method="external",
            transform=lambda asked: np.array([self.known[text] for text in asked]),
            hybrid=True,
            content=False,
        )
        self.embeddings.index(list(enumerate(texts)))

    def ask(self, question: str, vector: "np.ndarray", k: int) -> list[int]:
        self.known[question] = vector
        return [int(at) for at, _ in self.embeddings.search(question, k)]


class OpenClaw(Store):
    """sqlite-vec and FTS5 joined as OpenClaw's memory does it.

    All words must be held (AND); FTS5's relevance r counts as r / (1 + r); 0.7 of the cosine and 0.3 of that.
    """

    packages = ("sqlite-vec",)
    VECTOR, TEXT, CANDIDATES = 0.7, 0.3, 4

    def __init__(self, folder: Path, texts: list[str], vectors: "np.ndarray") -> None:
        import sqlite_vec

        self.database: Any = driver().connect(folder / "openclaw.sqlite3")
        self.database.enable_load_extension(True)
        sqlite_vec.load(self.database)
        size = vectors.shape[1]
        self.database.execute(f"CREATE VIRTUAL TABLE v USING vec0(e FLOAT[{size}] distance_metric=cosine)")
        self.database.execute("CREATE VIRTUAL TABLE f USING fts5(text)")
        self.pack = struct.Struct(f"<{size}f").pack
        for at, text in enumerate(texts, 1):
            self.database.execute("INSERT INTO v(rowid, e) VALUES (?, ?)", (at, self.pack(*vectors[at - 1])))
            self.database.execute("INSERT INTO f(rowid, text) VALUES (?, ?)", (at, text))
        self.database.commit()

    def ask(self, question: str, vector: "np.ndarray", k: int) -> list[int]:
        scores: dict[int, float] = {}
        most = k * self.CANDIDATES
        near = "SELECT rowid, distance FROM v WHERE e MATCH ? AND k = ?"
        for id, distance in self.database.execute(near, (self.pack(*vector), most)).fetchall():
            scores[id] = self.VECTOR * (1 - distance)
        words = " AND ".join(f'"{word}"' for word in WORD.findall(question))
        held = "SELECT rowid, -rank FROM f WHERE f MATCH ? ORDER BY rank LIMIT ?"
        for id, relevance in self.database.execute(held, (words, most)).fetchall():
            scores[id] = scores.get(id, 0.0) + self.TEXT * relevance / (1 + relevance)
        return [id - 1 for id in sorted(scores, key=lambda id: -scores[id])[:k]]


STORES: dict[str, type[Store]] = {
    "chromadb": Chroma,
    "lancedb, hybrid": Lance,
    "mem0, raw adds": Mem0,
    "txtai, hybrid": Txtai,
    "sqlite-vec + FTS5 (OpenClaw)": OpenClaw,
}


def driver() -> Any:
    """A module whose connections load extensions: many Pythons' own can't."""
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return sqlite3
    import pysqlite3

    return pysqlite3


def version(store: type[Store]) -> str:
    return ", ".join(f"{name} {metadata.version(name)}" for name in store.packages)
