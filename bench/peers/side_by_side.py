"""One run over all stores: recall, characters shown and latency, with the vectors given to each."""

import json
import logging
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from bench.peers.stores import STORES, Store, version
from bench.retrieval import recall
from bench.retrieval.speed import timed
from memory.embedding import engine
from memory.index import vectors
from memory.manager import MemoryManager
from memory.models import MemoryIndex, Source
from oneclaw import __version__
from people.models import User

if TYPE_CHECKING:
    import numpy as np

logger = logging.getLogger(__name__)

TOP = 5
Questions = list[tuple[str, set[str]]]  # with the turns that answer each


@dataclass(slots=True)
class Tally:
    """What one store found, over all questions."""

    name: str
    version: str
    shares: list[float] = field(default_factory=list)
    firsts: list[float] = field(default_factory=list)
    characters: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    fault: str = ""

    def row(self) -> dict[str, Any]:
        if self.fault or not self.shares:
            return {"store": self.name, "version": self.version, "fault": self.fault or "no questions"}
        return {
            "store": self.name,
            "version": self.version,
            "R@5": round(mean(self.shares), 3),
            "MRR@5": round(mean(self.firsts), 3),
            "characters": round(mean(self.characters)),
            "ms": round(median(self.seconds) * 1000, 2),
        }


@dataclass(frozen=True, slots=True)
class Material:
    """A conversation as chunks with their vectors, and what each is evidence of."""

    memory: MemoryManager
    ids: list[int]
    texts: list[str]
    vectors: "np.ndarray"
    evidence: list[set[str]]


def measure(file: Path, most: int) -> list[dict[str, Any]]:
    """The first `most` conversations of the file, logs and chats together; OneClaw first, then the others."""
    tallies = {"OneClaw": Tally("OneClaw", __version__)}
    for name, store in STORES.items():
        try:
            tallies[name] = Tally(name, version(store))
        except Exception as error:
            tallies[name] = Tally(name, "", fault=f"not installed: {error}")
    for told in json.loads(file.read_text())[:most]:
        material = prepared(told)
        questions = [(one["question"], set(one["evidence"])) for one in told["questions"]]
        asked = {text: engine().embed(text) for text, _ in questions}
        own(tallies["OneClaw"], material, questions)
        for name, store in STORES.items():
            if not tallies[name].fault:
                other(tallies[name], store, material, questions, asked)
    return [tally.row() for tally in tallies.values()]


def prepared(told: dict[str, Any]) -> Material:
    import numpy as np

    conversation = recall.Conversation(MemoryManager(User.objects.create(username=f"peers-{told['id']}")))
    recall.write_logs(conversation, told)
    recall.write_chats(conversation, told)
    conversation.memory.rebuild_index()
    rows = [row for row in MemoryIndex.objects.filter(owner=conversation.memory.user) if row.embedding]
    return Material(
        conversation.memory,
        [row.id for row in rows],
        [row.chunk_text for row in rows],
        np.stack([vectors.from_bytes(row.embedding or b"") for row in rows]),
        [
            {conversation.messages[row.anchor or 0]}
            if row.source_type == Source.TRANSCRIPT
            else conversation.observations.get(row.chunk_text, set())
            for row in rows
        ],
    )


def own(tally: Tally, material: Material, questions: Questions) -> None:
    """OneClaw's search. Its latency leaves the embedding out, as the others' does."""
    places = {id: at for at, id in enumerate(material.ids)}
    for question, gold in questions:
        embedding = median(timed(engine().embed, question) for _ in range(3))
        seconds = timed(material.memory.search_memory, question, TOP)
        hits = material.memory.search_memory(question, TOP)
        note(tally, material, [places[hit.chunk_id] for hit in hits], gold, max(0.0, seconds - embedding))


def other(
    tally: Tally,
    store: type[Store],
    material: Material,
    questions: Questions,
    asked: dict[str, Any],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            built = store(Path(folder), material.texts, material.vectors)
            for question, gold in questions:
                start = time.perf_counter()
                found = built.ask(question, asked[question], TOP)
                note(tally, material, found, gold, time.perf_counter() - start)
        except Exception as error:
            logger.exception("%s could not be run", tally.name)
            tally.fault = f"could not be run: {type(error).__name__}: {str(error)[:120]}"


def note(tally: Tally, material: Material, places: list[int], gold: set[str], seconds: float) -> None:
    covered = [material.evidence[at] & gold for at in places]
    tally.shares.append(len(set().union(*covered)) / len(gold))
    ranks = [rank for rank, evidence in enumerate(covered, 1) if evidence]
    tally.firsts.append(1 / ranks[0] if ranks else 0.0)
    tally.characters.append(sum(len(material.texts[at]) for at in places))
    tally.seconds.append(seconds)
