"""What a search gives back: one frozen value per hit."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class MemorySearchResult:
    """RFC-013's result; both partial scores are normalised by the best of their kind, as they are weighed."""

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

    def as_json(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return asdict(self)
