"""RFC-013's score on every candidate, and the best of them as results."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from django.conf import settings

from memory.embedding.second import second_alone
from memory.index import fulltext, vectors
from memory.index.index import Standing
from memory.models import Source
from memory.search import judgement, scoring
from memory.search.candidates import Columns
from memory.search.question import Question
from memory.search.results import MemorySearchResult

if TYPE_CHECKING:
    import numpy as np

DAY = 24 * 60 * 60


def ranked(
    found: Columns,
    index: Standing,
    holding: dict[str, int],
    question: Question,
    now: datetime,
    top_k: int,
) -> list[MemorySearchResult]:
    """The best candidates, if above zero; among equals the newer comes first."""
    import numpy as np

    weights = judgement.weights(question.subject, holding, index.chunk_count)
    counts = {term: count(found, index.owner_id, term) for term, held in holding.items() if held}
    words = scoring.normalised(keywords(found, index, holding, counts, question.terms))
    held = judgement.held(weights, counts, len(found.id))
    raw = cosines(found, question.vectors, index.model_name)
    meaning = scoring.normalised(raw)
    hybrid = scoring.weighed(words, meaning)
    # A row that still waits for its vector goes by its words alone, as all do where there is no model.
    waits = np.array([by != index.model_name for by in found.embedded_by])
    combined = np.where(waits, words, hybrid) if meaning.any() else words
    ages = np.maximum(int(now.timestamp()) - np.array(found.created_at), 0) // DAY
    fading = scoring.decay(ages, settings.DECAY_LAMBDA, settings.DECAY_FLOOR)
    evergreen = np.array([source == Source.LONG_TERM for source in found.source_type])
    left = np.where(evergreen, 1.0, fading)
    scores = combined * left
    if question.judged:
        by_second = cosines(found, second_alone(question.vectors), index.model_name)
        keep = judgement.worth_hearing(
            question.subject, weights, raw if question.vectors else None, held, by_second
        )
        scores = np.where(keep, scores, 0.0)
    matches = np.where(raw > 0, raw, held) if question.subject.is_english else np.maximum(raw, held)
    order = sorted(
        leaders(scores, top_k),
        key=lambda at: (-scores[at], -found.created_at[at], found.source_key[at], found.position[at]),
    )
    return [
        MemorySearchResult(
            chunk_id=found.id[at],
            chunk_text=found.chunk_text[at],
            source_type=found.source_type[at],
            source_date=found.source_date[at],
            score=float(scores[at]),
            bm25_score=float(words[at]),
            vector_score=float(meaning[at]),
            age_in_days=int(ages[at]),
            source_key=found.source_key[at],
            anchor=found.anchor[at],
            context=found.context[at],
            speaker=found.speaker[at],
            cosine=float(raw[at]),
            decay=float(left[at]),
            held=float(held[at]),
            match=float(np.clip(matches[at], 0.0, 1.0)),
        )
        for at in order[:top_k]
    ]


def leaders(scores: "np.ndarray", top_k: int) -> list[int]:
    """Where the `top_k` best scores above zero stand, in no order, with all that equal the last of them."""
    import numpy as np

    least = np.partition(scores, -top_k)[-top_k] if top_k < scores.size else 0.0
    places: list[int] = np.flatnonzero((scores > 0) & (scores >= least)).tolist()
    return places


def count(found: Columns, owner_id: int, term: str) -> "np.ndarray":
    """How often a term stands in each candidate."""
    import numpy as np

    mark = fulltext.marked(owner_id, [term])
    return np.array([terms.count(mark) for terms in found.terms], dtype=float)


def keywords(
    found: Columns,
    index: Standing,
    holding: dict[str, int],
    counts: "dict[str, np.ndarray]",
    terms: Sequence[str],
) -> "np.ndarray":
    """BM25 of every candidate, by the statistics of all the owner's chunks."""
    import numpy as np

    known = [term for term in terms if term in counts]
    if not known:
        return np.zeros(len(found.id))
    return scoring.bm25(
        np.column_stack([counts[term] for term in known]),
        np.array(found.term_count, dtype=float),
        np.array([scoring.idf(index.chunk_count, holding[term]) for term in known]),
        index.term_total / max(index.chunk_count, 1),
    )


def cosines(found: Columns, asked: "dict[int, np.ndarray]", model: str) -> "np.ndarray":
    """The candidates' cosines with the question's vector of their length; 0 for one without (RFC-013)."""
    import numpy as np

    cosine = np.zeros(len(found.id))
    for size, vector in asked.items():
        having = [
            at
            for at, (data, by) in enumerate(zip(found.embedding, found.embedded_by, strict=True))
            if by == model and data and len(data) == size * 4
        ]
        if not having:
            continue
        stored = b"".join(found.embedding[at] or b"" for at in having)
        with np.errstate(all="ignore"):
            products = vectors.from_bytes(stored).reshape(-1, size) @ vector
        # A damaged vector may be anything; it must not decide what the others are divided by.
        cosine[having] = np.where(np.abs(products) <= 1.001, products, 0.0)
    return cosine
