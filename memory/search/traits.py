"""What the score asks of every candidate, as arrays: whoever finds candidates brings these."""

from collections.abc import Hashable, Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from memory.embedding.second import second_alone
from memory.index import vectors
from memory.index.index import Standing
from memory.index.terms import asks, marked, opening_term
from memory.models import Source
from memory.search import scoring
from memory.search.candidates import Columns
from memory.search.judgement import Weights, held
from memory.search.lending import Groups, Neighbours
from memory.search.question import Question

if TYPE_CHECKING:
    import numpy as np


class Traits(NamedTuple):
    """One number a candidate each."""

    # BM25 by the statistics of all the owner's chunks, before normalising; and the share of the question's
    # subject that stands in it.
    words: "np.ndarray"
    held: "np.ndarray"
    # The raw cosine with the question, 0 without a vector; and that of the second model alone.
    cosines: "np.ndarray"
    by_second: "np.ndarray"
    # Still without a vector of the present model.
    waits: "np.ndarray"
    # Seconds since 1970.
    created: "np.ndarray"
    evergreen: "np.ndarray"
    # Numbers of dates, 0 for none; and beside what it stands.
    days: "np.ndarray"
    groups: Groups
    # Begins with a word of the question's subject; ends in a question of its own.
    opens: "np.ndarray"
    asks: "np.ndarray"

    @property
    def neighbours(self) -> Neighbours:
        """Made anew each time it is asked for."""
        return Neighbours(self.groups)


def traits_of(
    found: Columns, index: Standing, weights: Weights, question: Question, places: "np.ndarray"
) -> Traits:
    """The traits of rows as they were read."""
    import numpy as np

    counts = {term: count(found, index.owner_id, term) for term, rows in weights.holding.items() if rows}
    subject = frozenset(question.subject.terms)
    numbers = {
        day: vectors.number(date.fromisoformat(day) if day else None) for day in set(found.source_date)
    }
    days = np.array([numbers[day] for day in found.source_date])
    return Traits(
        words=keywords(counts, np.array(found.term_count, dtype=float), index, weights, question.terms),
        held=held(weights, counts, len(found.id)),
        cosines=cosines(found, question.vectors, index.model_name),
        by_second=cosines(found, second_alone(question.vectors), index.model_name),
        waits=np.array([by != index.model_name for by in found.embedded_by]),
        created=np.array(found.created_at),
        evergreen=np.array([source == Source.LONG_TERM for source in found.source_type]),
        days=days,
        groups=Groups.of(numbered(found.source_key), days, places),
        opens=np.array([opening_term(text) in subject for text in found.chunk_text]),
        asks=np.array([asks(text) for text in found.chunk_text]),
    )


def placed_anew(found: Columns, traits: Traits, places: "np.ndarray") -> Traits:
    """The traits with other places in their sources."""
    return traits._replace(groups=Groups.of(numbered(found.source_key), traits.days, places))


def keywords(
    counts: "dict[str, np.ndarray]",
    lengths: "np.ndarray",
    index: Standing,
    weights: Weights,
    terms: Sequence[str],
) -> "np.ndarray":
    """BM25 of every candidate, by the statistics of all the owner's chunks."""
    import numpy as np

    known = [term for term in terms if term in counts]
    if not known:
        return np.zeros(lengths.size)
    return scoring.bm25(
        np.column_stack([counts[term] for term in known]),
        lengths,
        np.array([scoring.idf(index.chunk_count, weights.holding[term]) for term in known]),
        index.average_length,
    )


def numbered(names: Iterable[Hashable]) -> "np.ndarray":
    """The same number for the same name."""
    import numpy as np

    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=int)


def count(found: Columns, owner_id: int, term: str) -> "np.ndarray":
    """How often a term stands in each candidate."""
    import numpy as np

    mark = marked(owner_id, [term])
    return np.array([terms.count(mark) for terms in found.terms], dtype=float)


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
        if having:
            cosine[having] = products([found.embedding[at] or b"" for at in having], vector)
    return cosine


def products(stored: "Sequence[bytes | memoryview]", vector: "np.ndarray") -> "np.ndarray":
    """Cosines of stored vectors of the asked one's length."""
    import numpy as np

    with np.errstate(all="ignore"):
        # Not by BLAS: for so few rows its threads cost more than they save, and they spin afterwards.
        found = np.einsum("ij,j->i", vectors.from_bytes(b"".join(stored)).reshape(-1, vector.size), vector)
    # A damaged vector may be anything; it must not decide what the others are divided by.
    return np.where(np.abs(found) <= 1.001, found, 0.0)
