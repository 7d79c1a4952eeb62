"""What a search must know of an index: whose it is, how large, and by which vectors it is searched."""

from typing import NamedTuple


class Standing(NamedTuple):
    """A few columns of IndexState, as they were when the search began."""

    owner_id: int
    model_name: str
    chunk_count: int
    term_total: int
    vectors_listed: bool
