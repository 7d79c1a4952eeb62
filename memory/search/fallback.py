"""Search without the search tables: vectors compared one by one, or the files themselves read for words."""

from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from memory import embedding
from memory.index import vectors
from memory.index.chunks import Chunk, file_chunks, searchable
from memory.index.terms import terms
from memory.models import MemoryIndex, Source
from memory.search import judgement, scoring
from memory.search.question import Question
from memory.search.results import MemorySearchResult
from memory.storage.atomic import StorageError
from memory.storage.files import MEMORY_FILE, MemoryFileStorage
from people.models import User

if TYPE_CHECKING:
    import numpy as np

AT_ONCE = 2000


def nearest(
    user: User,
    vector: "np.ndarray",
    model: str,
    k: int,
    sources: Sequence[str],
    since: date | None,
    until: date | None,
) -> list[int]:
    """The owner's nearest chunks by full vectors, where SQLite can't search them by itself."""
    import numpy as np

    stored = MemoryIndex.objects.filter(owner=user, embedded_by=model, embedding__isnull=False)
    if sources:
        stored = stored.filter(source_type__in=sources)
    if since:
        stored = stored.filter(source_date__gte=since)
    if until:
        stored = stored.filter(source_date__lte=until)
    ids, scores = list[int](), list[np.ndarray]()
    batch: list[tuple[int, bytes | memoryview]] = []

    def compare() -> None:
        whole = [(id, data) for id, data in batch if len(data) == vector.size * 4]
        ids.extend(id for id, _ in whole)
        joined = b"".join(bytes(data) for _, data in whole)
        scores.append(vectors.from_bytes(joined).reshape(-1, vector.size) @ vector)
        batch.clear()

    for id, data in stored.values_list("id", "embedding").iterator(chunk_size=AT_ONCE):
        batch.append((id, data or b""))
        if len(batch) == AT_ONCE:
            compare()
    compare()
    found = np.concatenate(scores)
    best = np.argsort(-found, kind="stable")[:k]
    return [ids[at] for at in best]


def search(
    user: User,
    question: Question,
    top_k: int,
    sources: Sequence[str] = (),
    since: date | None = None,
    until: date | None = None,
) -> list[MemorySearchResult]:
    """BM25 over the files as they are, when the index can't be used at all."""
    import numpy as np

    found = [
        (name, day, chunk)
        for name, day, chunk in read(user)
        if (not sources or source_of(day) in sources)
        and (not (since or until) or (day and (since or date.min) <= day <= (until or date.max)))
    ]
    if not found:
        return []
    said = [Counter(terms(searchable(chunk.text, chunk.context, day))) for _, day, chunk in found]
    counts = {term: np.array([here[term] for here in said], dtype=float) for term in question.all_terms}
    holding = {term: int(np.count_nonzero(count)) for term, count in counts.items()}
    lengths = np.array([here.total() for here in said], dtype=float)
    idfs = np.array([scoring.idf(len(found), holding[term]) for term in question.terms])
    columns = np.array([counts[term] for term in question.terms]).reshape(-1, len(found)).T
    scores = scoring.normalised(scoring.bm25(columns, lengths, idfs, float(lengths.mean())))
    weights = judgement.weights(question.subject, holding, len(found))
    held = judgement.held(weights, counts, len(found))
    if question.judged:
        scores = np.where(judgement.worth_hearing(question.subject, weights, None, held), scores, 0.0)
    best = [at for at in np.argsort(-scores, kind="stable").tolist() if scores[at] > 0][:top_k]
    today = user.today()
    return [
        MemorySearchResult(
            chunk_id=-1 - at,
            chunk_text=found[at][2].text,
            source_type=source_of(found[at][1]),
            source_date=day.isoformat() if (day := found[at][1]) else None,
            score=float(scores[at]),
            bm25_score=float(scores[at]),
            vector_score=0.0,
            age_in_days=max(0, (today - day).days) if day else 0,
            source_key=found[at][0],
            anchor=found[at][2].anchor,
            context=found[at][2].context,
            held=float(held[at]),
            match=float(held[at]),
        )
        for at in best
    ]


def source_of(day: date | None) -> str:
    return str(Source.DAILY_LOG if day else Source.LONG_TERM)


def read(user: User) -> list[tuple[str, date | None, Chunk]]:
    """The chunks of every file that can be read."""
    files = MemoryFileStorage(user)
    count = embedding.engine().count_tokens
    texts: list[tuple[str, date | None]] = [(MEMORY_FILE, None)]
    texts += [(f"daily/{day}.md", date.fromisoformat(day)) for day in files.list_daily_log_dates()]
    found = []
    for name, day in texts:
        try:
            text = files.read_daily_log(day) if day else files.read_memory_file()
        except StorageError:
            continue
        found += [(name, day, chunk) for chunk in file_chunks(text or "", count)]
    return found
