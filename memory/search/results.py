"""What a search gives back: one frozen value per hit."""

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class MemorySearchResult:
    """RFC-013's result, with every part of its score.

    `score` orders the results of one search:
    (0.3 * bm25_score + 0.7 * vector_score + 0.2 * held) * decay + dated + lent + told.
    Both partial scores are normalised by the best of their kind, so the best of poor hits has them at 1 too;
    `match` is what to show people.
    """

    chunk_id: int
    chunk_text: str
    source_type: str
    # YYYY-MM-DD, as the log is named; None for long-term memory.
    source_date: str | None
    score: float
    bm25_score: float
    vector_score: float
    age_in_days: int
    # Where the chunk stands: the file's name or "chat:<session id>", and its line or message id.
    source_key: str = ""
    anchor: int | None = None
    # Headings above the chunk, or what was said just before it.
    context: str = ""
    # Who said it, in a chat (memory.models.Speaker); empty for files.
    speaker: str = ""
    # The vector's cosine with the question, before normalising; 0 where there is no vector.
    cosine: float = 0.0
    # What is left of the score after ageing.
    decay: float = 1.0
    # Added because the chunk is of a time that the question names, and lent by good hits beside it.
    dated: float = 0.0
    lent: float = 0.0
    # Added because the chunk begins with what the question is about, taken off because it only asks.
    told: float = 0.0
    # The share of the question's subject that stands in the chunk, by what each word tells.
    held: float = 0.0
    # How well the chunk fits by itself, from 0 to 1, whatever the other hits are.
    match: float = 0.0
    # A later memory says that it no longer holds; only what goes into a prompt is looked at for that.
    older: bool = False

    def as_json(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return {name: getattr(self, name) for name in FIELDS}


FIELDS = tuple(field.name for field in fields(MemorySearchResult))
