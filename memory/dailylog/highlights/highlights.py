"""Highlights: the user's own most telling sentences, quoted and never reworded."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.dailylog.highlights.cues import telling
from memory.dailylog.highlights.sentences import sentences, word_count
from memory.speech.pleasantries import is_small_talk
from oneclaw.text import words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Embed = Callable[[list[str]], Sequence[Vectors | None]]

# The line above the quotations.
HEADING = "Highlights, quoted:"

MOST, AT_LEAST = 8, 3
# From this score on, a sentence is asked for by its words alone.
TELLING = 0.2
# Words a sentence must have; one with a telling word in it can do with fewer.
SHORTEST, SHORTEST_TELLING = 3, 2
# Each candidate costs the embedding model a few milliseconds.
CANDIDATES = 60
# Central against different from what is already chosen (maximal marginal relevance, Carbonell 1998).
CENTRAL, CUES = 0.45, 0.55
DIFFERENT = 0.35
SAME = 0.86


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence, where in the chat it was said, and how telling it is by its words."""

    place: int
    text: str
    cue: float


def highlights(messages: Iterable[str], embed: "Embed", most: int = MOST) -> list[str]:
    """The most telling sentences of these messages, in the order in which they were said."""
    found = candidates(messages)
    if not found:
        return []
    wanted = max(AT_LEAST, sum(1 for one in found if one.cue >= TELLING))
    chosen = choose(found, vectors(found, embed), min(most, wanted))
    return [found[place].text for place in sorted(chosen)]


def candidates(messages: Iterable[str]) -> list[Candidate]:
    """Sentences worth a look, each once; of very many, the most telling and then the latest."""
    seen: set[str] = set()
    found: list[Candidate] = []
    for message in messages:
        for text in sentences(message):
            key = " ".join(words(text))
            cue = telling(text)
            least = SHORTEST_TELLING if cue else SHORTEST
            if key in seen or word_count(text) < least or is_small_talk(text):
                continue
            seen.add(key)
            found.append(Candidate(len(found), text, cue))
    best = sorted(found, key=lambda one: (one.cue, one.place), reverse=True)[:CANDIDATES]
    return sorted(best, key=lambda one: one.place)


def vectors(found: Sequence[Candidate], embed: "Embed") -> "Vectors":
    """Unit vectors of the candidates; without an embedding model, of their words."""
    import numpy as np

    rows = list(embed([one.text for one in found]))
    if len(rows) == len(found) and all(row is not None for row in rows):
        matrix = np.asarray(rows, dtype=np.float32)
    else:
        matrix = word_vectors([one.text for one in found])
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return (matrix / np.where(lengths == 0, 1, lengths)).astype(np.float32)


def word_vectors(texts: Sequence[str]) -> "Vectors":
    import numpy as np

    bags = [{word for word in words(text) if len(word) > 1} for text in texts]
    columns = {word: place for place, word in enumerate(sorted(set[str]().union(*bags)))}
    matrix = np.zeros((len(texts), max(1, len(columns))), dtype=np.float32)
    for row, bag in enumerate(bags):
        matrix[row, [columns[word] for word in bag]] = 1
    return matrix


def choose(found: Sequence[Candidate], matrix: "Vectors", wanted: int) -> list[int]:
    """Places in `found`, best first: central and telling, but unlike those already chosen."""
    import numpy as np

    centre = matrix.mean(axis=0)
    centre /= np.linalg.norm(centre) or 1
    worth = CENTRAL * (matrix @ centre) + CUES * np.array([one.cue for one in found])
    alike = matrix @ matrix.T
    nearest = np.zeros(len(found))
    left, chosen = set(range(len(found))), list[int]()
    while left and len(chosen) < wanted:
        best = max(left, key=lambda place: (worth[place] - DIFFERENT * nearest[place], -place))
        left.remove(best)
        if nearest[best] < SAME:
            chosen.append(best)
            nearest = np.maximum(nearest, alike[best])
    return chosen


def as_bullets(chosen: Sequence[str]) -> str:
    """The entry's text: said plainly to be quotations, so that nobody takes it for a summary."""
    return "\n".join([HEADING, "", *(f"- “{text}”" for text in chosen)]) if chosen else ""
